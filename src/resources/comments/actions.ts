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
      const must = parent_id === 0 ? undefined : await mustOfParent(view, parent_id);
      if (must === undefined) return given;
      throw invalidInput([{ field: 'parent_id', message: must }]);
    },
  }),
  listed: threadFields,
  list: listThreads,
};

/** They come with their comment, whatever the page is that it stands on. */
const MOST_REPLIES = 1_000;

/** What a comment that is to be replied to is not; undefined when it can be. */
async function mustOfParent(view: AccountView, parentId: number): Promise<string | undefined> {
  const replies = view.selectFrom('comments').select('comment_id').where('comments.parent_id', '=', parentId);
  const [{ parent_id }, last] = await Promise.all([
    comments.get(view, parentId),
    replies
      .orderBy('comments.comment_id')
      .offset(MOST_REPLIES - 1)
      .limit(1)
      .executeTakeFirst(),
  ]);
  if (parent_id !== 0) return 'must be a comment that is no reply';
  return last === undefined ? undefined : `must be a comment with fewer than ${MOST_REPLIES} replies`;
}

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
