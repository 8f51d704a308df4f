import { useState } from 'preact/hooks';
import type { Project } from '../../../src/sdk/projects.ts';
import type { Task, TaskFilters } from '../../../src/sdk/tasks.ts';
import { faultIn } from '../changes.ts';
import { client } from '../client.ts';
import { plusDays, SOON_DAYS, today } from '../days.ts';
import { AddLine } from '../design/add-line.tsx';
import { Button } from '../design/button.tsx';
import { Choice, Select } from '../design/field.tsx';
import { Menu } from '../design/menu.tsx';
import { Empty } from '../design/page.tsx';
import { Pager } from '../design/pager.tsx';
import { Badge, Note, Waiting } from '../design/state.tsx';
import { go, place, setQuery, to } from '../router.ts';
import { People } from './assigned.tsx';
import { completeTask, reopenTask } from './completing.ts';
import { useDeleteTask } from './delete-task.tsx';
import { FactField } from './facts.tsx';
import { PAGE_SIZE, pageOffset, useRecords } from './records.ts';
import { Subtasks } from './subtasks.tsx';
import { TagFilter, Tags } from './tags.tsx';
import { taskFacts, tasks } from './task-facts.tsx';
import './plan.css';

/** Which tasks are in view: a word in the address, and what it asks of the service. */
const views = {
  open: { text: 'Open', filters: () => ({ status: 'open' }) },
  soon: {
    text: 'Due soon',
    filters: () => ({ status: 'open', due_from: plain(today()), due_to: plain(plusDays(today(), SOON_DAYS)) }),
  },
  late: { text: 'Overdue', filters: () => ({ status: 'open', due_to: plain(plusDays(today(), -1)) }) },
  completed: { text: 'Completed', filters: () => ({ status: 'completed' }) },
  all: { text: 'All', filters: () => ({}) },
} as const satisfies Record<string, { text: string; filters: () => TaskFilters }>;

type View = keyof typeof views;

const viewOptions = (Object.keys(views) as View[]).map((value) => ({ value, text: views[value].text }));

const orders = [
  { value: '', text: 'Oldest first' },
  { value: 'latest', text: 'Newest first' },
  { value: 'duedate', text: 'By due date' },
  { value: 'taskname', text: 'By name' },
  { value: 'progress', text: 'By progress' },
] as const;

type Order = (typeof orders)[number]['value'];

const plain = (day: string) => day.replaceAll('-', '');

/** What the address asks for; `projectId` where only the tasks of one project are in view. */
export function taskFilters(projectId = place.value.query.get('project') ?? ''): TaskFilters {
  const { query } = place.value;
  const order = orders.find(({ value }) => value !== '' && value === query.get('order'))?.value;
  const view = views[(query.get('view') ?? 'open') as View] ?? views.open;
  const tag = query.get('tag') ?? '';
  return {
    ...view.filters(),
    ...(projectId !== '' && { project_id: projectId }),
    ...(tag !== '' && { tag }),
    ...(order !== undefined && order !== '' && { order }),
    limit: PAGE_SIZE,
    offset: pageOffset(),
  };
}

type TaskListProps = {
  /** Those that a task may belong to; undefined while they are on their way. */
  readonly projects: readonly Pick<Project, 'project_id' | 'project_name'>[] | undefined;
  /** The one project whose tasks these are. */
  readonly projectId?: string;
  /** Told when one was added, deleted, completed or opened again. */
  readonly onCount?: () => void;
};

