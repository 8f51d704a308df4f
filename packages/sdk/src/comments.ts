// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type { DateText, Id, IdOrNone, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { type CreatesUnder, createsUnder, type Deletes, deletes, type Gets, gets } from './resource.ts';
import type { Send } from './transport.ts';

/** A comment as returned by the API. C39. */
export type Comment = {
  /** Identifier of the comment. */
  readonly comment_id: string;
  /** What is said. */
  readonly comment: string;
  /** The comment that it replies to, which is no reply itself. "0" for none. */
  readonly parent_id: string;
  /** The project that it is about. */
  readonly project_id: string;
  /** The task of it. "0" for none. */
  readonly task_id: string;
  /** The subtask of that task. "0" for none. */
  readonly subtask_id: string;
  /** Always null: there are no files. */
  readonly filepath: null;
  /** Always null: there are no files. */
  readonly filename: null;
  /** Always "0": it is a comment, and no note. */
  readonly note: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** Who created it. Only admins may name another user than themselves. "0" for none. */
  readonly user_id: string;
};

/** A comment as returned in lists. */
export type ListedComment = Comment & {
  /** How many replies it has. */
  readonly reply_count: string;
  /** The first 50 replies to it, by id. The list with its id as parent_id has all of them. */
  readonly replies: readonly Comment[];
};

/** Input to create a comment. C39. */
export type CommentInput = {
  /** What is said. */
  readonly comment: string;
} & Optional<{
  /** The comment that it replies to, which is no reply itself. "0" for none. */
  readonly parent_id: IdOrNone;
  /** The task of it. "0" for none. */
  readonly task_id: IdOrNone;
  /** The subtask of that task. "0" for none. */
  readonly subtask_id: IdOrNone;
  /** Who created it. Only admins may name another user than themselves. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Filters of the list of comments, combined with AND. C39. */
export type CommentFilters = Window &
  Optional<{
    /** About this project, its tasks and subtasks. */
    readonly project_id: Id;
    /** About this task and its subtasks. */
    readonly task_id: Id;
    /** About this subtask. */
    readonly subtask_id: Id;
    /** Replies to this comment. Left out: comments that are no replies. */
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
