import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Comment, ListedComment } from '../../../packages/sdk/src/comments.ts';
import type { Task } from '../../../packages/sdk/src/tasks.ts';
import { client } from '../app/client.ts';
import { wholePage } from '../app/full-page-navigation.ts';
import { faultIn } from '../app/optimistic-update.ts';
import { to } from '../app/router.ts';
import { all, useLoaded } from '../app/use-query.ts';
import { nameOf } from '../app/user-name.ts';
import { Initials, Note, Waiting } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Select, TextArea } from '../components/field.tsx';
import { Moment } from '../components/timestamp.tsx';
import { counted, type Deletable, inputOf, theirs, useDelete } from './delete-with-undo.tsx';
import { useRecords } from './records.ts';

/** A comment, and how many replies it has; a reply has none. */
type Said = Comment & Partial<Pick<ListedComment, 'reply_count'>>;

const SHORT = 40;

const comments: Deletable<Said> = {
  noun: client.comments,
  idOf: ({ comment_id }) => comment_id,
  nameOf: ({ comment }) => (comment.length > SHORT ? `${comment.slice(0, SHORT)}…` : comment),
  async consequence({ reply_count = '0' }) {
    const replies = Number(reply_count);
    if (replies === 0) return undefined;
    const text = `${theirs(replies, 'reply')} ${replies === 1 ? 'goes' : 'go'} with it. This cannot be taken back.`;
    return { yes: `Delete with ${counted(replies, 'reply')}`, text };
  },
  again: (said) => client.comments.create(said.project_id, inputOf(said)),
};

/** What is talked about: a project, or one of its tasks. */
type CommentsProps = {
  readonly projectId: string;
  readonly task?: Task;
  readonly name: string;
  /** Raised when there is more, or less, within it. */
  readonly turn?: number;
};

/** Within what is talked about there is something that a comment can be on: in a project a task, in a task a subtask. */
async function partsOf(projectId: string, task: Task | undefined, signal: AbortSignal): Promise<Map<string, string>> {
  if (task === undefined) {
    const { data } = await wholePage(client.tasks, { project_id: projectId }, signal);
    return new Map(data.map(({ task_id, task_name }) => [task_id, task_name]));
  }
  const { data } = await wholePage(client.subtasks, { task_id: task.task_id }, signal);
  return new Map(data.map(({ subtask_id, subtask_name }) => [subtask_id, subtask_name]));
}

/** What is said about a project or task and all within it: each comment with its replies, and one more at the end. */
export function Comments({ projectId: project_id, task, name, turn = 0 }: CommentsProps) {
  const about = task === undefined ? { project_id } : { task_id: task.task_id };
  const records = useRecords(
    (signal) => wholePage(client.comments, about, signal),
    [about, project_id, turn],
    comments.idOf,
  );
  const parts =
    useLoaded((signal) => partsOf(project_id, task, signal), [about, turn]).data ?? new Map<string, string>();
  const [chosen, setChosen] = useState('0');
  // What was chosen may be gone meanwhile.
  const part = parts.has(chosen) ? chosen : '0';
  const everybody = useLoaded(async (signal) => (await client.users.list({}, { signal })).data, []);
  const [answering, setAnswering] = useState<string>();
  /** The comments whose replies are all shown. */
  const [opened, setOpened] = useState<readonly string[]>([]);
  const open = (commentId: string) => setOpened((before) => [...before, commentId]);
  const deleting = useDelete(comments, { onGone: records.reload, onBack: records.reload });
  const nameOfUser = (userId: string) => {
    const user = everybody.data?.find(({ user_id }) => user_id === userId);
    return user === undefined ? 'Somebody' : nameOf(user);
  };
  const say = async (comment: string, on: { parent_id: string } | { subtask_id: string }) => {
    await client.comments.create(project_id, { comment, task_id: task?.task_id, ...on });
    setAnswering(undefined);
    // A new reply is the last one.
    if ('parent_id' in on) open(on.parent_id);
    records.reload();
  };
  const shown = (said: Said, on?: ComponentChildren) => (
    <Saying said={said} by={nameOfUser(said.user_id)} on={on} onDelete={() => deleting.begin(said)} />
  );
  /** Which part of what is talked about a comment is on; its replies are, too. */
  const partIn = ({ task_id, subtask_id }: Said) => {
    if (task !== undefined) return parts.get(subtask_id);
    return task_id !== '0' && <a href={to('tasks', task_id)}>{parts.get(task_id) ?? 'a task'}</a>;
  };
  return (
    <section class="card padded stack" aria-label="Comments">
      <h2>Comments</h2>
      {records.fault !== undefined && <Note tone="bad">{records.fault}</Note>}
      {records.rows === undefined && records.fault === undefined && <Waiting lines={2} />}
      <ul class="comments" aria-label={`Comments on ${name}`}>
        {records.rows?.map((thread) => (
          <li key={thread.comment_id}>
            {shown(thread, partIn(thread))}
            <Replies
              thread={thread}
              isWhole={opened.includes(thread.comment_id)}
              shown={shown}
              onOpen={() => open(thread.comment_id)}
            />
            {answering === thread.comment_id ? (
              <Say
                label="Reply"
                onSay={(text) => say(text, { parent_id: thread.comment_id })}
                onCancel={() => setAnswering(undefined)}
              />
            ) : (
              <Button look="quiet" onClick={() => setAnswering(thread.comment_id)}>
                Reply
              </Button>
            )}
          </li>
        ))}
      </ul>
      <Say label="Comment" onSay={(text) => say(text, { subtask_id: part })}>
        {task !== undefined && parts.size > 0 && (
          <Select
            label="About"
            value={part}
            options={[{ value: '0', text: name }, ...[...parts].map(([value, text]) => ({ value, text }))]}
            onChange={setChosen}
          />
        )}
      </Say>
      {deleting.question}
    </section>
  );
}

