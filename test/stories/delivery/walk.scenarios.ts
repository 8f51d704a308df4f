import type { Permission } from '../../../src/permissions.ts';
import type { NextTarget, RecordIds } from '../../kit/api/furnished-account.ts';
import type { ApiUser } from '../../kit/service/service.ts';

/** The data of a scenario: a new account with one record of each resource, and its owner. */
export type ScenarioFixture = { readonly owner: ApiUser; readonly ids: RecordIds; readonly targets: NextTarget };

/** One way to call a route successfully. */
export type Scenario = {
  readonly description: string;
  /** The occurrences that the call records, in order. */
  readonly occurrences: readonly string[];
  readonly body?: (stage: ScenarioFixture) => Record<string, unknown>;
  /** Prepares the account before the call. */
  readonly before?: (stage: ScenarioFixture) => Promise<unknown>;
  /** Permissions that the key needs in addition to the permission of the route. */
  readonly additionalPermissions?: readonly Permission[];
};

const readScenarios: readonly Scenario[] = [{ description: 'reads', occurrences: [] }];
const ICS = 'BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20270301T090000\nSUMMARY:Cast\nEND:VEVENT\nEND:VCALENDAR\n';
const DATES = { start_date: '20270301', due_date: '20270302' };

/** Adds a comment and a time entry to the subtask. */
async function fillSubtask({ owner: { carillon }, ids: { project_id, subtask_id } }: ScenarioFixture, taskId: string) {
  await carillon.comments.create(project_id, { comment: 'C', subtask_id });
  await carillon.timeEntries.create(taskId, { seconds: 1, subtask_id });
}

/**
 * The successful calls of each route, by method and path. The walk fails for a route without a scenario, and
 * for a scenario without a route.
 */
