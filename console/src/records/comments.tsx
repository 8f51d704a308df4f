import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Comment, ListedComment, Task } from '../../../packages/sdk/src/resources.ts';
import { client } from '../app/client.ts';
import { listFullPage } from '../app/full-page-navigation.ts';
import { describeFieldError } from '../app/optimistic-update.ts';
import { hrefTo } from '../app/router.ts';
import { displayNameOf } from '../app/session.ts';
import { collectAll, useQuery } from '../app/use-query.ts';
import { InitialsAvatar, LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Select, TextArea } from '../components/field.tsx';
import { RelativeTime } from '../components/timestamp.tsx';
import {
  type DeletableResource,
  formatCountWithNoun,
  formatDependentsSubject,
  toCreateInput,
  useDelete,
} from './delete-with-undo.tsx';
import { useRecords } from './records.ts';

/** A comment, or a reply to a comment. Only a comment has a number of replies. */
type CommentOrReply = Comment & Partial<Pick<ListedComment, 'reply_count'>>;

const MAX_EXCERPT_LENGTH = 40;

const commentResource: DeletableResource<CommentOrReply> = {
  resource: client.comments,
  idOf: ({ comment_id }) => comment_id,
  nameOf: ({ comment }) => (comment.length > MAX_EXCERPT_LENGTH ? `${comment.slice(0, MAX_EXCERPT_LENGTH)}…` : comment),
  async findDeleteWarning({ reply_count = '0' }) {
    const replyCount = Number(reply_count);
    if (replyCount === 0) return undefined;
    const warningText = `${formatDependentsSubject(replyCount, 'reply')} ${replyCount === 1 ? 'goes' : 'go'} with it. This cannot be taken back.`;
    return { confirmLabel: `Delete with ${formatCountWithNoun(replyCount, 'reply')}`, text: warningText };
  },
  recreate: (comment) => client.comments.create(comment.project_id, toCreateInput(comment)),
};

/** Props of the comment section of a task, or of a project if `task` is undefined. */
type CommentsProps = {
  readonly projectId: string;
  readonly task?: Task;
  /** Name of the task or project whose comments are shown. */
  readonly subjectName: string;
  /** The parent component increments this counter to reload the comments, after tasks or subtasks have changed. */
  readonly reloadCount?: number;
};

/** Loads the names, by id, of the tasks of a project or the subtasks of a task. */
async function loadChildNames(
  projectId: string,
  task: Task | undefined,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  if (task === undefined) {
    const { data } = await listFullPage(client.tasks, { project_id: projectId }, signal);
    return new Map(data.map(({ task_id, task_name }) => [task_id, task_name]));
  }
  const { data } = await listFullPage(client.subtasks, { task_id: task.task_id }, signal);
  return new Map(data.map(({ subtask_id, subtask_name }) => [subtask_id, subtask_name]));
}

/** Section with the comments on a project and its tasks, or on a task and its subtasks, and a form for a new one. */
export function Comments({ projectId: project_id, task, subjectName, reloadCount = 0 }: CommentsProps) {
  const commentFilter = task === undefined ? { project_id } : { task_id: task.task_id };
  const records = useRecords(
    (signal) => listFullPage(client.comments, commentFilter, signal),
    [commentFilter, project_id, reloadCount],
    commentResource.idOf,
  );
  const childNames =
    useQuery((signal) => loadChildNames(project_id, task, signal), [commentFilter, reloadCount]).data ??
    new Map<string, string>();
  const [chosenChildId, setChosenChildId] = useState('0');
  // '0' stands for the task itself. Fall back to the task if the chosen subtask was deleted in the meantime.
  const newCommentChildId = childNames.has(chosenChildId) ? chosenChildId : '0';
  const usersQuery = useQuery(async (signal) => (await client.users.list({}, { signal })).data, []);
  const [replyParentId, setReplyParentId] = useState<string>();
  /** Ids of comments whose replies are expanded. */
  const [expandedCommentIds, setExpandedCommentIds] = useState<readonly string[]>([]);
  const expandReplies = (commentId: string) => setExpandedCommentIds((previousIds) => [...previousIds, commentId]);
  const deletion = useDelete(commentResource, { onDeleted: records.reload, onRestored: records.reload });
  const userNameOf = (userId: string) => {
    const user = usersQuery.data?.find(({ user_id }) => user_id === userId);
    return user === undefined ? 'Somebody' : displayNameOf(user);
  };
  const createComment = async (comment: string, parentFields: { parent_id: string } | { subtask_id: string }) => {
    await client.comments.create(project_id, { comment, task_id: task?.task_id, ...parentFields });
    setReplyParentId(undefined);
    // A new reply is listed last: expand the replies, so that it is visible.
    if ('parent_id' in parentFields) expandReplies(parentFields.parent_id);
    records.reload();
  };
  const renderComment = (comment: CommentOrReply, subject?: ComponentChildren) => (
    <CommentView
      comment={comment}
      authorName={userNameOf(comment.user_id)}
      subject={subject}
      onDelete={() => deletion.startDelete(comment)}
    />
  );
  /** Renders the task or subtask that a comment is on. */
  const renderCommentedChild = ({ task_id, subtask_id }: CommentOrReply) => {
    if (task !== undefined) return childNames.get(subtask_id);
    return task_id !== '0' && <a href={hrefTo('tasks', task_id)}>{childNames.get(task_id) ?? 'a task'}</a>;
  };
  return (
    <section class="card padded stack" aria-label="Comments">
      <h2>Comments</h2>
      {records.errorText !== undefined && <Note tone="bad">{records.errorText}</Note>}
      {records.rows === undefined && records.errorText === undefined && <LoadingSkeleton lineCount={2} />}
      <ul class="comments" aria-label={`Comments on ${subjectName}`}>
        {records.rows?.map((parentComment) => (
          <li key={parentComment.comment_id}>
            {renderComment(parentComment, renderCommentedChild(parentComment))}
            <Replies
              parentComment={parentComment}
              isExpanded={expandedCommentIds.includes(parentComment.comment_id)}
              renderComment={renderComment}
              onExpand={() => expandReplies(parentComment.comment_id)}
            />
            {replyParentId === parentComment.comment_id ? (
              <CommentForm
                label="Reply"
                onSubmit={(text) => createComment(text, { parent_id: parentComment.comment_id })}
                onCancel={() => setReplyParentId(undefined)}
              />
            ) : (
              <Button variant="quiet" onClick={() => setReplyParentId(parentComment.comment_id)}>
                Reply
              </Button>
            )}
          </li>
        ))}
      </ul>
      <CommentForm label="Comment" onSubmit={(text) => createComment(text, { subtask_id: newCommentChildId })}>
        {task !== undefined && childNames.size > 0 && (
          <Select
            label="About"
            value={newCommentChildId}
            options={[{ value: '0', text: subjectName }, ...[...childNames].map(([value, text]) => ({ value, text }))]}
            onChange={setChosenChildId}
          />
        )}
      </CommentForm>
      {deletion.confirmDialog}
    </section>
  );
}

