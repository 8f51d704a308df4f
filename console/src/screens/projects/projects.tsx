import type { Project, ProjectFilters } from '../../../../src/sdk/projects.ts';
import { faultIn } from '../../changes.ts';
import { client } from '../../client.ts';
import { AddLine } from '../../design/add-line.tsx';
import { Button } from '../../design/button.tsx';
import { Dot } from '../../design/colour.tsx';
import { Choice, Select } from '../../design/field.tsx';
import { Menu } from '../../design/menu.tsx';
import { Empty, Page } from '../../design/page.tsx';
import { Pager } from '../../design/pager.tsx';
import { Note, Waiting } from '../../design/state.tsx';
import { useClients } from '../../plan/choices.ts';
import { Percent } from '../../plan/due.tsx';
import { type Fact, FactField } from '../../plan/facts.tsx';
import { clientFact, projectFacts, projects, stateOptions } from '../../plan/project-facts.tsx';
import { PAGE_SIZE, pageOffset, useRecords } from '../../plan/records.ts';
import { TagFilter, Tags } from '../../plan/tags.tsx';
import { go, place, setQuery, to } from '../../router.ts';
import type { ScreenProps } from '../../screens.ts';
import { useDeleteProject } from './deleting.tsx';
import { type Progress, useProgress } from './progress.ts';
import { ProjectPage } from './project.tsx';
import '../../plan/plan.css';

const views = [...stateOptions, { value: 'all', text: 'All' }] as const;

type View = (typeof views)[number]['value'];

const orders = [
  { value: '', text: 'Oldest first' },
  { value: 'latest', text: 'Newest first' },
  { value: 'duedate', text: 'By due date' },
  { value: 'projectname', text: 'By name' },
  { value: 'progress', text: 'By progress set by hand' },
] as const;

type Order = (typeof orders)[number]['value'];

/** What the address asks for. */
function filtersHere(): ProjectFilters {
  const { query } = place.value;
  const order = orders.find(({ value }) => value !== '' && value === query.get('order'))?.value;
  const view = views.find(({ value }) => value === query.get('view'))?.value ?? 'open';
  const [clientId, tag] = [query.get('client') ?? '', query.get('tag') ?? ''];
  return {
    ...(view !== 'all' && { status: view }),
    ...(clientId !== '' && { client_id: clientId }),
    ...(tag !== '' && { tag }),
    ...(order !== undefined && order !== '' && { order }),
    limit: PAGE_SIZE,
    offset: pageOffset(),
  };
}

/** The projects of the account, or one of them. */
export default function Projects({ rest: [projectId] }: ScreenProps) {
  return projectId === undefined ? <AllProjects /> : <ProjectPage key={projectId} projectId={projectId} />;
}

