import { useState } from 'preact/hooks';
import type { Project, Task, TaskFilters } from '../../../packages/sdk/src/resources.ts';
import { DUE_SOON_DAYS, plusDays, today } from '../app/calendar-dates.ts';
import { client } from '../app/client.ts';
import { listFullPage } from '../app/full-page-navigation.ts';
import { currentRoute, hrefTo, navigate, updateQueryParams } from '../app/router.ts';
import { Badge } from '../components/badge.tsx';
import { RadioGroup, Select } from '../components/field.tsx';
import { Menu } from '../components/menu.tsx';
import { EmptyState } from '../components/page.tsx';
import { AssigneesButton } from './assignee-picker.tsx';
import { completeTask, reopenTask } from './complete-task.ts';
import { useDelete } from './delete-with-undo.tsx';
import { InlineField } from './editable-fields.tsx';
import { FilterSelect, RecordList, readQueryOption, ScreenReaderText } from './record-list.tsx';
import { RECORDS_PER_PAGE, readPageOffset, useRecords } from './records.ts';
import { SubtaskList } from './subtasks.tsx';
import { TagFilter, Tags } from './tags.tsx';
import { taskFields, taskResource } from './task-fields.tsx';
import './records.css';

/** Label and API filters of each view of the list, by the value of the query parameter `view`. */
const taskViews = {
  open: { text: 'Open', filters: () => ({ status: 'open' }) },
  soon: {
    text: 'Due soon',
    filters: () => ({
      status: 'open',
      due_from: compactDay(today()),
      due_to: compactDay(plusDays(today(), DUE_SOON_DAYS)),
    }),
  },
  late: { text: 'Overdue', filters: () => ({ status: 'open', due_to: compactDay(plusDays(today(), -1)) }) },
  completed: { text: 'Completed', filters: () => ({ status: 'completed' }) },
  all: { text: 'All', filters: () => ({}) },
} as const satisfies Record<string, { text: string; filters: () => TaskFilters }>;

type TaskListView = keyof typeof taskViews;

const viewOptions = (Object.keys(taskViews) as TaskListView[]).map((value) => ({ value, text: taskViews[value].text }));

const orderOptions = [
  { value: '', text: 'Oldest first' },
  { value: 'latest', text: 'Newest first' },
  { value: 'duedate', text: 'By due date' },
  { value: 'taskname', text: 'By name' },
  { value: 'progress', text: 'By progress' },
] as const;

const compactDay = (day: string) => day.replaceAll('-', '');

/** Reads the API filters from the query of the route; `projectId` limits the list to one project. */
export function readTaskFilters(projectId = currentRoute.value.query.get('project') ?? ''): TaskFilters {
  const order = readQueryOption('order', orderOptions) ?? '';
  const viewDefinition = taskViews[readQueryOption('view', viewOptions) ?? 'open'];
  const tag = currentRoute.value.query.get('tag') ?? '';
  return {
    ...viewDefinition.filters(),
    ...(projectId !== '' && { project_id: projectId }),
    ...(tag !== '' && { tag }),
    ...(order !== '' && { order }),
    limit: RECORDS_PER_PAGE,
    offset: readPageOffset(),
  };
}

type TaskListProps = {
  /** Undefined while loading. */
  readonly projects: readonly Pick<Project, 'project_id' | 'project_name'>[] | undefined;
  /** Limits the list to one project. */
  readonly projectId?: string;
  /** Called when a task was added, deleted, completed or reopened. */
  readonly onTasksChange?: () => void;
};

/** Paginated list of tasks, which the user can filter, edit inline, complete and add. */
export function TaskList({ projects, projectId, onTasksChange = () => {} }: TaskListProps) {
  const filters = readTaskFilters(projectId);
  const records = useRecords((signal) => listFullPage(client.tasks, filters, signal), [filters], taskResource.idOf);
  /** Wraps an update of the list, so that it also calls `onTasksChange`. */
  const notifyAfterUpdate = (updateList: (task: Task) => void) => (task: Task) => {
    updateList(task);
    onTasksChange();
  };
  const deletion = useDelete(taskResource, {
    onDeleted: notifyAfterUpdate(records.remove),
    onRestored: notifyAfterUpdate(records.append),
  });
  const fixedProjectId = projectId ?? currentRoute.value.query.get('project') ?? '';
  const [chosenProjectId, setChosenProjectId] = useState('');
  const newTaskProjectId = fixedProjectId || chosenProjectId || projects?.[0]?.project_id;
  const view = readQueryOption('view', viewOptions) ?? 'open';
  const projectOptions = (projects ?? []).map(({ project_id, project_name }) => ({
    value: project_id,
    text: project_name,
  }));
  const isAcrossProjects = projectId === undefined;
  return (
    <section class="stack" aria-label="Tasks">
      <div class="row filters">
        <RadioGroup
          label="Which tasks"
          value={view}
          options={viewOptions}
          onChange={(newView) => updateQueryParams({ view: newView === 'open' ? '' : newView, page: '' })}
        />
        {isAcrossProjects && (
          <FilterSelect
            name="project"
            label="Project"
            options={[{ value: '', text: 'All projects' }, ...projectOptions]}
          />
        )}
        <FilterSelect name="order" label="Order" options={orderOptions} />
        <TagFilter />
      </div>
      <RecordList
        records={records}
        nounForms={['task', 'tasks']}
        columns={[
          <ScreenReaderText key="tick">Completed</ScreenReaderText>,
          'Task',
          ...(isAcrossProjects ? ['Project', 'Due', 'Progress', 'Assigned'] : ['Due', 'Assigned']),
        ]}
        emptyState={<NoTasks view={view} needsProject={isAcrossProjects && projects?.length === 0} />}
        renderRow={(task) => (
          <TaskRow
            key={task.task_id}
            task={task}
            hasProjectColumn={isAcrossProjects}
            onChange={records.replace}
            onDelete={() => deletion.startDelete(task)}
            onTasksChange={onTasksChange}
            onNextTask={records.reload}
          />
        )}
        createRecord={
          newTaskProjectId === undefined
            ? undefined
            : async (task_name) => {
                const task = await client.tasks.create(newTaskProjectId, { task_name });
                onTasksChange();
                return task;
              }
        }
      >
        {fixedProjectId === '' && newTaskProjectId !== undefined && (
          <Select
            label="Into the project"
            isLabelHidden
            value={newTaskProjectId}
            options={projectOptions}
            onChange={setChosenProjectId}
          />
        )}
      </RecordList>
      {deletion.confirmDialog}
    </section>
  );
}