/** Tasks, a page of them at a time: looked through, changed, completed and added where they stand. */
export function TaskList({ projects, projectId, onCount = () => {} }: TaskListProps) {
  const { query } = place.value;
  const filters = taskFilters(projectId);
  const records = useRecords((signal) => client.tasks.list(filters, { signal }), [filters], tasks.idOf);
  const deleting = useDeleteTask({
    onGone: (task) => {
      records.drop(task);
      onCount();
    },
    onBack: (task) => {
      records.append(task);
      onCount();
    },
  });
  const chosen = query.get('project') ?? '';
  const [target, setTarget] = useState(chosen);
  const addTo = projectId ?? (target || chosen || projects?.[0]?.project_id);
  const view = (query.get('view') ?? 'open') as View;
  const named = (projects ?? []).map(({ project_id, project_name }) => ({ value: project_id, text: project_name }));
  return (
    <section class="stack" aria-label="Tasks">
      <div class="row filters">
        <Choice
          label="Which tasks"
          value={view}
          options={viewOptions}
          onChange={(next) => setQuery({ view: next === 'open' ? '' : next, page: '' })}
        />
        {projectId === undefined && (
          <Select
            label="Project"
            hideLabel
            value={chosen}
            options={[{ value: '', text: 'All projects' }, ...named]}
            onChange={(project) => setQuery({ project, page: '' })}
          />
        )}
        <Select<Order>
          label="Order"
          hideLabel
          value={filters.order ?? ''}
          options={orders}
          onChange={(order) => setQuery({ order, page: '' })}
        />
        <TagFilter />
      </div>
      {records.fault !== undefined && (
        <Note tone="bad">
          {records.fault} <Button onClick={records.reload}>Try again</Button>
        </Note>
      )}
      <div class="card" aria-busy={records.isLoading}>
        {records.rows === undefined && records.fault === undefined && (
          <div class="card-waiting">
            <Waiting />
          </div>
        )}
        {records.rows?.length === 0 && <NoTasks view={view} />}
        {records.rows !== undefined && records.rows.length > 0 && (
          <table class="table plan">
            <caption class="hidden-text">{views[view]?.text ?? 'Open'} tasks</caption>
            <thead>
              <tr>
                <th>
                  <span class="hidden-text">Completed</span>
                </th>
                <th>Task</th>
                {projectId === undefined && <th>Project</th>}
                <th>Due</th>
                {projectId === undefined && <th>Progress</th>}
                <th>Assigned</th>
                <th>
                  <span class="hidden-text">More</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {records.rows.map((task) => (
                <TaskRow
                  key={task.task_id}
                  task={task}
                  hasProject={projectId === undefined}
                  onChange={records.put}
                  onDelete={() => void deleting.begin(task)}
                  onCount={onCount}
                />
              ))}
            </tbody>
          </table>
        )}
        {addTo !== undefined && (
          <AddLine
            label="Add a task"
            explain={(error) => faultIn(error, 'Name')}
            onAdd={async (task_name) => {
              records.append(await client.tasks.create(addTo, { task_name }));
              onCount();
            }}
          >
            {projectId === undefined && (
              <Select label="Into the project" hideLabel value={addTo} options={named} onChange={setTarget} />
            )}
          </AddLine>
        )}
        {projectId === undefined && projects?.length === 0 && (
          <p class="card-foot soft">
            A task belongs to a project. <a href={to('projects')}>Create a project</a> first.
          </p>
        )}
      </div>
      {records.rows !== undefined && (
        <Pager
          paging={records.paging}
          words={['task', 'tasks']}
          shown={records.rows.length}
          onPage={(page) => setQuery({ page: page === 1 ? '' : String(page) })}
        />
      )}
      {deleting.question}
    </section>
  );
}

function NoTasks({ view }: { readonly view: View }) {
  if (view === 'late') return <Empty icon="check" title="Nothing is late" />;
  if (view === 'soon') return <Empty icon="clock" title="Nothing is due in the next seven days" />;
  return (
    <Empty icon="task" title={view === 'completed' ? 'Nothing is completed yet' : 'No tasks here'}>
      <p>
        A task is a piece of work in a project, with subtasks if it has parts. Completing it tells every hook on
        <code> completed_task</code>.
      </p>
    </Empty>
  );
}

type TaskRowProps = {
  readonly task: Task;
  readonly hasProject: boolean;
  readonly onChange: (task: Task) => void;
  readonly onDelete: () => void;
  readonly onCount: () => void;
};

function TaskRow({ task, hasProject, onChange, onDelete, onCount }: TaskRowProps) {
  const [isOpen, setOpen] = useState(false);
  const [turn, setTurn] = useState(0);
  const isDone = task.completed === '1';
  const shows = {
    task: onChange,
    subtasks: () => {
      setTurn((count) => count + 1);
      onCount();
    },
  };
  const shared = { kept: tasks, record: task, onChange };
  return (
    <>
      <tr class={isDone ? 'done' : ''}>
        <td class="tick">
          <input
            type="checkbox"
            aria-label={`Complete ${task.task_name}`}
            checked={isDone}
            onChange={() => void (isDone ? reopenTask(task, [], shows) : completeTask(task, shows))}
          />
        </td>
        <td class="name">
          <div class="name-line">
            <button
              type="button"
              class="disclose"
              aria-expanded={isOpen}
              aria-label={`Subtasks of ${task.task_name}`}
              onClick={() => setOpen(!isOpen)}
            />
            <FactField {...shared} fact={taskFacts.name} href={to('tasks', task.task_id)} />
            {task.important === '1' && <Badge tone="warn">important</Badge>}
            {task.active === '2' && <Badge>on hold</Badge>}
            <Tags tags={task.tags} />
          </div>
        </td>
        {hasProject && (
          <td class="where">
            <a class="soft" href={to('projects', task.project_id)}>
              {task.project_name}
            </a>
          </td>
        )}
        <td class="when">
          <FactField {...shared} fact={taskFacts.due} />
        </td>
        {hasProject && (
          <td class="far">
            <FactField {...shared} fact={taskFacts.progress} />
          </td>
        )}
        <td class="assigned">
          <People {...shared} />
        </td>
        <td class="more">
          <Menu
            label={`More for ${task.task_name}`}
            items={[
              { text: 'Open', icon: 'task', onPick: () => go(to('tasks', task.task_id)) },
              { text: 'Delete', icon: 'trash', isDanger: true, onPick: onDelete },
            ]}
          />
        </td>
      </tr>
      {isOpen && (
        <tr class="below">
          <td colSpan={hasProject ? 7 : 5}>
            <Subtasks task={task} turn={turn} />
          </td>
        </tr>
      )}
    </>
  );
}
