import type { Shown } from '../../http/field.ts';
import type { Page, Paging } from '../../http/paging.ts';
import type { Given } from '../../http/query.ts';
import { expandRows } from '../../http/slices.ts';
import { invalidInput } from '../../problems.ts';
import type { AccountView } from '../../store/account.ts';
import { ascending, number } from '../order.ts';
import { filtered } from '../pages.ts';
import { recordsOf } from '../records.ts';
import { commentFields, commentFilters, REPLIES_IN_LISTS, threadFields } from './schema.ts';

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

/** Replies that one comment can have. */
const MAX_REPLIES = 1_000;

/** Replies that are loaded at once, and one comment's more. */
const MAX_REPLIES_AT_ONCE = 100;

/** What a comment that is to be replied to is not; undefined when it can be. */
async function mustOfParent(view: AccountView, parentId: number): Promise<string | undefined> {
  const replies = view.selectFrom('comments').select('comment_id').where('comments.parent_id', '=', parentId);
  const [{ parent_id }, last] = await Promise.all([
    comments.get(view, parentId),
    replies
      .orderBy('comments.comment_id')
      .offset(MAX_REPLIES - 1)
      .limit(1)
      .executeTakeFirst(),
  ]);
  if (parent_id !== 0) return 'must be a comment that is no reply';
  return last === undefined ? undefined : `must be a comment with fewer than ${MAX_REPLIES} replies`;
}

const list = filtered('comment', commentFilters, (view) => view.selectFrom('comments').selectAll('comments'), [
  'comments.comment',
]);

const byId = ascending('id', number('comments.comment_id'));

type CommentRow = Shown<typeof commentFields>;
type ThreadRow = Shown<typeof threadFields>;

/** Comments that are no replies, each with its first ones; or the replies to one comment. */
async function listThreads(
  view: AccountView,
  given: Given<typeof commentFilters>,
  paging: Paging,
): Promise<Page<ThreadRow>> {
  const page = await list(view, { parent_id: 0, ...given }, paging, byId);
  return expandRows(page, (rows) => withReplies(view, rows));
}

/** Each comment with its first replies, in the order of the comments, and as many at once as have few of them. */
async function* withReplies(
  view: AccountView,
  rows: readonly CommentRow[],
): AsyncGenerator<readonly ThreadRow[], void> {
  const counts = await countReplies(view, rows);
  const countOf = ({ comment_id }: CommentRow) => counts.get(comment_id) ?? 0;
  for (const some of together(rows, countOf)) {
    const replies = await firstReplies(view, some, countOf);
    yield some.map((row) => ({
      ...row,
      reply_count: countOf(row),
      replies: replies.get(row.comment_id) ?? [],
    }));
  }
}

async function countReplies(view: AccountView, rows: readonly CommentRow[]): Promise<ReadonlyMap<number, number>> {
  if (rows.length === 0) return new Map();
  const ids = rows.map(({ comment_id }) => comment_id);
  const counts = await view
    .selectFrom('comments')
    .where('comments.parent_id', 'in', ids)
    .groupBy('comments.parent_id')
    .select(({ fn }) => ['comments.parent_id', fn.countAll<number>().as('replies')])
    .execute();
  return new Map(counts.map(({ parent_id, replies }) => [parent_id, replies]));
}

/** Comments that follow each other, with as many replies as are loaded at once; at least one. */
function together(
  rows: readonly CommentRow[],
  countOf: (row: CommentRow) => number,
): readonly (readonly CommentRow[])[] {
  const groups: CommentRow[][] = [];
  let room = 0;
  for (const row of rows) {
    const replies = Math.min(countOf(row), REPLIES_IN_LISTS);
    if (replies > room || groups.length === 0) {
      groups.push([]);
      room = MAX_REPLIES_AT_ONCE;
    }
    groups.at(-1)?.push(row);
    room -= replies;
  }
  return groups;
}

/** The first replies to each of these, by comment. */
async function firstReplies(
  view: AccountView,
  rows: readonly CommentRow[],
  countOf: (row: CommentRow) => number,
): Promise<ReadonlyMap<number, readonly CommentRow[]>> {
  const replies = view.selectFrom('comments').selectAll('comments').orderBy('comments.comment_id');
  const idsOf = (some: readonly CommentRow[]) => some.map(({ comment_id }) => comment_id);
  const few = idsOf(rows.filter((row) => countOf(row) > 0 && countOf(row) <= REPLIES_IN_LISTS));
  const many = idsOf(rows.filter((row) => countOf(row) > REPLIES_IN_LISTS));
  const found = await Promise.all([
    ...(few.length === 0 ? [] : [replies.where('comments.parent_id', 'in', few).execute()]),
    ...many.map((id) => replies.where('comments.parent_id', '=', id).limit(REPLIES_IN_LISTS).execute()),
  ]);
  return Map.groupBy(found.flat(), ({ parent_id }) => parent_id);
}
