import type { ApiUser, TestService } from '../service/service.ts';

/** The ids of one record of each resource, by the names that paths, bodies and queries use. */
export type RecordIds = {
  readonly client_id: string;
  readonly comment_id: string;
  readonly contact_id: string;
  readonly project_id: string;
  readonly task_id: string;
  readonly subtask_id: string;
  readonly entry_id: string;
  readonly event_id: string;
  readonly user_id: string;
  readonly team_id: string;
  readonly hook_id: string;
  readonly delivery_id: string;
  readonly key_id: string;
  readonly calendar_id: string;
};

/** Returns a new target URL at each call, because each hook needs its own. */
export type NextTarget = () => string;

/**
 * Creates one record of each resource, linked to each other: the event and the task in the project, the project
 * of the client.
 */
export async function createOneOfEach(
  owner: ApiUser,
  service: TestService,
  nextTarget: NextTarget,
): Promise<RecordIds> {
  const { calendars, clients, comments, contacts, projects, tasks, subtasks, events, hooks, keys, timeEntries } =
    owner.carillon;
  const { client_id } = await clients.create({ client_name: 'A client' });
  const { contact_id } = await contacts.create({ contact_name: 'A contact', client_id });
  const { project_id } = await projects.create({ project_name: 'A project', client_id });
  const { task_id } = await tasks.create(project_id, { task_name: 'A task' });
  const { subtask_id } = await subtasks.create(task_id, { subtask_name: 'A subtask' });
  const { entry_id } = await timeEntries.create(task_id, { seconds: 60 });
  const { comment_id } = await comments.create(project_id, { comment: 'A comment', task_id });
  const { event_id } = await events.create({
    event_name: 'An event',
    start_date: '20270101',
    due_date: '20270102',
    project_id,
  });
  const { id: hook_id } = await hooks.create({ target_url: nextTarget(), event: 'new_event' });
  const { id: delivery_id } = await hooks.test(hook_id);
  const { id: key_id } = await keys.create({ label: 'a key' });
  const { id: calendar_id } = await calendars.create({ label: 'a calendar' });
  const { userId: user_id } = await service.createUser(owner, 'member');
  const { team_id } = await owner.carillon.teams.create({ team_name: 'A team', users: [user_id] });
  return {
    client_id,
    comment_id,
    contact_id,
    project_id,
    task_id,
    subtask_id,
    entry_id,
    event_id,
    user_id,
    team_id,
    hook_id,
    delivery_id,
    key_id,
    calendar_id,
  };
}
