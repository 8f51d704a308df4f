import { useState } from 'preact/hooks';
import type { Task, TaskChanges } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { hrefTo, navigate, type RecordProps } from '../../app/router.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Page } from '../../components/page.tsx';
import { Timestamp } from '../../components/timestamp.tsx';
import { AssigneesButton } from '../../records/assignee-picker.tsx';
import { Comments } from '../../records/comments.tsx';
import { completeTask, reopenTask } from '../../records/complete-task.ts';
import { useDelete } from '../../records/delete-with-undo.tsx';
import { choiceField, FieldList, InlineField } from '../../records/editable-fields.tsx';
import { RecordPage } from '../../records/record-loader.tsx';
import { useProjects } from '../../records/records.ts';
import { Subtasks } from '../../records/subtasks.tsx';
import { taskFields, tasks } from '../../records/task-fields.tsx';
import '../../records/records.css';

/** Page of one task: details, subtasks and comments. */
export default function TaskPage({ id }: RecordProps) {
  return (
    <RecordPage resource={client.tasks} id={id} title="Task" all="tasks">
      {(task, onChange) => <TaskDetails task={task} onChange={onChange} />}
    </RecordPage>
  );
}

function TaskDetails({ task, onChange }: { readonly task: Task; readonly onChange: (task: Task) => void }) {
  const [subtaskReloads, setSubtaskReloads] = useState(0);
  const [subtaskChanges, setSubtaskChanges] = useState(0);
  const projects = useProjects();
  const deleting = useDelete(tasks, {
    onGone: () => navigate(hrefTo('projects', task.project_id)),
    onBack: ({ task_id }) => navigate(hrefTo('tasks', task_id)),
  });
  const isDone = task.completed === '1';
  const callbacks = { task: onChange, subtasks: () => setSubtaskReloads((count) => count + 1) };
  const shared = { kept: tasks, record: task, onChange };
  const { task_id, project_id, project_name } = task;
  const projectOptions = (projects.data ?? []).map((one) => ({ value: one.project_id, text: one.project_name }));
  const isListed = projectOptions.some(({ value }) => value === project_id);
  const projectField = choiceField<Task, TaskChanges>(
    'project_id',
    'Project',
    isListed ? projectOptions : [{ value: project_id, text: project_name }, ...projectOptions],
  );
  const { name, start, due, recurring, progress, state, important, archived, hours, tags, description, notes } =
    taskFields;
  return (
    <Page
      title={task.task_name}
      lead={
        <>
          Task in <a href={hrefTo('projects', project_id)}>{project_name}</a>{' '}
          {isDone && <Badge tone="good">completed</Badge>}
        </>
      }
      actions={
        <>
          <Button
            variant={isDone ? 'plain' : 'primary'}
            icon={isDone ? 'undo' : 'check'}
            onClick={() => void (isDone ? reopenTask(task, [], callbacks) : completeTask(task, callbacks))}
          >
            {isDone ? 'Open again' : 'Complete'}
          </Button>
          <Button variant="danger" icon="trash" label="Delete" onClick={() => deleting.begin(task)} />
        </>
      }
      calls={[
        { description: 'Read this task', method: 'GET', path: `/tasks/${task_id}`, sdk: `tasks.get('${task_id}')` },
        {
          description: 'Complete it with its open subtasks',
          method: 'PUT',
          path: `/tasks/${task_id}`,
          body: { completed: 1 },
          sdk: `tasks.complete('${task_id}')`,
        },
        {
          description: 'List its subtasks',
          method: 'GET',
          path: `/subtasks?task_id=${task_id}`,
          sdk: `subtasks.list({ task_id: '${task_id}' })`,
        },
        {
          description: 'List what is said about it',
          method: 'GET',
          path: `/comments?task_id=${task_id}`,
          sdk: `comments.list({ task_id: '${task_id}' })`,
        },
      ]}
    >
      <div class="sides">
        <div class="stack">
          <section class="card" aria-label="Subtasks">
            <h2 class="card-head">Subtasks</h2>
            <Subtasks task={task} reloads={subtaskReloads} onCount={() => setSubtaskChanges((count) => count + 1)} />
          </section>
          <section class="card padded stack words" aria-label="Words">
            <h2>Description</h2>
            <InlineField {...shared} field={description} />
            <h2>Notes</h2>
            <InlineField {...shared} field={notes} />
          </section>
          <Comments projectId={project_id} task={task} name={task.task_name} reloads={subtaskChanges} />
        </div>
        <section class="card padded" aria-label="Details">
          <FieldList {...shared} fields={[name, projectField, start, due, recurring, progress]}>
            <div>
              <dt>Assigned</dt>
              <dd>
                <AssigneesButton {...shared} />
              </dd>
            </div>
          </FieldList>
          <FieldList {...shared} fields={[state, important, archived, hours, tags]}>
            <div>
              <dt>Completed</dt>
              <dd>
                <Timestamp at={task.date_completed} never="not yet" />
              </dd>
            </div>
            <div>
              <dt>Created</dt>
              <dd>
                <Timestamp at={task.date_created} />
              </dd>
            </div>
          </FieldList>
        </section>
      </div>
      {deleting.question}
    </Page>
  );
}
