import type { Caller } from '../../access.ts';
import { type Fact, record } from '../../delivery/record.ts';
import type { Changed, Created, Shown } from '../../http/fields.ts';
import type { Page, Paging } from '../../http/paging.ts';
import type { Given } from '../../http/query.ts';
import { notFound } from '../../problems.ts';
import { AccountView, type AccountWrite } from '../../store/account.ts';
import { completionAfter, open } from '../completion.ts';
import { ascending, descending, number, type Order, text } from '../order.ts';
import { filtered } from '../pages.ts';
import { assign, creatorFor, unassign, withAssigned } from '../people.ts';
import { getProject } from '../projects/actions.ts';
import { mustBeInOrder } from '../spans.ts';
import { type taskChangeFields, type taskFields, taskFilters, type taskOrder, type taskOrders } from './schema.ts';

type TaskRow = Shown<typeof taskFields>;

function shown(view: AccountView) {
  return view
    .selectFrom('tasks')
    .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
    .selectAll('tasks')
    .select('projects.project_name');
}

/** What each order sorts by; the id makes it total (C7). */
const orders: Readonly<Record<(typeof taskOrders)[number] | 'id', Order>> = {
  id: ascending('id', number('tasks.task_id')),
  taskname: ascending('taskname', text('fold(tasks.task_name)'), number('tasks.task_id')),
  duedate: ascending('duedate', text("coalesce(tasks.due_date, '9999-99')"), number('tasks.task_id')),
  progress: descending('progress', number('tasks.progress'), number('tasks.task_id')),
  latest: descending('latest', number('tasks.date_created'), number('tasks.task_id')),
};

const list = filtered('task', taskFilters, shown);

const find = AccountView.prepared(
  (view, { id }: { id: number }) => shown(view).where('tasks.task_id', '=', id),
  'together',
);

export async function listTasks(
  view: AccountView,
  given: Given<typeof taskFilters & typeof taskOrder>,
  paging: Paging,
): Promise<Page<TaskRow>> {
  const { order = 'id', ...filters } = given;
  const page = await list(view, filters, paging, orders[order]);
  return { ...page, rows: await withAssigned(view, 'task', page.rows, (row) => row.task_id) };
}

export async function getTask(view: AccountView, taskId: number): Promise<TaskRow> {
  const rows = await find(view, { id: taskId });
  const [row] = await withAssigned(view, 'task', rows, (one) => one.task_id);
  if (row === undefined) throw notFound();
  return row;
}

/** C33: created already complete, it tells nobody of a completion. C34: an unknown project is 404. */
export async function createTask(
  write: AccountWrite,
  caller: Caller,
  projectId: number,
  input: Created<typeof taskFields>,
): Promise<TaskRow> {
  const { users, completed, ...columns } = input;
  mustBeInOrder(columns);
  await getProject(write, projectId);
  const user_id = await creatorFor(write, caller, columns.user_id, caller.userId);
  const { completes: _, ...completion } = completionAfter(open, { completed }, write.now);
  const { task_id } = await write.insertRow('tasks', {
    ...columns,
    ...completion,
    project_id: projectId,
    user_id,
    date_created: write.now,
    date_modified: null,
  });
  await assign(write, 'task', task_id, users);
  record(write, [{ kind: 'new_task', recordId: task_id, userId: user_id }]);
  return getTask(write, task_id);
}

/** C33: completing a task completes its open subtasks, and each of those is an occurrence of its own. */
export async function changeTask(
  write: AccountWrite,
  caller: Caller,
  taskId: number,
  input: Changed<typeof taskChangeFields>,
): Promise<TaskRow> {
  const { users, completed, resume, ...columns } = input;
  const before = await getTask(write, taskId);
  mustBeInOrder(columns, before);
  const user_id = await creatorFor(write, caller, columns.user_id ?? 0, before.user_id);
  if (columns.project_id !== undefined) await getProject(write, columns.project_id);
  const { completes, ...completion } = completionAfter(before, input, write.now);
  await write
    .updateTable('tasks')
    .set({ ...columns, ...completion, user_id, date_modified: write.now })
    .where('task_id', '=', taskId)
    .execute();
  await assign(write, 'task', taskId, users);
  const facts: Fact[] = completes ? await completeSubtasks(write, caller, taskId) : [];
  facts.push({ kind: completes ? 'completed_task' : 'changed_task', recordId: taskId, userId: caller.userId });
  record(write, facts);
  return getTask(write, taskId);
}

async function completeSubtasks(write: AccountWrite, caller: Caller, taskId: number): Promise<Fact[]> {
  const rows = await write
    .updateTable('subtasks')
    .set({ completed: 1, date_completed: write.now, date_modified: write.now })
    .where('task_id', '=', taskId)
    .where('completed', '=', 0)
    .returning('subtask_id')
    .execute();
  const ids = rows.map((row) => row.subtask_id).sort((a, b) => a - b);
  return ids.map((id): Fact => ({ kind: 'completed_subtask', recordId: id, userId: caller.userId }));
}

/** C34: its subtasks go with it. */
export async function deleteTask(write: AccountWrite, caller: Caller, taskId: number): Promise<void> {
  await getTask(write, taskId);
  const ofTask = write.selectFrom('subtasks').select('subtasks.subtask_id').where('subtasks.task_id', '=', taskId);
  await write.deleteFrom('assignments').where('noun', '=', 'subtask').where('record_id', 'in', ofTask).execute();
  const rows = await write.deleteFrom('subtasks').where('task_id', '=', taskId).returning('subtask_id').execute();
  const subtaskIds = rows.map((row) => row.subtask_id).sort((a, b) => a - b);
  await unassign(write, 'task', [taskId]);
  await write.deleteFrom('tasks').where('task_id', '=', taskId).execute();
  record(write, [
    ...subtaskIds.map((id): Fact => ({ kind: 'deleted_subtask', recordId: id, userId: caller.userId })),
    { kind: 'deleted_task', recordId: taskId, userId: caller.userId },
  ]);
}
