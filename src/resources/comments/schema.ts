import { fixed, key, referenceOrNone, shownId, shownRecords, text } from '../../http/fields.ts';
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

/** What a list shows: comments that are no replies, each with those to it. */
export const threadFields = {
  ...commentFields,
  replies: shownRecords('The replies to it, by id: at most 1000.', commentFields),
};

export const commentFilters = {
  project_id: idFilter('About this project, its tasks and subtasks.', 'comments.project_id'),
  task_id: idFilter('About this task and its subtasks.', 'comments.task_id'),
  subtask_id: idFilter('About this subtask.', 'comments.subtask_id'),
};
