import type { Caller } from '../../access.ts';
import { record } from '../../delivery/record.ts';
import type { Changed, Created, Shown } from '../../http/fields.ts';
import type { Page, Paging } from '../../http/paging.ts';
import type { Given } from '../../http/query.ts';
import { notFound } from '../../problems.ts';
import { AccountView, type AccountWrite } from '../../store/account.ts';
import { completionAfter, open } from '../completion.ts';
import { ascending, number } from '../order.ts';
import { filtered } from '../pages.ts';
import { assign, creatorFor, unassign, withAssigned } from '../people.ts';
import { mustBeInOrder } from '../spans.ts';
import { getTask } from '../tasks/actions.ts';
import { type subtaskChangeFields, type subtaskFields, subtaskFilters } from './schema.ts';

type SubtaskRow = Shown<typeof subtaskFields>;

function shown(view: AccountView) {
  return view
    .selectFrom('subtasks')
    .innerJoin('tasks', 'tasks.task_id', 'subtasks.task_id')
    .innerJoin('projects', 'projects.project_id', 'tasks.project_id')
    .selectAll('subtasks')
    .select(['tasks.task_name', 'tasks.project_id', 'projects.project_name']);
}

const byId = ascending('id', number('subtasks.subtask_id'));

const list = filtered('subtask', subtaskFilters, shown);

const find = AccountView.prepared(
  (view, { id }: { id: number }) => shown(view).where('subtasks.subtask_id', '=', id),
  'together',
);

export async function listSubtasks(
  view: AccountView,
  given: Given<typeof subtaskFilters>,
  paging: Paging,
): Promise<Page<SubtaskRow>> {
  const page = await list(view, given, paging, byId);
  return { ...page, rows: await withAssigned(view, 'subtask', page.rows, (row) => row.subtask_id) };
}

export async function getSubtask(view: AccountView, subtaskId: number): Promise<SubtaskRow> {
  const rows = await find(view, { id: subtaskId });
  const [row] = await withAssigned(view, 'subtask', rows, (one) => one.subtask_id);
  if (row === undefined) throw notFound();
  return row;
}

/** C33: created already complete, it tells nobody of a completion. C34: an unknown task is 404. */
export async function createSubtask(
  write: AccountWrite,
  caller: Caller,
  taskId: number,
  input: Created<typeof subtaskFields>,
): Promise<SubtaskRow> {
  const { users, completed, ...columns } = input;
  mustBeInOrder(columns);
  await getTask(write, taskId);
  const user_id = await creatorFor(write, caller, columns.user_id, caller.userId);
  const { completes: _, ...completion } = completionAfter(open, { completed }, write.now);
  const { subtask_id } = await write.insertRow('subtasks', {
    ...columns,
    ...completion,
    task_id: taskId,
    user_id,
    date_created: write.now,
    date_modified: null,
  });
  await assign(write, 'subtask', subtask_id, users);
  record(write, [{ kind: 'new_subtask', recordId: subtask_id, userId: user_id }]);
  return getSubtask(write, subtask_id);
}

export async function changeSubtask(
  write: AccountWrite,
  caller: Caller,
  subtaskId: number,
  input: Changed<typeof subtaskChangeFields>,
): Promise<SubtaskRow> {
  const { users, completed, resume, ...columns } = input;
  const before = await getSubtask(write, subtaskId);
  mustBeInOrder(columns, before);
  const user_id = await creatorFor(write, caller, columns.user_id ?? 0, before.user_id);
  if (columns.task_id !== undefined) await getTask(write, columns.task_id);
  const { completes, ...completion } = completionAfter(before, input, write.now);
  await write
    .updateTable('subtasks')
    .set({ ...columns, ...completion, user_id, date_modified: write.now })
    .where('subtask_id', '=', subtaskId)
    .execute();
  await assign(write, 'subtask', subtaskId, users);
  const kind = completes ? 'completed_subtask' : 'changed_subtask';
  record(write, [{ kind, recordId: subtaskId, userId: caller.userId }]);
  return getSubtask(write, subtaskId);
}

export async function deleteSubtask(write: AccountWrite, caller: Caller, subtaskId: number): Promise<void> {
  await getSubtask(write, subtaskId);
  await unassign(write, 'subtask', [subtaskId]);
  await write.deleteFrom('subtasks').where('subtask_id', '=', subtaskId).execute();
  record(write, [{ kind: 'deleted_subtask', recordId: subtaskId, userId: caller.userId }]);
}
