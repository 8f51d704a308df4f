import { useState } from 'preact/hooks';
import type { Task, TaskChanges } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { hrefTo, navigate, type RecordProps } from '../../app/router.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/timestamp.tsx';
import { AssigneesButton } from '../../records/assignee-picker.tsx';
import { Comments } from '../../records/comments.tsx';
import { completeTask, reopenTask } from '../../records/complete-task.ts';
import { useDelete } from '../../records/delete-with-undo.tsx';
import { defineChoiceField, FieldList, InlineField } from '../../records/editable-fields.tsx';
import { RecordPage } from '../../records/record-loader.tsx';
import { useProjects } from '../../records/records.ts';
import { SubtaskList } from '../../records/subtasks.tsx';
import { taskFields, taskResource } from '../../records/task-fields.tsx';
import '../../records/records.css';

/** Page of one task: details, subtasks and comments. */
export default function TaskPage({ id }: RecordProps) {
  return (
    <RecordPage resource={client.tasks} id={id} loadingTitle="Task" listScreenName="tasks">
      {(task, onChange) => <TaskDetails task={task} onChange={onChange} />}
    </RecordPage>
  );
}

function TaskDetails({ task, onChange }: { readonly task: Task; readonly onChange: (task: Task) => void }) {
  const [subtaskReloadCount, setSubtaskReloadCount] = useState(0);
  const [subtaskChangeCount, setSubtaskChangeCount] = useState(0);
  const projectsQuery = useProjects();
  const deletion = useDelete(taskResource, {
    onDeleted: () => navigate(hrefTo('projects', task.project_id)),
    onRestored: ({ task_id }) => navigate(hrefTo('tasks', task_id)),
  });
  const isCompleted = task.completed === '1';
  const callbacks = { showTask: onChange, reloadSubtasks: () => setSubtaskReloadCount((count) => count + 1) };
  const fieldProps = { editableResource: taskResource, record: task, onChange };
  const { task_id, project_id, project_name } = task;
  const projectOptions = (projectsQuery.data ?? []).map((project) => ({
    value: project.project_id,
    text: project.project_name,
  }));
  const isProjectListed = projectOptions.some(({ value }) => value === project_id);
  const projectField = defineChoiceField<Task, TaskChanges>(
    'project_id',
    'Project',
    isProjectListed ? projectOptions : [{ value: project_id, text: project_name }, ...projectOptions],
  );
  const {
    name,
    start,
    due,
    recurring,
    progress,
    state,
    important,
    archived,
    estimatedHours,
    tags,
    description,
    notes,
  } = taskFields;
  return (
    <Page
      title={task.task_name}
      intro={
        <>
          Task in <a href={hrefTo('projects', project_id)}>{project_name}</a>{' '}
          {isCompleted && <Badge tone="good">completed</Badge>}
        </>
      }
      actions={
        <>
          <Button
            variant={isCompleted ? 'plain' : 'primary'}
            icon={isCompleted ? 'undo' : 'check'}
            onClick={() => void (isCompleted ? reopenTask(task, [], callbacks) : completeTask(task, callbacks))}
          >
            {isCompleted ? 'Open again' : 'Complete'}
          </Button>
          <Button variant="danger" icon="trash" label="Delete" onClick={() => deletion.startDelete(task)} />
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
            <SubtaskList
              task={task}
              reloadCount={subtaskReloadCount}
              onCountChange={() => setSubtaskChangeCount((count) => count + 1)}
            />
          </section>
          <section class="card padded stack words" aria-label="Words">
            <h2>Description</h2>
            <InlineField {...fieldProps} field={description} />
            <h2>Notes</h2>
            <InlineField {...fieldProps} field={notes} />
          </section>
          <Comments projectId={project_id} task={task} subjectName={task.task_name} reloadCount={subtaskChangeCount} />
        </div>
        <section class="card padded" aria-label="Details">
          <FieldList {...fieldProps} fields={[name, projectField, start, due, recurring, progress]}>
            <div>
              <dt>Assigned</dt>
              <dd>
                <AssigneesButton {...fieldProps} />
              </dd>
            </div>
          </FieldList>
          <FieldList {...fieldProps} fields={[state, important, archived, estimatedHours, tags]}>
            <div>
              <dt>Completed</dt>
              <dd>
                <RelativeTime timestamp={task.date_completed} neverText="not yet" />
              </dd>
            </div>
            <div>
              <dt>Created</dt>
              <dd>
                <RelativeTime timestamp={task.date_created} />
              </dd>
            </div>
          </FieldList>
        </section>
      </div>
      {deletion.confirmDialog}
    </Page>
  );
}