function AllProjects() {
  const { query } = place.value;
  const filters = filtersHere();
  const clients = useClients();
  const records = useRecords((signal) => client.projects.list(filters, { signal }), [filters], projects.idOf);
  const progress = useProgress(records.rows ?? []);
  const deleting = useDeleteProject({ onGone: records.drop, onBack: records.append });
  const named = (clients.data ?? []).map(({ client_id, client_name }) => ({ value: client_id, text: client_name }));
  const search = new URLSearchParams(Object.entries(filters).map(([name, value]) => [name, String(value)]));
  return (
    <Page
      title="Projects"
      lead="What the work is for. A project gives its colour to its events, and its tasks their place."
      calls={[
        {
          says: 'List these projects',
          method: 'GET',
          path: `/projects?${search}`,
          sdk: `projects.list(${JSON.stringify(filters)})`,
        },
        {
          says: 'Create a project',
          method: 'POST',
          path: '/projects',
          body: { project_name: 'Node 27', color: '#16a34a' },
          sdk: `projects.create({ project_name: 'Node 27', color: '#16a34a' })`,
        },
      ]}
    >
      <div class="row filters">
        <Choice<View>
          label="Which projects"
          value={filters.status ?? 'all'}
          options={views}
          onChange={(view) => setQuery({ view: view === 'open' ? '' : view, page: '' })}
        />
        <Select
          label="Client"
          hideLabel
          value={query.get('client') ?? ''}
          options={[{ value: '', text: 'All clients' }, { value: '0', text: 'Without a client' }, ...named]}
          onChange={(chosen) => setQuery({ client: chosen, page: '' })}
        />
        <Select<Order>
          label="Order"
          hideLabel
          value={filters.order ?? ''}
          options={orders}
          onChange={(order) => setQuery({ order, page: '' })}
        />
        <TagFilter />
      </div>
      {records.fault !== undefined && (
        <Note tone="bad">
          {records.fault} <Button onClick={records.reload}>Try again</Button>
        </Note>
      )}
      <section class="card" aria-label="Projects" aria-busy={records.isLoading}>
        {records.rows === undefined && records.fault === undefined && (
          <div class="card-waiting">
            <Waiting />
          </div>
        )}
        {records.rows?.length === 0 && (
          <Empty icon="folder" title={filters.status === 'open' ? 'No open projects' : 'No projects here'}>
            <p>
              A project holds tasks, gives events a colour, and may belong to a client. Write its name below, and it is
              there.
            </p>
          </Empty>
        )}
        {records.rows !== undefined && records.rows.length > 0 && (
          <table class="table plan">
            <caption class="hidden-text">Projects</caption>
            <thead>
              <tr>
                <th>Project</th>
                <th>Client</th>
                <th>Due</th>
                <th>Progress</th>
                <th>State</th>
                <th>
                  <span class="hidden-text">More</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {records.rows.map((project) => (
                <ProjectRow
                  key={project.project_id}
                  project={project}
                  progress={progress.get(project.project_id)}
                  client={clientFact(clients.data, project)}
                  onChange={records.put}
                  onDelete={() => void deleting.begin(project)}
                />
              ))}
            </tbody>
          </table>
        )}
        <AddLine
          label="Add a project"
          explain={(error) => faultIn(error, 'Name')}
          onAdd={async (project_name) =>
            records.append(await client.projects.create({ project_name, ...ofClient(query) }))
          }
        />
      </section>
      {records.rows !== undefined && (
        <Pager
          paging={records.paging}
          words={['project', 'projects']}
          shown={records.rows.length}
          onPage={(page) => setQuery({ page: page === 1 ? '' : String(page) })}
        />
      )}
      {deleting.question}
    </Page>
  );
}

/** What is added while one client's projects are in view is for that client. */
function ofClient(query: URLSearchParams) {
  const client_id = query.get('client') ?? '';
  return client_id === '' ? {} : { client_id };
}

type ProjectRowProps = {
  readonly project: Project;
  readonly progress: Progress | undefined;
  readonly client: Fact<Project, object>;
  readonly onChange: (project: Project) => void;
  readonly onDelete: () => void;
};

function ProjectRow({ project, progress, client: clientOf, onChange, onDelete }: ProjectRowProps) {
  const shared = { kept: projects, record: project, onChange };
  const address = to('projects', project.project_id);
  return (
    <tr>
      <td class="name">
        <div class="name-line">
          <Dot color={project.color} />
          <FactField {...shared} fact={projectFacts.name} href={address} />
          <Tags tags={project.tags} />
        </div>
      </td>
      <td class="where">
        <FactField {...shared} fact={clientOf} />
      </td>
      <td class="when">
        <FactField {...shared} fact={projectFacts.due} />
      </td>
      <td class="far">
        <FactField {...shared} fact={projectFacts.progress}>
          {progress === undefined ? '…' : <Percent percent={progress.percent} name={project.project_name} />}
        </FactField>
      </td>
      <td class="state">
        <FactField {...shared} fact={projectFacts.state} />
      </td>
      <td class="more">
        <Menu
          label={`More for ${project.project_name}`}
          items={[
            { text: 'Open', icon: 'folder', onPick: () => go(address) },
            { text: 'Delete', icon: 'trash', isDanger: true, onPick: onDelete },
          ]}
        />
      </td>
    </tr>
  );
}
