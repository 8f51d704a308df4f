import type { Shown } from '../../http/field.ts';
import type { Page, Paging } from '../../http/paging.ts';
import type { Given } from '../../http/query.ts';
import { invalidInput } from '../../problems.ts';
import type { AccountView } from '../../store/account.ts';
import { idFilter } from '../filters.ts';
import { ascending, number } from '../order.ts';
import { filtered } from '../pages.ts';
import { recordsOf } from '../records.ts';
import { commentFields, commentFilters, threadFields } from './schema.ts';

export const comments = {
  ...recordsOf('comment', {
    fields: commentFields,
    filters: commentFilters,
    async stored(given, _before, view) {
      const { parent_id = 0 } = given;
      if (parent_id === 0 || (await comments.get(view, parent_id)).parent_id === 0) return given;
      throw invalidInput([{ field: 'parent_id', message: 'must be a comment that is no reply' }]);
    },
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