function NoTasks({ view, needsProject }: { readonly view: TaskListView; readonly needsProject: boolean }) {
  if (needsProject) {
    return (
      <EmptyState icon="folder" title="A task belongs to a project">
        <p>
          <a href={hrefTo('projects')}>Create a project</a> first; its tasks can then be written down here or there.
        </p>
      </EmptyState>
    );
  }
  if (view === 'late') return <EmptyState icon="check" title="Nothing is late" />;
  if (view === 'soon') return <EmptyState icon="clock" title="Nothing is due in the next seven days" />;
  return (
    <EmptyState icon="task" title={view === 'completed' ? 'Nothing is completed yet' : 'No tasks here'}>
      <p>
        A task is a piece of work in a project, with subtasks if it has parts. Completing it tells every hook on{' '}
        <code>completed_task</code>.
      </p>
    </EmptyState>
  );
}

type TaskRowProps = {
  readonly task: Task;
  readonly hasProjectColumn: boolean;
  readonly onChange: (task: Task) => void;
  readonly onDelete: () => void;
  readonly onTasksChange: () => void;
  /** Called when a recurring task was completed and the service has created the next task. */
  readonly onNextTask: () => void;
};

function TaskRow({ task, hasProjectColumn, onChange, onDelete, onTasksChange, onNextTask }: TaskRowProps) {
  const [isExpanded, setExpanded] = useState(false);
  const [subtaskReloadCount, setSubtaskReloadCount] = useState(0);
  const isCompleted = task.completed === '1';
  const callbacks = {
    showTask: onChange,
    reloadSubtasks: () => {
      setSubtaskReloadCount((count) => count + 1);
      onTasksChange();
    },
    reloadList: onNextTask,
  };
  const fieldProps = { editableResource: taskResource, record: task, onChange };
  return (
    <>
      <tr class={isCompleted ? 'done' : ''}>
        <td class="tick">
          <input
            type="checkbox"
            aria-label={`Complete ${task.task_name}`}
            checked={isCompleted}
            onChange={() => void (isCompleted ? reopenTask(task, [], callbacks) : completeTask(task, callbacks))}
          />
        </td>
        <td class="name">
          <div class="name-line">
            <button
              type="button"
              class="disclose"
              aria-expanded={isExpanded}
              aria-label={`Subtasks of ${task.task_name}`}
              onClick={() => setExpanded(!isExpanded)}
            />
            <InlineField {...fieldProps} field={taskFields.name} href={hrefTo('tasks', task.task_id)} />
            {task.important === '1' && <Badge tone="warn">important</Badge>}
            {task.active === '2' && <Badge>on hold</Badge>}
            <Tags tags={task.tags} />
          </div>
        </td>
        {hasProjectColumn && (
          <td class="where">
            <a class="soft" href={hrefTo('projects', task.project_id)}>
              {task.project_name}
            </a>
          </td>
        )}
        <td class="when">
          <InlineField {...fieldProps} field={taskFields.due} />
        </td>
        {hasProjectColumn && (
          <td class="far">
            <InlineField {...fieldProps} field={taskFields.progress} />
          </td>
        )}
        <td class="assigned">
          <AssigneesButton {...fieldProps} />
        </td>
        <td class="more">
          <Menu
            label={`More for ${task.task_name}`}
            items={[
              { text: 'Open', icon: 'task', onPick: () => navigate(hrefTo('tasks', task.task_id)) },
              { text: 'Delete', icon: 'trash', isDestructive: true, onPick: onDelete },
            ]}
          />
        </td>
      </tr>
      {isExpanded && (
        <tr class="below">
          <td colSpan={hasProjectColumn ? 7 : 5}>
            <SubtaskList task={task} reloadCount={subtaskReloadCount} />
          </td>
        </tr>
      )}
    </>
  );
}