export const scenarios: Readonly<Record<string, readonly Scenario[]>> = {
  'GET /events': readScenarios,
  'POST /events': [
    {
      description: 'creates',
      occurrences: ['new_event'],
      body: ({ ids }) => ({ event_name: 'New', ...DATES, project_id: ids.project_id }),
    },
    {
      description: 'creates for another user',
      occurrences: ['new_event'],
      body: ({ ids }) => ({ event_name: 'New', ...DATES, user_id: ids.user_id }),
    },
  ],
  'GET /events/{event_id}': readScenarios,
  'PUT /events/{event_id}': [
    { description: 'changes', occurrences: ['changed_event'], body: () => ({ event_name: 'Other' }) },
  ],
  'DELETE /events/{event_id}': [{ description: 'deletes', occurrences: ['deleted_event'] }],

  'POST /events/import': [
    {
      description: 'imports a file',
      occurrences: ['new_event'],
      body: ({ ids }) => ({ ics: ICS, project_id: ids.project_id }),
    },
    { description: 'imports a file silently', occurrences: ['changed_event'], body: () => ({ ics: ICS, silent: 1 }) },
  ],

  'GET /calendars': readScenarios,
  'POST /calendars': [
    {
      description: 'creates a calendar URL',
      occurrences: [],
      body: ({ ids }) => ({ label: 'new', scope: 'project', project_id: ids.project_id }),
    },
  ],
  'GET /calendars/{calendar_id}': readScenarios,
  'DELETE /calendars/{calendar_id}': [{ description: 'revokes', occurrences: [] }],

  'GET /hooks': readScenarios,
  'POST /hooks': [
    {
      description: 'subscribes',
      occurrences: [],
      additionalPermissions: ['tasks:read'],
      body: ({ targets }) => ({ target_url: targets(), event: 'completed_task' }),
    },
  ],
  'GET /hooks/{hook_id}': readScenarios,
  'DELETE /hooks/{hook_id}': [{ description: 'unsubscribes', occurrences: [] }],
  'POST /hooks/{hook_id}/restore': [
    {
      description: 'restores',
      occurrences: [],
      before: ({ owner, ids }) => owner.carillon.hooks.delete(ids.hook_id),
      additionalPermissions: ['events:read'],
    },
  ],
  'PUT /hooks/{hook_id}': [{ description: 'changes', occurrences: [], body: () => ({ name: 'New', enabled: 0 }) }],
  'POST /hooks/{hook_id}/replay': [
    {
      description: 'sends again',
      occurrences: [],
      body: () => ({ from: '20250101', to: '2025-12-31 23:59:59' }),
      additionalPermissions: ['events:read'],
    },
  ],
  'POST /hooks/{hook_id}/test': [{ description: 'sends a test', occurrences: [] }],
  'POST /hooks/{hook_id}/secret': [{ description: 'creates a secret', occurrences: [], body: () => ({ overlap: 0 }) }],
  'DELETE /hooks/{hook_id}/secret': [
    {
      description: 'turns signing off',
      occurrences: [],
      before: async ({ owner, ids }) => void (await owner.carillon.hooks.createSecret(ids.hook_id)),
    },
  ],

  'GET /deliveries': readScenarios,
  'GET /deliveries/{delivery_id}': readScenarios,
  'POST /deliveries/{delivery_id}/redeliver': [{ description: 'sends again', occurrences: [] }],

  'GET /notifications': readScenarios,

  'GET /clients': readScenarios,
  'POST /clients': [{ description: 'creates', occurrences: ['new_client'], body: () => ({ client_name: 'New' }) }],
  'GET /clients/{client_id}': readScenarios,
  'PUT /clients/{client_id}': [
    { description: 'changes', occurrences: ['changed_client'], body: () => ({ city: 'Basel' }) },
  ],
  'DELETE /clients/{client_id}': [
    {
      description: 'deletes, and keeps its contact and project',
      occurrences: ['changed_contact', 'changed_project', 'deleted_client'],
    },
    {
      description: 'deletes one without references',
      occurrences: ['deleted_client'],
      before: async ({ owner, ids }) => {
        await owner.carillon.contacts.update(ids.contact_id, { client_id: '0' });
        await owner.carillon.projects.update(ids.project_id, { client_id: '0' });
      },
    },
  ],

  'GET /contacts': readScenarios,
  'POST /contacts': [
    {
      description: 'creates',
      occurrences: ['new_contact'],
      body: ({ ids }) => ({ contact_name: 'New', client_id: ids.client_id }),
    },
  ],
  'GET /contacts/{contact_id}': readScenarios,
  'PUT /contacts/{contact_id}': [
    { description: 'changes', occurrences: ['changed_contact'], body: () => ({ role: 'Founder' }) },
  ],
  'DELETE /contacts/{contact_id}': [{ description: 'deletes', occurrences: ['deleted_contact'] }],

  'GET /projects': readScenarios,
  'POST /projects': [
    {
      description: 'creates',
      occurrences: ['new_project', 'assigned_project'],
      body: ({ ids }) => ({ project_name: 'New', client_id: ids.client_id, users: [ids.user_id] }),
    },
  ],
  'GET /projects/{project_id}': readScenarios,
  'PUT /projects/{project_id}': [
    { description: 'changes', occurrences: ['changed_project'], body: () => ({ notes: 'Other' }) },
    {
      description: 'assigns',
      occurrences: ['changed_project', 'assigned_project'],
      body: ({ ids }) => ({ users: [ids.user_id] }),
    },
  ],
  'DELETE /projects/{project_id}': [
    {
      description: 'deletes with its children, and keeps its event',
      occurrences: [
        ...['deleted_comment', 'deleted_time_entry', 'deleted_subtask', 'deleted_task', 'changed_event'],
        'deleted_project',
      ],
    },
    {
      description: 'deletes an empty one',
      occurrences: ['deleted_project'],
      before: async ({ owner, ids }) => {
        await owner.carillon.tasks.delete(ids.task_id);
        await owner.carillon.events.delete(ids.event_id);
      },
    },
  ],

  'GET /tasks': readScenarios,
  'POST /tasks/{project_id}': [
    {
      description: 'creates',
      occurrences: ['new_task', 'assigned_task'],
      body: ({ ids }) => ({ task_name: 'New', users: [ids.user_id] }),
    },
    {
      description: 'creates already complete',
      occurrences: ['new_task'],
      body: () => ({ task_name: 'New', completed: 1 }),
    },
  ],
  'GET /tasks/{task_id}': readScenarios,
  'PUT /tasks/{task_id}': [
    { description: 'changes', occurrences: ['changed_task'], body: () => ({ notes: 'Other' }) },
    {
      description: 'assigns',
      occurrences: ['changed_task', 'assigned_task'],
      body: ({ ids }) => ({ teams: [ids.team_id] }),
    },
    {
      description: 'completes with its open subtask',
      occurrences: ['completed_subtask', 'completed_task'],
      body: () => ({ completed: 1 }),
    },
    {
      description: 'completes a recurring one, and creates the next with its subtask',
      occurrences: ['completed_subtask', 'completed_task', 'new_task', 'new_subtask'],
      before: ({ owner, ids }) => owner.carillon.tasks.update(ids.task_id, { recurring: 'W' }),
      body: () => ({ completed: 1 }),
    },
    {
      description: 'completes a completed one',
      occurrences: ['changed_task'],
      before: ({ owner, ids }) => owner.carillon.tasks.complete(ids.task_id),
      body: () => ({ completed: 1 }),
    },
    {
      description: 'reopens',
      occurrences: ['changed_task', 'reopened_task'],
      before: ({ owner, ids }) => owner.carillon.tasks.complete(ids.task_id),
      body: () => ({ resume: 1 }),
    },
    {
      description: 'moves to another project with its comment',
      occurrences: ['changed_comment', 'changed_task'],
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
      occurrences: ['deleted_comment', 'deleted_time_entry', 'deleted_subtask', 'deleted_task'],
    },
  ],

  'GET /subtasks': readScenarios,
  'POST /subtasks/{task_id}': [
    {
      description: 'creates',
      occurrences: ['new_subtask', 'assigned_subtask'],
      body: ({ ids }) => ({ subtask_name: 'New', users: [ids.user_id] }),
    },
  ],
  'GET /subtasks/{subtask_id}': readScenarios,
  'PUT /subtasks/{subtask_id}': [
    { description: 'changes', occurrences: ['changed_subtask'], body: () => ({ notes: 'Other' }) },
    {
      description: 'assigns',
      occurrences: ['changed_subtask', 'assigned_subtask'],
      body: ({ ids }) => ({ users: [ids.user_id] }),
    },
    {
      description: 'reopens',
      occurrences: ['changed_subtask', 'reopened_subtask'],
      before: ({ owner, ids }) => owner.carillon.subtasks.complete(ids.subtask_id),
      body: () => ({ resume: 1 }),
    },
    { description: 'completes', occurrences: ['completed_subtask'], body: () => ({ completed: true }) },
    {
      description: 'completes a recurring one, and creates the next',
      occurrences: ['completed_subtask', 'new_subtask'],
      before: ({ owner, ids }) => owner.carillon.subtasks.update(ids.subtask_id, { recurring: 'D' }),
      body: () => ({ completed: true }),
    },
    {
      description: 'moves to another task with its comment and its time',
      occurrences: ['changed_comment', 'changed_time_entry', 'changed_subtask'],
      before: async (stage) => {
        const { tasks, subtasks } = stage.owner.carillon;
        const { task_id } = await tasks.create(stage.ids.project_id, { task_name: 'Other' });
        await subtasks.update(stage.ids.subtask_id, { task_id });
        await fillSubtask(stage, task_id);
      },
      body: ({ ids }) => ({ task_id: ids.task_id }),
    },
  ],
  'DELETE /subtasks/{subtask_id}': [
    { description: 'deletes', occurrences: ['deleted_subtask'] },
    {
      description: 'deletes with its comment, and keeps its time at the task',
      occurrences: ['deleted_comment', 'changed_time_entry', 'deleted_subtask'],
      before: (stage) => fillSubtask(stage, stage.ids.task_id),
    },
  ],

  'GET /user': readScenarios,
  'GET /time_entries': readScenarios,
  'POST /time_entries/{task_id}': [
    {
      description: 'creates',
      occurrences: ['new_time_entry'],
      body: ({ ids }) => ({ seconds: 90, subtask_id: ids.subtask_id }),
    },
  ],
  'GET /time_entries/{entry_id}': readScenarios,
  'PUT /time_entries/{entry_id}': [
    { description: 'changes', occurrences: ['changed_time_entry'], body: () => ({ billed: 1 }) },
  ],
  'PUT /time_entry/{entry_id}': [
    { description: 'changes', occurrences: ['changed_time_entry'], body: () => ({ billed: 1 }) },
  ],
  'DELETE /time_entries/{entry_id}': [{ description: 'deletes', occurrences: ['deleted_time_entry'] }],

  'GET /comments': readScenarios,
  'POST /comments/{project_id}': [
    {
      description: 'replies to one',
      occurrences: ['new_comment'],
      body: ({ ids }) => ({ comment: 'New', parent_id: ids.comment_id }),
    },
  ],
  'GET /comments/{comment_id}': readScenarios,
  'DELETE /comments/{comment_id}': [
    {
      description: 'deletes with its replies',
      occurrences: ['deleted_comment', 'deleted_comment'],
      before: async ({ owner, ids }) =>
        void (await owner.carillon.comments.create(ids.project_id, { comment: 'R', parent_id: ids.comment_id })),
    },
  ],

  'GET /teams': readScenarios,
  'POST /teams': [
    {
      description: 'creates',
      occurrences: ['new_team'],
      body: ({ ids }) => ({ team_name: 'New', users: [ids.user_id] }),
    },
  ],
  'GET /teams/{team_id}': readScenarios,
  'PUT /teams/{team_id}': [
    { description: 'changes', occurrences: ['changed_team'], body: () => ({ color: '#aabbcc' }) },
  ],
  'DELETE /teams/{team_id}': [
    {
      description: 'deletes one that is assigned',
      occurrences: ['deleted_team'],
      before: async ({ owner, ids }) => void (await owner.carillon.tasks.update(ids.task_id, { teams: [ids.team_id] })),
    },
  ],

  'GET /users': readScenarios,
  'POST /users': [
    { description: 'adds', occurrences: ['new_user'], body: () => ({ email: 'new@acme.test', first_name: 'New' }) },
  ],
  'GET /users/{user_id}': readScenarios,
  'PUT /users/{user_id}': [
    { description: 'changes', occurrences: ['changed_user'], body: () => ({ last_name: 'Other' }) },
  ],
  'DELETE /users/{user_id}': [{ description: 'deletes', occurrences: ['deleted_user'] }],
  'GET /company': readScenarios,

  'GET /keys': readScenarios,
  'POST /keys': [
    {
      description: 'issues',
      occurrences: [],
      body: ({ ids }) => ({ label: 'new', permissions: [], user_id: ids.user_id }),
    },
  ],
  'GET /keys/{key_id}': readScenarios,
  'PUT /keys/{key_id}': [
    { description: 'narrows', occurrences: [], body: () => ({ label: 'less', permissions: ['events:read'] }) },
  ],
  'DELETE /keys/{key_id}': [{ description: 'revokes', occurrences: [] }],
};
