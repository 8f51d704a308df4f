import type { StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId, readOnlyRecords, recordIdOrNone } from '../../http/fields/reference-fields.ts';
import { constant, readOnlyDigits, text } from '../../http/fields/scalar-fields.ts';
import { expandInHalves, expandRows, type Page, type PageRequest } from '../../http/routes/pagination.ts';
import type { ParsedParameters } from '../../http/routes/query-parameters.ts';
import { invalidInput } from '../../problems.ts';
import { AccountView } from '../../store/account-scope.ts';
import { defineResource } from '../core/define-resource.ts';
import { commonFields } from '../core/domain-fields.ts';
import { idFilter } from '../core/filters.ts';
import { createListFunction } from '../core/list-function.ts';
import { createResourceRoutes } from '../core/resource-routes.ts';
import { splitBySize, totalByteLengthSql } from '../core/sliced-page.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';

/** Fields of a comment on a project, or on one of its tasks or subtasks (C39). */
const commentFields = {
  comment_id: ownRecordId('Identifier of the comment.'),
  comment: text({ description: 'The text.', minLength: 1, maxLength: 20_000 }),
  parent_id: recordIdOrNone('The comment that it replies to, which must not be a reply itself.'),
  project_id: readOnlyId('The project of the comment.'),
  task_id: recordIdOrNone('The task of the comment.'),
  subtask_id: recordIdOrNone('The subtask of that task.'),
  filepath: constant('Always null: there are no files.', null),
  filename: constant('Always null: there are no files.', null),
  note: constant('Always "0": it is a comment, not a note.', '0'),
  ...commonFields,
};

/**
 * Maximum number of replies that a list returns with each comment. A comment with this number of replies of maximum
 * length still fits on one page.
 */
const MAX_LISTED_REPLIES = 50;

/** Response fields of a comment in a list, with its first replies. */
const threadFields = {
  ...commentFields,
  reply_count: readOnlyDigits('Number of replies.'),
  replies: readOnlyRecords(
    `The first ${MAX_LISTED_REPLIES} replies, by id. Filter the list by parent_id to get all.`,
    commentFields,
  ),
};

const commentFilters = {
  project_id: idFilter('On this project, its tasks and subtasks.', 'comments.project_id'),
  task_id: idFilter('On this task and its subtasks.', 'comments.task_id'),
  subtask_id: idFilter('On this subtask.', 'comments.subtask_id'),
  parent_id: idFilter('Replies to this comment. Default: comments that are not replies.', 'comments.parent_id'),
};

const comments = {
  ...defineResource('comment', {
    fields: commentFields,
    filters: commentFilters,
    async toColumns(input, _oldRecord, view) {
      const { parent_id = 0 } = input;
      const errorMessage = parent_id === 0 ? undefined : await findParentError(view, parent_id);
      if (errorMessage === undefined) return input;
      throw invalidInput([{ field: 'parent_id', message: errorMessage }]);
    },
  }),
  listedFields: threadFields,
  list: listThreads,
};

const MAX_REPLIES_PER_COMMENT = 1_000;

/** Maximum number of replies that are loaded for one batch of comments. */
const MAX_REPLIES_PER_QUERY = 2_000;

/** Returns the error message if a comment cannot be replied to; otherwise undefined. */
async function findParentError(view: AccountView, parentId: number): Promise<string | undefined> {
  const repliesQuery = view.selectFrom('comments').select('comment_id').where('comments.parent_id', '=', parentId);
  const [{ parent_id }, replyAtLimit] = await Promise.all([
    comments.get(view, parentId),
    repliesQuery
      .orderBy('comments.comment_id')
      .offset(MAX_REPLIES_PER_COMMENT - 1)
      .limit(1)
      .executeTakeFirst(),
  ]);
  if (parent_id !== 0) return 'must be a comment that is not a reply';
  return replyAtLimit === undefined
    ? undefined
    : `must be a comment with fewer than ${MAX_REPLIES_PER_COMMENT} replies`;
}

const listComments = createListFunction(
  'comment',
  commentFilters,
  (view) => view.selectFrom('comments').selectAll('comments'),
  ['comments.comment'],
);

const orderById = ascendingOrder('id', numberKey('comments.comment_id'));

