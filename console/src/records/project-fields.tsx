import type { Client, Project, ProjectChanges } from '../../../packages/sdk/src/resources.ts';
import { dayOrEmpty } from '../app/calendar-dates.ts';
import { client } from '../app/client.ts';
import { Badge } from '../components/badge.tsx';
import {
  countDependents,
  type DeletableResource,
  describeDependents,
  formatDependentsSubject,
  toCreateInput,
} from './delete-with-undo.tsx';
import {
  defineChoiceField,
  defineDateField,
  defineTextField,
  type EditableResource,
  type FieldDefinition,
} from './editable-fields.tsx';
import { DueDate } from './tags.tsx';

export const projectResource: EditableResource<Project, ProjectChanges> & DeletableResource<Project> = {
  resource: client.projects,
  idOf: ({ project_id }) => project_id,
  nameOf: ({ project_name }) => project_name,
  async findDeleteWarning({ project_id }) {
    const countFilters = { project_id, limit: 1 };
    const [warning, { paging }] = await Promise.all([
      describeDependents([
        countDependents('task', client.tasks.list(countFilters), ' and all subtasks'),
        countDependents('comment', client.comments.list(countFilters)),
        countDependents('time entry', client.timeEntries.list(countFilters)),
      ]),
      client.events.list(countFilters),
    ]);
    const eventCount = paging.total_records;
    if (warning === undefined && eventCount === 0) return undefined;
    return {
      confirmLabel: warning?.confirmLabel ?? 'Delete',
      text: (
        <>
          {warning !== undefined && <p>{warning.text}</p>}
          {eventCount > 0 && (
            <p>
              {formatDependentsSubject(eventCount, 'event')} on the calendar {eventCount === 1 ? 'stays' : 'stay'},
              without a project.
            </p>
          )}
          <p>This cannot be taken back. Archived, it would be out of the way and nothing would be lost.</p>
        </>
      ),
    };
  },
  recreate: (project) => client.projects.create(toCreateInput(project)),
};

/** Project states, each with the API flags that represent the state. */
const projectStates = {
  open: { text: 'Open', tone: 'good', flags: { closed: '0', archived: '0' } },
  closed: { text: 'Closed', tone: 'plain', flags: { closed: '1', archived: '0' } },
  archived: { text: 'Archived', tone: 'plain', flags: { closed: '0', archived: '1' } },
} as const;

type ProjectState = keyof typeof projectStates;

export function projectStateOf({ archived, closed }: Project): ProjectState {
  if (archived === '1') return 'archived';
  return closed === '1' ? 'closed' : 'open';
}

export const projectStateOptions = (Object.keys(projectStates) as ProjectState[]).map((value) => ({
  value,
  text: projectStates[value].text,
}));

/** Editable fields of a project. */
export const projectFields = {
  name: defineTextField<Project, ProjectChanges>('project_name', 'Name'),
  start: defineDateField<Project, ProjectChanges>('start_date', 'Start'),
  due: defineDateField<Project, ProjectChanges>('due_date', 'Due', {
    renderValue: (project) =>
      dayOrEmpty(project.due_date) === '' ? undefined : (
        <DueDate due={project.due_date} isDone={projectStateOf(project) !== 'open'} />
      ),
  }),
  state: {
    label: 'State',
    options: projectStateOptions,
    readValue: projectStateOf,
    toChanges: (value) => projectStates[value as ProjectState].flags,
    renderValue: (project) => (
      <Badge tone={projectStates[projectStateOf(project)].tone}>{projectStates[projectStateOf(project)].text}</Badge>
    ),
  } satisfies FieldDefinition<Project, ProjectChanges>,
  progress: defineTextField<Project, ProjectChanges>('progress', 'Progress', { type: 'number' }),
  tags: defineTextField<Project, ProjectChanges>('tags', 'Tags', { emptyText: 'None; several with commas between' }),
  uri: defineTextField<Project, ProjectChanges>('uri', 'Address', { emptyText: 'None' }),
  description: defineTextField<Project, ProjectChanges>('description', 'Description', {
    type: 'area',
    emptyText: 'Add a description',
  }),
  notes: defineTextField<Project, ProjectChanges>('notes', 'Notes', { type: 'area', emptyText: 'Add notes' }),
};

/** Returns the select field for the client of a project. The options always include the current client. */
export function buildProjectClientField(
  clients: readonly Client[] = [],
  project?: Project,
): FieldDefinition<Project, ProjectChanges> {
  const clientOptions = clients.map(({ client_id, client_name }) => ({ value: client_id, text: client_name }));
  const isClientUnlisted =
    project !== undefined &&
    project.client_id !== '0' &&
    !clientOptions.some(({ value }) => value === project.client_id);
  const unlistedClientOptions = isClientUnlisted ? [{ value: project.client_id, text: project.client_name }] : [];
  return defineChoiceField<Project, ProjectChanges>(
    'client_id',
    'Client',
    [{ value: '0', text: 'None' }, ...unlistedClientOptions, ...clientOptions],
    {
      renderValue: ({ client_id, client_name }) =>
        client_id === '0' ? <span class="nothing">None</span> : client_name,
    },
  );
}
