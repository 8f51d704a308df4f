// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type { DateText, Id, IdOrNone, Optional, Window } from './api-types.ts';
import {
  type CreatesUnder,
  createsUnder,
  type Deletes,
  deletes,
  type Gets,
  gets,
  type Lists,
  lists,
} from './resource.ts';
import type { Send } from './transport.ts';

/** A comment as returned by the API. C39. */
export type Comment = {
  /** Identifier of the comment. */
  readonly comment_id: string;
  /** The text. */
  readonly comment: string;
  /** The comment that it replies to, which must not be a reply itself. "0" for none. */
  readonly parent_id: string;
  /** The project of the comment. */
  readonly project_id: string;
  /** The task of the comment. "0" for none. */
  readonly task_id: string;
  /** The subtask of that task. "0" for none. */
  readonly subtask_id: string;
  /** Always null: there are no files. */
  readonly filepath: null;
  /** Always null: there are no files. */
  readonly filename: null;
  /** Always "0": it is a comment, not a note. */
  readonly note: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
};

/** A comment as returned in lists. */
export type ListedComment = Comment & {
  /** Number of replies. */
  readonly reply_count: string;
  /** The first 50 replies, by id. Filter the list by parent_id to get all. */
  readonly replies: readonly Comment[];
};

/** Input to create a comment. C39. */
export type CommentInput = {
  /** The text. */
  readonly comment: string;
} & Optional<{
  /** The comment that it replies to, which must not be a reply itself. "0" for none. */
  readonly parent_id: IdOrNone;
  /** The task of the comment. "0" for none. */
  readonly task_id: IdOrNone;
  /** The subtask of that task. "0" for none. */
  readonly subtask_id: IdOrNone;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Filters of the list of comments, combined with AND. C39. */
export type CommentFilters = Window &
  Optional<{
    /** On this project, its tasks and subtasks. */
    readonly project_id: Id;
    /** On this task and its subtasks. */
    readonly task_id: Id;
    /** On this subtask. */
    readonly subtask_id: Id;
    /** Replies to this comment. Default: comments that are not replies. */
    readonly parent_id: Id;
  }>;

/** Methods for comments; the first argument of `create` is the id of the parent. C39. */
export type Comments = Lists<ListedComment, CommentFilters> &
  Gets<Comment> &
  Deletes &
  CreatesUnder<Comment, CommentInput>;

/** Methods for comments at `/comments`. */
export function comments(send: Send): Comments {
  return {
    ...lists<ListedComment, CommentFilters>(send, 'comments', 'comment_id'),
    ...gets<Comment>(send, 'comments'),
    ...deletes(send, 'comments'),
    ...createsUnder<Comment, CommentInput>(send, 'comments'),
  };
}