type CommentRow = StoredRecordOf<typeof commentFields>;
type ThreadRow = StoredRecordOf<typeof threadFields>;

/**
 * Lists top-level comments, each with its first replies. With the filter `parent_id`, lists the replies to one comment.
 */
async function listThreads(
  view: AccountView,
  parameterValues: ParsedParameters<typeof commentFilters>,
  paging: PageRequest,
): Promise<Page<ThreadRow>> {
  const page = await listComments(view, { parent_id: 0, ...parameterValues }, paging, orderById);
  const threads = await expandInHalves(page, (rows) => loadThreads(view, rows));
  return expandRows(threads, (threadBatch) => addReplies(view, threadBatch));
}

/** Id and parent of a reply, and the size of its text in bytes. */
type ReplySummary = { readonly comment_id: number; readonly parent_id: number; readonly size: number };

const loadRepliesByIds = AccountView.prepareQueryByIds((view, ids) =>
  view
    .selectFrom('comments')
    .selectAll('comments')
    .where('comments.comment_id', 'in', ids as number[]),
);

/** A comment with summaries of its first replies. `size` is the total size of the texts of these replies in bytes. */
type CommentThread = {
  readonly row: CommentRow;
  readonly replyCount: number;
  readonly firstReplySummaries: readonly ReplySummary[];
  readonly size: number;
};

/** Adds the first replies to each comment, in slices limited by the size of their texts. */
async function* addReplies(
  view: AccountView,
  threads: readonly CommentThread[],
): AsyncGenerator<readonly ThreadRow[], void> {
  for (const threadBatch of splitBySize(threads)) {
    const replyIds = threadBatch.flatMap(({ firstReplySummaries }) =>
      firstReplySummaries.map(({ comment_id }) => comment_id),
    );
    const repliesById = new Map((await loadRepliesByIds(view, replyIds)).map((reply) => [reply.comment_id, reply]));
    yield threadBatch.map(({ row, replyCount, firstReplySummaries }) => ({
      ...row,
      reply_count: replyCount,
      replies: firstReplySummaries.flatMap(({ comment_id }) => repliesById.get(comment_id) ?? []),
    }));
  }
}

/** Loads the summaries of the replies to comments. Returns undefined if there are too many replies for one batch. */
async function loadThreads(
  view: AccountView,
  rows: readonly CommentRow[],
): Promise<readonly CommentThread[] | undefined> {
  const replySummaries = await loadReplySummaries(view, rows);
  if (rows.length > 1 && replySummaries.length > MAX_REPLIES_PER_QUERY) return undefined;
  const summariesByParent = Map.groupBy(replySummaries, ({ parent_id }) => parent_id);
  return rows.map((row) => {
    const summariesOfComment = summariesByParent.get(row.comment_id) ?? [];
    const firstSummaries = summariesOfComment.slice(0, MAX_LISTED_REPLIES);
    return {
      row,
      replyCount: summariesOfComment.length,
      firstReplySummaries: firstSummaries,
      size: firstSummaries.reduce((sum, { size }) => sum + size, 0),
    };
  });
}

/**
 * Loads the summaries of the replies to these comments, sorted by id. For several comments, the query has a row limit:
 * one more than MAX_REPLIES_PER_QUERY, to detect a batch that is too large.
 */
async function loadReplySummaries(view: AccountView, rows: readonly CommentRow[]): Promise<readonly ReplySummary[]> {
  if (rows.length === 0) return [];
  const commentIds = rows.map(({ comment_id }) => comment_id);
  const query = view
    .selectFrom('comments')
    .where('comments.parent_id', 'in', commentIds)
    .select(['comments.comment_id', 'comments.parent_id', totalByteLengthSql(['comments.comment']).as('size')]);
  const replySummaries = await (rows.length > 1 ? query.limit(MAX_REPLIES_PER_QUERY + 1) : query).execute();
  return replySummaries.sort((one, other) => one.comment_id - other.comment_id);
}

export const commentRoutes = createResourceRoutes(comments, {
  list: 'Lists comments, each with its first replies.',
  create: 'Creates a comment on a project, task or subtask, or a reply to a comment.',
  get: 'Returns a comment.',
  remove: 'Deletes a comment with its replies.',
});
