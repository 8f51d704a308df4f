import type { Project, ProjectFilters } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { currentRoute, hrefTo, navigate, updateQueryParams } from '../../app/router.ts';
import { ColorDot } from '../../components/badge.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { Menu } from '../../components/menu.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { useDelete } from '../../records/delete-with-undo.tsx';
import { type FieldDefinition, InlineField } from '../../records/editable-fields.tsx';
import {
  buildProjectClientField,
  projectFields,
  projectResource,
  projectStateOptions,
} from '../../records/project-fields.tsx';
import { FilterSelect, RecordList, readQueryOption, toQueryString } from '../../records/record-list.tsx';
import { RECORDS_PER_PAGE, readPageOffset, useClients, useRecords } from '../../records/records.ts';
import { ProgressPercent, TagFilter, Tags } from '../../records/tags.tsx';
import { type ProjectProgress, useProgress } from './progress.ts';
import '../../records/records.css';

const viewOptions = [...projectStateOptions, { value: 'all', text: 'All' }] as const;

type ProjectView = (typeof viewOptions)[number]['value'];

const orderOptions = [
  { value: '', text: 'Oldest first' },
  { value: 'latest', text: 'Newest first' },
  { value: 'duedate', text: 'By due date' },
  { value: 'projectname', text: 'By name' },
  { value: 'progress', text: 'By progress set by hand' },
] as const;

/** Reads the API filters from the query of the route. */
function readProjectFilters(): ProjectFilters {
  const { query } = currentRoute.value;
  const order = readQueryOption('order', orderOptions) ?? '';
  const view = readQueryOption('view', viewOptions) ?? 'open';
  const [clientId, tag] = [query.get('client') ?? '', query.get('tag') ?? ''];
  return {
    ...(view !== 'all' && { status: view }),
    ...(clientId !== '' && { client_id: clientId }),
    ...(tag !== '' && { tag }),
    ...(order !== '' && { order }),
    limit: RECORDS_PER_PAGE,
    offset: readPageOffset(),
  };
}

export default function ProjectsScreen() {
  const filters = readProjectFilters();
  const clientsQuery = useClients();
  const records = useRecords(
    (signal) => listFullPage(client.projects, filters, signal),
    [filters],
    projectResource.idOf,
  );
  const progressById = useProgress(records.rows ?? []);
  const deletion = useDelete(projectResource, { onDeleted: records.remove, onRestored: records.append });
  const clientOptions = (clientsQuery.data ?? []).map(({ client_id, client_name }) => ({
    value: client_id,
    text: client_name,
  }));
  return (
    <Page
      title="Projects"
      intro="What the work is for. A project gives its colour to its events, and its tasks their place."
      calls={[
        {
          description: 'List these projects',
          method: 'GET',
          path: `/projects?${toQueryString(filters)}`,
          sdk: `projects.list(${JSON.stringify(filters)})`,
        },
        {
          description: 'Create a project',
          method: 'POST',
          path: '/projects',
          body: { project_name: 'Node 27', color: '#16a34a' },
          sdk: `projects.create({ project_name: 'Node 27', color: '#16a34a' })`,
        },
      ]}
    >
      <div class="row filters">
        <RadioGroup<ProjectView>
          label="Which projects"
          value={readQueryOption('view', viewOptions) ?? 'open'}
          options={viewOptions}
          onChange={(view) => updateQueryParams({ view: view === 'open' ? '' : view, page: '' })}
        />
        <FilterSelect
          name="client"
          label="Client"
          options={[{ value: '', text: 'All clients' }, { value: '0', text: 'Without a client' }, ...clientOptions]}
        />
        <FilterSelect name="order" label="Order" options={orderOptions} />
        <TagFilter />
      </div>
      <RecordList
        records={records}
        nounForms={['project', 'projects']}
        columns={['Project', 'Client', 'Due', 'Progress', 'State']}
        emptyState={
          <EmptyState icon="folder" title={filters.status === 'open' ? 'No open projects' : 'No projects here'}>
            <p>
              A project holds tasks, gives events a colour, and may belong to a client. Write its name below, and it is
              there.
            </p>
          </EmptyState>
        }
        renderRow={(project) => (
          <ProjectRow
            key={project.project_id}
            project={project}
            progress={progressById.get(project.project_id)}
            clientField={buildProjectClientField(clientsQuery.data, project)}
            onChange={records.replace}
            onDelete={() => deletion.startDelete(project)}
          />
        )}
        // A project created while the list is filtered by client belongs to that client.
        createRecord={(project_name) => client.projects.create({ project_name, client_id: filters.client_id })}
      />
      {deletion.confirmDialog}
    </Page>
  );
}

type ProjectRowProps = {
  readonly project: Project;
  readonly progress: ProjectProgress | undefined;
  readonly clientField: FieldDefinition<Project, object>;
  readonly onChange: (project: Project) => void;
  readonly onDelete: () => void;
};

function ProjectRow({ project, progress, clientField, onChange, onDelete }: ProjectRowProps) {
  const fieldProps = { editableResource: projectResource, record: project, onChange };
  const detailHref = hrefTo('projects', project.project_id);
  return (
    <tr>
      <td class="name">
        <div class="name-line">
          <ColorDot color={project.color} />
          <InlineField {...fieldProps} field={projectFields.name} href={detailHref} />
          <Tags tags={project.tags} />
        </div>
      </td>
      <td class="where">
        <InlineField {...fieldProps} field={clientField} />
      </td>
      <td class="when">
        <InlineField {...fieldProps} field={projectFields.due} />
      </td>
      <td class="far">
        <InlineField {...fieldProps} field={projectFields.progress}>
          {progress === undefined ? '…' : <ProgressPercent percent={progress.percent} name={project.project_name} />}
        </InlineField>
      </td>
      <td class="state">
        <InlineField {...fieldProps} field={projectFields.state} />
      </td>
      <td class="more">
        <Menu
          label={`More for ${project.project_name}`}
          items={[
            { text: 'Open', icon: 'folder', onPick: () => navigate(detailHref) },
            { text: 'Delete', icon: 'trash', isDestructive: true, onPick: onDelete },
          ]}
        />
      </td>
    </tr>
  );
}
