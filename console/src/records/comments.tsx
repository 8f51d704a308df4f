import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Comment, ListedComment, Task } from '../../../packages/sdk/src/resources.ts';
import { client } from '../app/client.ts';
import { listFullPage } from '../app/full-page-navigation.ts';
import { fieldError } from '../app/optimistic-update.ts';
import { hrefTo } from '../app/router.ts';
import { collectAll, useQuery } from '../app/use-query.ts';
import { displayNameOf } from '../app/user-name.ts';
import { Initials, LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Select, TextArea } from '../components/field.tsx';
import { Timestamp } from '../components/timestamp.tsx';
import { type Deletable, dependentsSubject, formatCount, toCreateInput, useDelete } from './delete-with-undo.tsx';
import { useRecords } from './records.ts';

/** A comment, with the number of its replies, or a reply to a comment. */
type CommentOrReply = Comment & Partial<Pick<ListedComment, 'reply_count'>>;

const MAX_NAME_LENGTH = 40;

const comments: Deletable<CommentOrReply> = {
  resource: client.comments,
  idOf: ({ comment_id }) => comment_id,
  nameOf: ({ comment }) => (comment.length > MAX_NAME_LENGTH ? `${comment.slice(0, MAX_NAME_LENGTH)}…` : comment),
  async findWarning({ reply_count = '0' }) {
    const replies = Number(reply_count);
    if (replies === 0) return undefined;
    const text = `${dependentsSubject(replies, 'reply')} ${replies === 1 ? 'goes' : 'go'} with it. This cannot be taken back.`;
    return { confirmLabel: `Delete with ${formatCount(replies, 'reply')}`, text };
  },
  recreate: (comment) => client.comments.create(comment.project_id, toCreateInput(comment)),
};

/** Props of a comment section. Its subject is a project, or `task` if set. */
type CommentsProps = {
  readonly projectId: string;
  readonly task?: Task;
  readonly name: string;
  /** Incremented when tasks or subtasks were added or deleted, so that the comments are reloaded. */
  readonly reloads?: number;
};

