import { fixed, key, referenceOrNone, shownId, shownNumber, shownRecords, text } from '../../http/fields.ts';
import { idFilter } from '../filters.ts';
import { stamps } from '../stamps.ts';

/** A comment on a project, or on a task or subtask of it (C39). */
export const commentFields = {
  comment_id: key('Identifier of the comment.'),
  comment: text({ says: 'What is said.', least: 1, most: 20_000 }),
  parent_id: referenceOrNone('The comment that it replies to, which is no reply itself.'),
  project_id: shownId('The project that it is about.'),
  task_id: referenceOrNone('The task of it.'),
  subtask_id: referenceOrNone('The subtask of that task.'),
  filepath: fixed('Always null: there are no files.', null),
  filename: fixed('Always null: there are no files.', null),
  note: fixed('Always "0": it is a comment, and no note.', '0'),
  ...stamps,
};

/**
 * Replies that a comment has in a list. With so many of the longest, a comment is smaller than the largest page.
 */
export const REPLIES_IN_LISTS = 50;

/** What a list shows of each comment. */
export const threadFields = {
  ...commentFields,
  reply_count: shownNumber('How many replies it has.'),
  replies: shownRecords(
    `The first ${REPLIES_IN_LISTS} replies to it, by id. The list with its id as parent_id has all of them.`,
    commentFields,
  ),
};

export const commentFilters = {
  project_id: idFilter('About this project, its tasks and subtasks.', 'comments.project_id'),
  task_id: idFilter('About this task and its subtasks.', 'comments.task_id'),
  subtask_id: idFilter('About this subtask.', 'comments.subtask_id'),
  parent_id: idFilter('Replies to this comment. Left out: comments that are no replies.', 'comments.parent_id'),
};
