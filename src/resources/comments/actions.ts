import type { Created, Shown } from '../../http/fields.ts';
import type { Page, Paging } from '../../http/paging.ts';
import type { Given } from '../../http/query.ts';
import { invalidInput } from '../../problems.ts';
import type { AccountView } from '../../store/account.ts';
import { idFilter } from '../filters.ts';
import { ascending, number } from '../order.ts';
import { filtered } from '../pages.ts';
import { recordsOf } from '../records.ts';
import { subtasks } from '../subtasks/actions.ts';
import { tasks } from '../tasks/actions.ts';
import { commentFields, commentFilters, threadFields } from './schema.ts';

export const comments = {
  ...recordsOf('comment', {
    fields: commentFields,
    filters: commentFilters,
    stored: async (given, _before, view, parentId) => ({ ...given, ...(await placeOf(view, given, parentId ?? 0)) }),
  }),
  listed: threadFields,
  list: listThreads,
};

/** Only those that are no replies: these come with them. */
const list = filtered(
  'comment',
  { ...commentFilters, parent_id: idFilter('Replies to this one; 0 for those that are none.', 'comments.parent_id') },
  (view) => view.selectFrom('comments').selectAll('comments'),
);

const byId = ascending('id', number('comments.comment_id'));

async function listThreads(
  view: AccountView,
  given: Given<typeof commentFilters>,
  paging: Paging,
): Promise<Page<Shown<typeof threadFields>>> {
  const page = await list(view, { ...given, parent_id: 0 }, paging, byId);
  const ids = page.rows.map(({ comment_id }) => comment_id);
  const found = view.selectFrom('comments').selectAll('comments').where('comments.parent_id', 'in', ids);
  const replies = ids.length === 0 ? [] : await found.orderBy('comments.comment_id').execute();
  const byParent = Map.groupBy(replies, ({ parent_id }) => parent_id);
  return { ...page, rows: page.rows.map((row) => ({ ...row, replies: byParent.get(row.comment_id) ?? [] })) };
}

type Place = Pick<Created<typeof commentFields>, 'task_id' | 'subtask_id'>;

/** Where a comment stands: a reply where what it replies to stands; on a subtask, on its task, too; all of it in the project. */
async function placeOf(
  view: AccountView,
  { parent_id = 0, task_id = 0, subtask_id = 0 }: Partial<Place> & { readonly parent_id?: number },
  projectId: number,
): Promise<Place> {
  if (parent_id !== 0) {
    const parent = await comments.get(view, parent_id);
    if (parent.parent_id !== 0) throw wrong('parent_id', 'must be a comment that is no reply');
    if (parent.project_id !== projectId) throw wrong('parent_id', 'must be a comment on this project');
    for (const [field, given] of [['task_id', task_id] as const, ['subtask_id', subtask_id] as const]) {
      if (given !== 0 && given !== parent[field]) throw wrong(field, 'must be that of the comment that it replies to');
    }
    return { task_id: parent.task_id, subtask_id: parent.subtask_id };
  }
  const subtask = subtask_id === 0 ? undefined : await subtasks.get(view, subtask_id);
  if (subtask && task_id !== 0 && subtask.task_id !== task_id)
    throw wrong('subtask_id', 'must be a subtask of the task');
  if (subtask && subtask.project_id !== projectId) throw wrong('subtask_id', 'must be a subtask in this project');
  if (subtask) return { task_id: subtask.task_id ?? 0, subtask_id };
  if (task_id !== 0 && (await tasks.get(view, task_id)).project_id !== projectId)
    throw wrong('task_id', 'must be a task of this project');
  return { task_id, subtask_id };
}

const wrong = (field: string, message: string) => invalidInput([{ field, message }]);