/** Loads the names, by id, of the parts that a comment can be on: the tasks of a project or the subtasks of a task. */
async function loadPartNames(
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

/** Section with the comments on a project or task and its parts, their replies, and a form for a new comment. */
export function Comments({ projectId: project_id, task, name, reloads = 0 }: CommentsProps) {
  const filter = task === undefined ? { project_id } : { task_id: task.task_id };
  const records = useRecords(
    (signal) => listFullPage(client.comments, filter, signal),
    [filter, project_id, reloads],
    comments.idOf,
  );
  const parts =
    useQuery((signal) => loadPartNames(project_id, task, signal), [filter, reloads]).data ?? new Map<string, string>();
  const [chosen, setChosen] = useState('0');
  // Fall back to '0', the task itself, if the chosen subtask was deleted in the meantime.
  const part = parts.has(chosen) ? chosen : '0';
  const users = useQuery(async (signal) => (await client.users.list({}, { signal })).data, []);
  const [replyingTo, setReplyingTo] = useState<string>();
  /** Ids of comments whose replies are expanded. */
  const [expandedIds, setExpandedIds] = useState<readonly string[]>([]);
  const expandReplies = (commentId: string) => setExpandedIds((before) => [...before, commentId]);
  const deleting = useDelete(comments, { onGone: records.reload, onBack: records.reload });
  const nameOfUser = (userId: string) => {
    const user = users.data?.find(({ user_id }) => user_id === userId);
    return user === undefined ? 'Somebody' : displayNameOf(user);
  };
  const createComment = async (comment: string, on: { parent_id: string } | { subtask_id: string }) => {
    await client.comments.create(project_id, { comment, task_id: task?.task_id, ...on });
    setReplyingTo(undefined);
    // A new reply is listed last: expand the replies, so that it is visible.
    if ('parent_id' in on) expandReplies(on.parent_id);
    records.reload();
  };
  const renderComment = (comment: CommentOrReply, on?: ComponentChildren) => (
    <CommentView comment={comment} by={nameOfUser(comment.user_id)} on={on} onDelete={() => deleting.begin(comment)} />
  );
  /** Renders the task or subtask that a comment is on. */
  const renderPart = ({ task_id, subtask_id }: CommentOrReply) => {
    if (task !== undefined) return parts.get(subtask_id);
    return task_id !== '0' && <a href={hrefTo('tasks', task_id)}>{parts.get(task_id) ?? 'a task'}</a>;
  };
  return (
    <section class="card padded stack" aria-label="Comments">
      <h2>Comments</h2>
      {records.fault !== undefined && <Note tone="bad">{records.fault}</Note>}
      {records.rows === undefined && records.fault === undefined && <LoadingSkeleton lines={2} />}
      <ul class="comments" aria-label={`Comments on ${name}`}>
        {records.rows?.map((thread) => (
          <li key={thread.comment_id}>
            {renderComment(thread, renderPart(thread))}
            <Replies
              thread={thread}
              isWhole={expandedIds.includes(thread.comment_id)}
              renderComment={renderComment}
              onOpen={() => expandReplies(thread.comment_id)}
            />
            {replyingTo === thread.comment_id ? (
              <CommentForm
                label="Reply"
                onSubmit={(text) => createComment(text, { parent_id: thread.comment_id })}
                onCancel={() => setReplyingTo(undefined)}
              />
            ) : (
              <Button variant="quiet" onClick={() => setReplyingTo(thread.comment_id)}>
                Reply
              </Button>
            )}
          </li>
        ))}
      </ul>
      <CommentForm label="Comment" onSubmit={(text) => createComment(text, { subtask_id: part })}>
        {task !== undefined && parts.size > 0 && (
          <Select
            label="About"
            value={part}
            options={[{ value: '0', text: name }, ...[...parts].map(([value, text]) => ({ value, text }))]}
            onChange={setChosen}
          />
        )}
      </CommentForm>
      {deleting.question}
    </section>
  );
}

type RepliesProps = {
  readonly thread: ListedComment;
  /** Whether all replies are shown, not only those that the list of comments includes. */
  readonly isWhole: boolean;
  readonly renderComment: (reply: Comment) => ComponentChildren;
  readonly onOpen: () => void;
};

/** Replies to a comment. The list of comments includes the first replies; expanding loads the rest. */
function Replies({ thread, isWhole, renderComment, onOpen }: RepliesProps) {
  const { comment_id, reply_count, replies } = thread;
  const hasMore = Number(reply_count) > replies.length;
  const rest = useQuery<readonly Comment[]>(
    async (signal) =>
      isWhole && hasMore
        ? collectAll(client.comments.each({ parent_id: comment_id, offset: replies.length }, { signal }))
        : [],
    [comment_id, isWhole, reply_count, replies.length],
  );
  return (
    <>
      <ul>
        {[...replies, ...(hasMore ? (rest.data ?? []) : [])].map((reply) => (
          <li key={reply.comment_id}>{renderComment(reply)}</li>
        ))}
      </ul>
      {rest.fault !== undefined && <Note tone="bad">{rest.fault}</Note>}
      {hasMore && !isWhole && (
        <Button variant="quiet" onClick={onOpen}>
          Show all {reply_count} replies
        </Button>
      )}
    </>
  );
}

type CommentProps = {
  readonly comment: CommentOrReply;
  readonly by: string;
  readonly onDelete: () => void;
  /** The task or subtask that the comment is on. */
  readonly on: ComponentChildren;
};

function CommentView({ comment, by, on, onDelete }: CommentProps) {
  return (
    <article class="saying">
      <Initials name={by} />
      <div class="grow">
        <p class="row">
          <strong>{by}</strong>
          <span class="small soft">
            <Timestamp at={comment.date_created} />
          </span>
          {on && <span class="small soft">on {on}</span>}
        </p>
        <p class="said">{comment.comment}</p>
      </div>
      <Button variant="quiet" icon="trash" label={`Delete “${comments.nameOf(comment)}”`} onClick={onDelete} />
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
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    if (text.trim() === '') return setFault('Write something first.');
    setBusy(true);
    try {
      await onSubmit(text);
      setText('');
      setFault(undefined);
    } catch (error) {
      setFault(fieldError(error, 'It'));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="stack" onSubmit={send}>
      <TextArea
        label={label}
        rows={2}
        value={text}
        fault={fault}
        onInput={(written) => {
          setText(written);
          setFault(undefined);
        }}
        onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && void send(event)}
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
