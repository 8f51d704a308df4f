import type { Permission } from '../../../src/permissions.ts';
import type { Ids, Targets } from '../../kit/api/furnished-account.ts';
import type { Person } from '../../kit/service/service.ts';

/** The data of a scenario: a new account with one record of each resource, and its owner. */
export type Stage = { readonly owner: Person; readonly ids: Ids; readonly targets: Targets };

/** One way to call a route successfully. */
export type Scenario = {
  readonly description: string;
  /** The occurrences that the call records, in order. */
  readonly records: readonly string[];
  readonly body?: (stage: Stage) => Record<string, unknown>;
  /** Prepares the account before the call. */
  readonly before?: (stage: Stage) => Promise<unknown>;
  /** Permissions that the key needs in addition to the permission of the route. */
  readonly also?: readonly Permission[];
};

const read: readonly Scenario[] = [{ description: 'reads', records: [] }];
const ICS = 'BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20270301T090000\nSUMMARY:Cast\nEND:VEVENT\nEND:VCALENDAR\n';
const SPAN = { start_date: '20270301', due_date: '20270302' };

/** Adds a comment and a time entry to the subtask. */
async function furnishSubtask({ owner: { carillon }, ids: { project_id, subtask_id } }: Stage, taskId: string) {
  await carillon.comments.create(project_id, { comment: 'C', subtask_id });
  await carillon.timeEntries.create(taskId, { seconds: 1, subtask_id });
}

/**
 * The successful calls of each route, by method and path. The walk fails for a route without a scenario, and
 * for a scenario without a route.
 */
