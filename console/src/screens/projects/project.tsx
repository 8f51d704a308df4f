import { useState } from 'preact/hooks';
import type { Project, ProjectChanges } from '../../../../packages/sdk/src/resources.ts';
import { dayOrEmpty, formatDayRange, today } from '../../app/calendar-dates.ts';
import { client } from '../../app/client.ts';
import { hrefTo, navigate, type RecordProps } from '../../app/router.ts';
import { useQuery } from '../../app/use-query.ts';
import { ColorDot, LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/timestamp.tsx';
import { AssigneesButton } from '../../records/assignee-picker.tsx';
import { Comments } from '../../records/comments.tsx';
import { useDelete } from '../../records/delete-with-undo.tsx';
import { defineColorField, FieldList, InlineField } from '../../records/editable-fields.tsx';
import { buildProjectClientField, projectFields, projectResource } from '../../records/project-fields.tsx';
import { RecordPage } from '../../records/record-loader.tsx';
import { useClients } from '../../records/records.ts';
import { ProgressPercent } from '../../records/tags.tsx';
import { TaskList } from '../../records/task-list.tsx';
import { useProgress } from './progress.ts';
import '../../records/records.css';

const MAX_NEXT_EVENTS = 5;

/** Page of one project: details, tasks, comments and next events. */
export default function ProjectPage({ id }: RecordProps) {
  return (
    <RecordPage resource={client.projects} id={id} loadingTitle="Project" listScreenName="projects">
      {(project, onChange) => <ProjectDetails project={project} onChange={onChange} />}
    </RecordPage>
  );
}

type ProjectDetailsProps = { readonly project: Project; readonly onChange: (project: Project) => void };

function ProjectDetails({ project, onChange }: ProjectDetailsProps) {
  const [taskChangeCount, setTaskChangeCount] = useState(0);
  const clientsQuery = useClients();
  const deletion = useDelete(projectResource, {
    onDeleted: () => navigate(hrefTo('projects')),
    onRestored: ({ project_id }) => navigate(hrefTo('projects', project_id)),
  });
  const { project_id, project_name, color } = project;
  const fieldProps = { editableResource: projectResource, record: project, onChange };
  const { name, start, due, state, tags, uri, description, notes } = projectFields;
  return (
    <Page
      title={project_name}
      intro={
        <span class="row">
          <ColorDot color={color} />
          Project{project.client_id !== '0' && ' for '}
          {project.client_id !== '0' && <a href={hrefTo('clients', project.client_id)}>{project.client_name}</a>}
        </span>
      }
      actions={<Button variant="danger" icon="trash" label="Delete" onClick={() => deletion.startDelete(project)} />}
      calls={[
        {
          description: 'Read this project',
          method: 'GET',
          path: `/projects/${project_id}`,
          sdk: `projects.get('${project_id}')`,
        },
        {
          description: 'List its open tasks',
          method: 'GET',
          path: `/tasks?project_id=${project_id}&status=open`,
          sdk: `tasks.list({ project_id: '${project_id}', status: 'open' })`,
        },
        {
          description: 'Add a task to it',
          method: 'POST',
          path: `/tasks/${project_id}`,
          body: { task_name: 'Proofread' },
          sdk: `tasks.create('${project_id}', { task_name: 'Proofread' })`,
        },
        {
          description: 'List what is said in it',
          method: 'GET',
          path: `/comments?project_id=${project_id}`,
          sdk: `comments.list({ project_id: '${project_id}' })`,
        },
      ]}
    >
      <div class="sides">
        <div class="stack">
          <TaskList
            projects={[project]}
            projectId={project_id}
            onTasksChange={() => setTaskChangeCount((count) => count + 1)}
          />
          <section class="card padded stack words" aria-label="Words">
            <h2>Description</h2>
            <InlineField {...fieldProps} field={description} />
            <h2>Notes</h2>
            <InlineField {...fieldProps} field={notes} />
          </section>
          <Comments projectId={project_id} subjectName={project_name} />
        </div>
        <div class="stack">
          <section class="card padded" aria-label="Details">
            <FieldList
              {...fieldProps}
              fields={[
                name,
                defineColorField<Project, ProjectChanges>(project),
                buildProjectClientField(clientsQuery.data, project),
                start,
                due,
                state,
              ]}
            >
              <ProgressField {...fieldProps} taskChangeCount={taskChangeCount} />
            </FieldList>
            <FieldList {...fieldProps} fields={[tags, uri]}>
              <div>
                <dt>Assigned</dt>
                <dd>
                  <AssigneesButton {...fieldProps} />
                </dd>
              </div>
              <div>
                <dt>Created</dt>
                <dd>
                  <RelativeTime timestamp={project.date_created} />
                </dd>
              </div>
            </FieldList>
          </section>
          <NextEvents projectId={project_id} />
        </div>
      </div>
      {deletion.confirmDialog}
    </Page>
  );
}

/** Shows the progress of the project, and whether it is computed or set by hand. */
function ProgressField({
  record: project,
  onChange,
  taskChangeCount,
}: {
  record: Project;
  onChange: ProjectDetailsProps['onChange'];
  taskChangeCount: number;
}) {
  const progress = useProgress([project], taskChangeCount).get(project.project_id);
  const { taskCounts } = progress ?? {};
  return (
    <div>
      <dt>Progress</dt>
      <dd>
        <InlineField
          editableResource={projectResource}
          record={project}
          onChange={onChange}
          field={projectFields.progress}
        >
          {progress === undefined ? '…' : <ProgressPercent percent={progress.percent} name={project.project_name} />}
        </InlineField>
        <p class="small soft">
          {taskCounts === undefined
            ? 'Set by hand; 0 counts the completed tasks again.'
            : `${taskCounts.completed} of ${taskCounts.total} tasks completed.`}
        </p>
      </dd>
    </div>
  );
}

function NextEvents({ projectId }: { readonly projectId: string }) {
  const eventFilters = { project_id: projectId, due_from: today().replaceAll('-', ''), limit: MAX_NEXT_EVENTS };
  const { data, errorText } = useQuery((signal) => client.events.list(eventFilters, { signal }), [eventFilters]);
  return (
    <section class="card padded stack" aria-label="Next on the calendar">
      <h2>Next on the calendar</h2>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      {data === undefined && errorText === undefined && <LoadingSkeleton lineCount={2} />}
      {data?.data.length === 0 && <p class="soft">Nothing is coming up.</p>}
      <ul class="stack">
        {data?.data.map((event) => (
          <li key={event.event_id}>
            <a href={`${hrefTo('calendar')}?date=${dayOrEmpty(event.start_date) || dayOrEmpty(event.due_date)}`}>
              {event.event_name}
            </a>
            <span class="small soft block">{formatDayRange(event.start_date, event.due_date)}</span>
          </li>
        ))}
      </ul>
      {data !== undefined && data.paging.total_records > MAX_NEXT_EVENTS && (
        <p class="small soft">and {data.paging.total_records - MAX_NEXT_EVENTS} more</p>
      )}
    </section>
  );
}