type RepliesProps = {
  readonly parentComment: ListedComment;
  /** Whether all replies are shown; otherwise only those that the list of comments includes. */
  readonly isExpanded: boolean;
  readonly renderComment: (reply: Comment) => ComponentChildren;
  readonly onExpand: () => void;
};

/** Replies to a comment. The list of comments includes the first replies; expanding loads the remaining replies. */
function Replies({ parentComment, isExpanded, renderComment, onExpand }: RepliesProps) {
  const { comment_id, reply_count, replies } = parentComment;
  const hasMoreReplies = Number(reply_count) > replies.length;
  const remainingRepliesQuery = useQuery<readonly Comment[]>(
    async (signal) =>
      isExpanded && hasMoreReplies
        ? collectAll(client.comments.each({ parent_id: comment_id, offset: replies.length }, { signal }))
        : [],
    [comment_id, isExpanded, reply_count, replies.length],
  );
  return (
    <>
      <ul>
        {[...replies, ...(hasMoreReplies ? (remainingRepliesQuery.data ?? []) : [])].map((reply) => (
          <li key={reply.comment_id}>{renderComment(reply)}</li>
        ))}
      </ul>
      {remainingRepliesQuery.errorText !== undefined && <Note tone="bad">{remainingRepliesQuery.errorText}</Note>}
      {hasMoreReplies && !isExpanded && (
        <Button variant="quiet" onClick={onExpand}>
          Show all {reply_count} replies
        </Button>
      )}
    </>
  );
}

type CommentViewProps = {
  readonly comment: CommentOrReply;
  readonly authorName: string;
  readonly onDelete: () => void;
  /** The task or subtask that the comment is on. */
  readonly subject: ComponentChildren;
};

function CommentView({ comment, authorName, subject, onDelete }: CommentViewProps) {
  return (
    <article class="saying">
      <InitialsAvatar name={authorName} />
      <div class="grow">
        <p class="row">
          <strong>{authorName}</strong>
          <span class="small soft">
            <RelativeTime timestamp={comment.date_created} />
          </span>
          {subject && <span class="small soft">on {subject}</span>}
        </p>
        <p class="said">{comment.comment}</p>
      </div>
      <Button variant="quiet" icon="trash" label={`Delete “${commentResource.nameOf(comment)}”`} onClick={onDelete} />
    </article>
  );
}

type CommentFormProps = {
  readonly label: string;
  readonly onSubmit: (text: string) => Promise<void>;
  readonly onCancel?: () => void;
  /** Additional fields of the form. */
  readonly children?: ComponentChildren;
};

/** Form for a comment or reply; Ctrl+Enter sends it. */
function CommentForm({ label, onSubmit, onCancel, children }: CommentFormProps) {
  const [text, setText] = useState('');
  const [errorText, setErrorText] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submitComment = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    if (text.trim() === '') return setErrorText('Write something first.');
    setBusy(true);
    try {
      await onSubmit(text);
      setText('');
      setErrorText(undefined);
    } catch (error) {
      setErrorText(describeFieldError(error, 'It'));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="stack" onSubmit={submitComment}>
      <TextArea
        label={label}
        rows={2}
        value={text}
        errorText={errorText}
        onInput={(newText) => {
          setText(newText);
          setErrorText(undefined);
        }}
        onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && void submitComment(event)}
      />
      {children}
      <div class="ends">
        {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
        <Button type="submit" variant={onCancel === undefined ? 'plain' : 'primary'}>
          {onCancel === undefined ? 'Add comment' : 'Send reply'}
        </Button>
      </div>
    </form>
  );
}