export const scenarios: Readonly<Record<string, readonly Scenario[]>> = {
  'GET /events': read,
  'POST /events': [
    {
      description: 'creates',
      records: ['new_event'],
      body: ({ ids }) => ({ event_name: 'New', ...SPAN, project_id: ids.project_id }),
    },
    {
      description: 'creates for another user',
      records: ['new_event'],
      body: ({ ids }) => ({ event_name: 'New', ...SPAN, user_id: ids.user_id }),
    },
  ],
  'GET /events/{event_id}': read,
  'PUT /events/{event_id}': [
    { description: 'changes', records: ['changed_event'], body: () => ({ event_name: 'Other' }) },
  ],
  'DELETE /events/{event_id}': [{ description: 'deletes', records: ['deleted_event'] }],

  'POST /events/import': [
    {
      description: 'imports a file',
      records: ['new_event'],
      body: ({ ids }) => ({ ics: ICS, project_id: ids.project_id }),
    },
    { description: 'imports a file silently', records: ['changed_event'], body: () => ({ ics: ICS, silent: 1 }) },
  ],

  'GET /calendars': read,
  'POST /calendars': [
    {
      description: 'creates a calendar URL',
      records: [],
      body: ({ ids }) => ({ label: 'new', scope: 'project', project_id: ids.project_id }),
    },
  ],
  'GET /calendars/{calendar_id}': read,
  'DELETE /calendars/{calendar_id}': [{ description: 'revokes', records: [] }],

  'GET /hooks': read,
  'POST /hooks': [
    {
      description: 'subscribes',
      records: [],
      also: ['tasks:read'],
      body: ({ targets }) => ({ target_url: targets(), event: 'completed_task' }),
    },
  ],
  'GET /hooks/{hook_id}': read,
  'DELETE /hooks/{hook_id}': [{ description: 'unsubscribes', records: [] }],
  'POST /hooks/{hook_id}/restore': [
    {
      description: 'restores',
      records: [],
      before: ({ owner, ids }) => owner.carillon.hooks.delete(ids.hook_id),
      also: ['events:read'],
    },
  ],
  'POST /hooks/{hook_id}/test': [{ description: 'sends a test', records: [] }],
  'POST /hooks/{hook_id}/secret': [{ description: 'creates a secret', records: [], body: () => ({ overlap: 0 }) }],
  'DELETE /hooks/{hook_id}/secret': [
    {
      description: 'turns signing off',
      records: [],
      before: async ({ owner, ids }) => void (await owner.carillon.hooks.createSecret(ids.hook_id)),
    },
  ],

  'GET /deliveries': read,
  'GET /deliveries/{delivery_id}': read,
  'POST /deliveries/{delivery_id}/redeliver': [{ description: 'sends again', records: [] }],

  'GET /notifications': read,

  'GET /clients': read,
  'POST /clients': [{ description: 'creates', records: ['new_client'], body: () => ({ client_name: 'New' }) }],
  'GET /clients/{client_id}': read,
  'PUT /clients/{client_id}': [
    { description: 'changes', records: ['changed_client'], body: () => ({ city: 'Basel' }) },
  ],
  'DELETE /clients/{client_id}': [
    {
      description: 'deletes, and keeps its contact and project',
      records: ['changed_contact', 'changed_project', 'deleted_client'],
    },
    {
      description: 'deletes one without references',
      records: ['deleted_client'],
      before: async ({ owner, ids }) => {
        await owner.carillon.contacts.update(ids.contact_id, { client_id: '0' });
        await owner.carillon.projects.update(ids.project_id, { client_id: '0' });
      },
    },
  ],

  'GET /contacts': read,
  'POST /contacts': [
    {
      description: 'creates',
      records: ['new_contact'],
      body: ({ ids }) => ({ contact_name: 'New', client_id: ids.client_id }),
    },
  ],
  'GET /contacts/{contact_id}': read,
  'PUT /contacts/{contact_id}': [
    { description: 'changes', records: ['changed_contact'], body: () => ({ role: 'Founder' }) },
  ],
  'DELETE /contacts/{contact_id}': [{ description: 'deletes', records: ['deleted_contact'] }],

  'GET /projects': read,
  'POST /projects': [
    {
      description: 'creates',
      records: ['new_project'],
      body: ({ ids }) => ({ project_name: 'New', client_id: ids.client_id, users: [ids.user_id] }),
    },
  ],
  'GET /projects/{project_id}': read,
  'PUT /projects/{project_id}': [
    { description: 'changes', records: ['changed_project'], body: () => ({ notes: 'Other' }) },
  ],
  'DELETE /projects/{project_id}': [
    {
      description: 'deletes with its children, and keeps its event',
      records: [
        ...['deleted_comment', 'deleted_time_entry', 'deleted_subtask', 'deleted_task', 'changed_event'],
        'deleted_project',
      ],
    },
    {
      description: 'deletes an empty one',
      records: ['deleted_project'],
      before: async ({ owner, ids }) => {
        await owner.carillon.tasks.delete(ids.task_id);
        await owner.carillon.events.delete(ids.event_id);
      },
    },
  ],

  'GET /tasks': read,
  'POST /tasks/{project_id}': [
    { description: 'creates', records: ['new_task'], body: ({ ids }) => ({ task_name: 'New', users: [ids.user_id] }) },
    {
      description: 'creates already complete',
      records: ['new_task'],
      body: () => ({ task_name: 'New', completed: 1 }),
    },
  ],
  'GET /tasks/{task_id}': read,
  'PUT /tasks/{task_id}': [
    { description: 'changes', records: ['changed_task'], body: () => ({ notes: 'Other' }) },
    {
      description: 'completes with its open subtask',
      records: ['completed_subtask', 'completed_task'],
      body: () => ({ completed: 1 }),
    },
    {
      description: 'completes a recurring one, and creates the next with its subtask',
      records: ['completed_subtask', 'completed_task', 'new_task', 'new_subtask'],
      before: ({ owner, ids }) => owner.carillon.tasks.update(ids.task_id, { recurring: 'W' }),
      body: () => ({ completed: 1 }),
    },
    {
      description: 'completes a completed one',
      records: ['changed_task'],
      before: ({ owner, ids }) => owner.carillon.tasks.complete(ids.task_id),
      body: () => ({ completed: 1 }),
    },
    {
      description: 'reopens',
      records: ['changed_task'],
      before: ({ owner, ids }) => owner.carillon.tasks.complete(ids.task_id),
      body: () => ({ resume: 1 }),
    },
    {
      description: 'moves to another project with its comment',
      records: ['changed_comment', 'changed_task'],
      before: async ({ owner: { carillon }, ids }) => {
        const { project_id } = await carillon.projects.create({ project_name: 'Other' });
        await carillon.tasks.update(ids.task_id, { project_id });
      },
      body: ({ ids }) => ({ project_id: ids.project_id }),
    },
  ],
  'DELETE /tasks/{task_id}': [
    {
      description: 'deletes with its children',
      records: ['deleted_comment', 'deleted_time_entry', 'deleted_subtask', 'deleted_task'],
    },
  ],

  'GET /subtasks': read,
  'POST /subtasks/{task_id}': [
    {
      description: 'creates',
      records: ['new_subtask'],
      body: ({ ids }) => ({ subtask_name: 'New', users: [ids.user_id] }),
    },
  ],
  'GET /subtasks/{subtask_id}': read,
  'PUT /subtasks/{subtask_id}': [
    { description: 'changes', records: ['changed_subtask'], body: () => ({ notes: 'Other' }) },
    { description: 'completes', records: ['completed_subtask'], body: () => ({ completed: true }) },
    {
      description: 'completes a recurring one, and creates the next',
      records: ['completed_subtask', 'new_subtask'],
      before: ({ owner, ids }) => owner.carillon.subtasks.update(ids.subtask_id, { recurring: 'D' }),
      body: () => ({ completed: true }),
    },
    {
      description: 'moves to another task with its comment and its time',
      records: ['changed_comment', 'changed_time_entry', 'changed_subtask'],
      before: async (stage) => {
        const { tasks, subtasks } = stage.owner.carillon;
        const { task_id } = await tasks.create(stage.ids.project_id, { task_name: 'Other' });
        await subtasks.update(stage.ids.subtask_id, { task_id });
        await furnishSubtask(stage, task_id);
      },
      body: ({ ids }) => ({ task_id: ids.task_id }),
    },
  ],
  'DELETE /subtasks/{subtask_id}': [
    { description: 'deletes', records: ['deleted_subtask'] },
    {
      description: 'deletes with its comment, and keeps its time at the task',
      records: ['deleted_comment', 'changed_time_entry', 'deleted_subtask'],
      before: (stage) => furnishSubtask(stage, stage.ids.task_id),
    },
  ],

  'GET /user': read,
  'GET /time_entries': read,
  'POST /time_entries/{task_id}': [
    {
      description: 'creates',
      records: ['new_time_entry'],
      body: ({ ids }) => ({ seconds: 90, subtask_id: ids.subtask_id }),
    },
  ],
  'GET /time_entries/{entry_id}': read,
  'PUT /time_entries/{entry_id}': [
    { description: 'changes', records: ['changed_time_entry'], body: () => ({ billed: 1 }) },
  ],
  'PUT /time_entry/{entry_id}': [
    { description: 'changes', records: ['changed_time_entry'], body: () => ({ billed: 1 }) },
  ],
  'DELETE /time_entries/{entry_id}': [{ description: 'deletes', records: ['deleted_time_entry'] }],

  'GET /comments': read,
  'POST /comments/{project_id}': [
    {
      description: 'replies to one',
      records: ['new_comment'],
      body: ({ ids }) => ({ comment: 'New', parent_id: ids.comment_id }),
    },
  ],
  'GET /comments/{comment_id}': read,
  'DELETE /comments/{comment_id}': [
    {
      description: 'deletes with its replies',
      records: ['deleted_comment', 'deleted_comment'],
      before: async ({ owner, ids }) =>
        void (await owner.carillon.comments.create(ids.project_id, { comment: 'R', parent_id: ids.comment_id })),
    },
  ],

  'GET /teams': read,
  'POST /teams': [
    { description: 'creates', records: ['new_team'], body: ({ ids }) => ({ team_name: 'New', users: [ids.user_id] }) },
  ],
  'GET /teams/{team_id}': read,
  'PUT /teams/{team_id}': [{ description: 'changes', records: ['changed_team'], body: () => ({ color: '#aabbcc' }) }],
  'DELETE /teams/{team_id}': [
    {
      description: 'deletes one that is assigned',
      records: ['deleted_team'],
      before: async ({ owner, ids }) => void (await owner.carillon.tasks.update(ids.task_id, { teams: [ids.team_id] })),
    },
  ],

  'GET /users': read,
  'POST /users': [
    { description: 'adds', records: ['new_user'], body: () => ({ email: 'new@acme.test', first_name: 'New' }) },
  ],
  'GET /users/{user_id}': read,
  'PUT /users/{user_id}': [{ description: 'changes', records: ['changed_user'], body: () => ({ last_name: 'Other' }) }],
  'DELETE /users/{user_id}': [{ description: 'deletes', records: ['deleted_user'] }],
  'GET /company': read,

  'GET /keys': read,
  'POST /keys': [
    {
      description: 'issues',
      records: [],
      body: ({ ids }) => ({ label: 'new', permissions: [], user_id: ids.user_id }),
    },
  ],
  'GET /keys/{key_id}': read,
  'PUT /keys/{key_id}': [
    { description: 'narrows', records: [], body: () => ({ label: 'less', permissions: ['events:read'] }) },
  ],
  'DELETE /keys/{key_id}': [{ description: 'revokes', records: [] }],
};
