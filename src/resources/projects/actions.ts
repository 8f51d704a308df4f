import type { Caller } from '../../access.ts';
import { type Fact, record } from '../../delivery/record.ts';
import type { Changed, Created, Shown } from '../../http/fields.ts';
import type { Page, Paging } from '../../http/paging.ts';
import type { Given } from '../../http/query.ts';
import { notFound } from '../../problems.ts';
import { AccountView, type AccountWrite } from '../../store/account.ts';
import { getClient } from '../clients/actions.ts';
import { ascending, descending, number, type Order, text } from '../order.ts';
import { filtered } from '../pages.ts';
import { assign, creatorFor, unassign, withAssigned } from '../people.ts';
import { mustBeInOrder } from '../spans.ts';
import { revokeCalendars } from '../ways-in.ts';
import { type projectFields, projectFilters, type projectOrder, type projectOrders } from './schema.ts';

type ProjectRow = Shown<typeof projectFields>;

function shown(view: AccountView) {
  return view
    .selectFrom('projects')
    .leftJoin('clients', (join) =>
      join
        .onRef('clients.account_id', '=', 'projects.account_id')
        .onRef('clients.client_id', '=', 'projects.client_id'),
    )
    .selectAll('projects')
    .select('clients.client_name');
}

/** What each order sorts by; the id makes it total (C7). A project without a due date is shown with zeros, and sorts so. */
const orders: Readonly<Record<(typeof projectOrders)[number] | 'id', Order>> = {
  id: ascending('id', number('projects.project_id')),
  projectname: ascending('projectname', text('fold(projects.project_name)'), number('projects.project_id')),
  duedate: ascending('duedate', text("coalesce(projects.due_date, '')"), number('projects.project_id')),
  progress: descending('progress', number('projects.progress'), number('projects.project_id')),
  latest: descending('latest', number('projects.date_created'), number('projects.project_id')),
};

const list = filtered('project', projectFilters, shown);

const find = AccountView.prepared(
  (view, { id }: { id: number }) => shown(view).where('projects.project_id', '=', id),
  'together',
);

export async function listProjects(
  view: AccountView,
  given: Given<typeof projectFilters & typeof projectOrder>,
  paging: Paging,
): Promise<Page<ProjectRow>> {
  const { order = 'id', ...filters } = given;
  const page = await list(view, filters, paging, orders[order]);
  return { ...page, rows: await withAssigned(view, 'project', page.rows, (row) => row.project_id) };
}

export async function getProject(view: AccountView, projectId: number): Promise<ProjectRow> {
  const rows = await find(view, { id: projectId });
  const [row] = await withAssigned(view, 'project', rows, (one) => one.project_id);
  if (row === undefined) throw notFound();
  return row;
}

/** The project must be one of the account; 0 is none and fine. */
export async function mustBeProject(view: AccountView, projectId: number): Promise<void> {
  if (projectId === 0) return;
  const row = await view
    .selectFrom('projects')
    .select('projects.project_id')
    .where('projects.project_id', '=', projectId)
    .executeTakeFirst();
  if (row === undefined) throw notFound();
}

export async function createProject(
  write: AccountWrite,
  caller: Caller,
  input: Created<typeof projectFields>,
): Promise<ProjectRow> {
  const { users, ...columns } = input;
  mustBeInOrder(columns);
  const user_id = await creatorFor(write, caller, columns.user_id, caller.userId);
  if (columns.client_id !== 0) await getClient(write, columns.client_id);
  const { project_id } = await write.insertRow('projects', {
    ...columns,
    user_id,
    date_created: write.now,
    date_modified: null,
  });
  await assign(write, 'project', project_id, users);
  record(write, [{ kind: 'new_project', recordId: project_id, userId: user_id }]);
  return getProject(write, project_id);
}

export async function changeProject(
  write: AccountWrite,
  caller: Caller,
  projectId: number,
  input: Changed<typeof projectFields>,
): Promise<ProjectRow> {
  const { users, ...columns } = input;
  const before = await getProject(write, projectId);
  mustBeInOrder(columns, before);
  const user_id = await creatorFor(write, caller, columns.user_id ?? 0, before.user_id);
  if (columns.client_id !== undefined && columns.client_id !== 0) await getClient(write, columns.client_id);
  await write
    .updateTable('projects')
    .set({ ...columns, user_id, date_modified: write.now })
    .where('project_id', '=', projectId)
    .execute();
  await assign(write, 'project', projectId, users);
  record(write, [{ kind: 'changed_project', recordId: projectId, userId: caller.userId }]);
  return getProject(write, projectId);
}

/** C34: its tasks and their subtasks go with it; its events stay, with project "0". */
export async function deleteProject(write: AccountWrite, caller: Caller, projectId: number): Promise<void> {
  await mustBeProject(write, projectId === 0 ? -1 : projectId);
  const tasks = await write
    .selectFrom('tasks')
    .select('tasks.task_id')
    .where('tasks.project_id', '=', projectId)
    .orderBy('tasks.task_id')
    .execute();
  const subtasks = await write
    .selectFrom('subtasks')
    .innerJoin('tasks', 'tasks.task_id', 'subtasks.task_id')
    .where('tasks.project_id', '=', projectId)
    .select('subtasks.subtask_id')
    .orderBy('subtasks.subtask_id')
    .execute();
  const ofProject = write.selectFrom('tasks').select('tasks.task_id').where('tasks.project_id', '=', projectId);
  await write
    .deleteFrom('assignments')
    .where('noun', '=', 'subtask')
    .where(
      'record_id',
      'in',
      write.selectFrom('subtasks').select('subtasks.subtask_id').where('subtasks.task_id', 'in', ofProject),
    )
    .execute();
  await write.deleteFrom('assignments').where('noun', '=', 'task').where('record_id', 'in', ofProject).execute();
  await unassign(write, 'project', [projectId]);
  await write.deleteFrom('subtasks').where('subtasks.task_id', 'in', ofProject).execute();
  await write.deleteFrom('tasks').where('project_id', '=', projectId).execute();
  const events = await write
    .updateTable('events')
    .set({ project_id: 0, date_modified: write.now })
    .where('project_id', '=', projectId)
    .returning('event_id')
    .execute();
  await write.deleteFrom('projects').where('project_id', '=', projectId).execute();
  await revokeCalendars(write, { projectId }, 'its project was deleted');
  const userId = caller.userId;
  record(write, [
    ...subtasks.map(({ subtask_id }): Fact => ({ kind: 'deleted_subtask', recordId: subtask_id, userId })),
    ...tasks.map(({ task_id }): Fact => ({ kind: 'deleted_task', recordId: task_id, userId })),
    ...events.map(({ event_id }): Fact => ({ kind: 'changed_event', recordId: event_id, userId })),
    { kind: 'deleted_project', recordId: projectId, userId },
  ]);
}