type RepliesProps = {
  readonly thread: ListedComment;
  /** All of them, not only those that the list has. */
  readonly isWhole: boolean;
  readonly shown: (reply: Comment) => ComponentChildren;
  readonly onOpen: () => void;
};

/** The replies to a comment: the first ones, which come with it, or all of them. */
function Replies({ thread, isWhole, shown, onOpen }: RepliesProps) {
  const { comment_id, reply_count, replies } = thread;
  const isMore = Number(reply_count) > replies.length;
  const rest = useLoaded<readonly Comment[]>(
    async (signal) =>
      isWhole && isMore ? all(client.comments.each({ parent_id: comment_id, offset: replies.length }, { signal })) : [],
    [comment_id, isWhole, reply_count, replies.length],
  );
  return (
    <>
      <ul>
        {[...replies, ...(isMore ? (rest.data ?? []) : [])].map((reply) => (
          <li key={reply.comment_id}>{shown(reply)}</li>
        ))}
      </ul>
      {rest.fault !== undefined && <Note tone="bad">{rest.fault}</Note>}
      {isMore && !isWhole && (
        <Button look="quiet" onClick={onOpen}>
          Show all {reply_count} replies
        </Button>
      )}
    </>
  );
}

type SayingProps = {
  readonly said: Said;
  readonly by: string;
  readonly onDelete: () => void;
  /** What within the subject it is about. */
  readonly on: ComponentChildren;
};

function Saying({ said, by, on, onDelete }: SayingProps) {
  return (
    <article class="saying">
      <Initials name={by} />
      <div class="grow">
        <p class="row">
          <strong>{by}</strong>
          <span class="small soft">
            <Moment at={said.date_created} />
          </span>
          {on && <span class="small soft">on {on}</span>}
        </p>
        <p class="said">{said.comment}</p>
      </div>
      <Button look="quiet" icon="trash" label={`Delete “${comments.nameOf(said)}”`} onClick={onDelete} />
    </article>
  );
}

type SayProps = {
  readonly label: string;
  readonly onSay: (text: string) => Promise<void>;
  readonly onCancel?: () => void;
  /** What else is to be chosen. */
  readonly children?: ComponentChildren;
};

/** Something to say, by a button or Ctrl+Enter. */
function Say({ label, onSay, onCancel, children }: SayProps) {
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    if (text.trim() === '') return setFault('Write something first.');
    setBusy(true);
    try {
      await onSay(text);
      setText('');
      setFault(undefined);
    } catch (error) {
      setFault(faultIn(error, 'It'));
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
        <Button type="submit" look={onCancel === undefined ? 'plain' : 'primary'}>
          {onCancel === undefined ? 'Add comment' : 'Send reply'}
        </Button>
      </div>
    </form>
  );
}
