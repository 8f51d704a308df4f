import { type Completes, type CreatesUnder, completes, createsUnder, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';
import type {
  Active,
  ActiveInput,
  Assigned,
  DateInput,
  DateText,
  Day,
  Flag,
  FlagInput,
  Id,
  NumberInput,
  Optional,
  Window,
} from './wire.ts';

/** A task as it is read. C31. */
export type Task = {
  readonly task_id: string;
  readonly task_name: string;
  readonly description: string;
  readonly color: string;
  /** Separated by commas. */
  readonly tags: string;
  readonly notes: string;
  readonly start_date: DateText;
  readonly due_date: DateText;
  readonly date_completed: DateText;
  readonly ongoing: Flag;
  readonly project_id: string;
  readonly project_name: string;
  readonly estimated_hours: string;
  readonly estimated_cost: string;
  readonly hourly_rate: string;
  /** Whether `price` is agreed, rather than hours counted. */
  readonly fixed_price: Flag;
  readonly price: string;
  readonly task_order: string;
  readonly active: Active;
  readonly important: Flag;
  readonly completed: Flag;
  /** Percent, `"0"` to `"100"`. */
  readonly progress: string;
  readonly recurring: Flag;
  readonly archived: Flag;
  readonly date_created: DateText;
  readonly date_modified: DateText;
  /** The creator. */
  readonly user_id: string;
  /** Who is assigned. */
  readonly users: readonly Assigned[];
};

/** What a task is created from. C31. */
export type TaskInput = { readonly task_name: string } & Optional<{
  description: string;
  color: string;
  /** Separated by commas. */
  tags: string;
  notes: string;
  start_date: DateInput;
  due_date: DateInput;
  ongoing: FlagInput;
  estimated_hours: NumberInput;
  estimated_cost: NumberInput;
  hourly_rate: NumberInput;
  fixed_price: FlagInput;
  price: NumberInput;
  task_order: NumberInput;
  active: ActiveInput;
  important: FlagInput;
  /** Created complete, a task tells nobody of its completion. C33. */
  completed: FlagInput;
  /** Percent, 0 to 100. */
  progress: NumberInput;
  recurring: FlagInput;
  archived: FlagInput;
  /** The creator; another than the caller is for admins. C14. */
  user_id: Id;
  /** Who is assigned: the whole list. */
  users: readonly Id[];
}>;

/** What can be changed of a task. C31, C33. */
export type TaskChanges = Optional<
  TaskInput & {
    /** The project that the task moves to. */
    readonly project_id: Id;
    readonly resume: FlagInput;
  }
>;

/** Filters of the list of tasks, all of which must hold. C31. */
export type TaskFilters = Window &
  Optional<{
    project_id: Id;
    due_from: Day;
    due_to: Day;
    created_from: Day;
    created_to: Day;
    completed_from: Day;
    completed_to: Day;
    tag: string;
    /** `open` leaves out completed and archived. */
    status: 'open' | 'completed' | 'active' | 'onhold' | 'inactive' | 'archived';
    /** taskname and duedate ascend, those without a due date last; progress and latest descend; without it: by id. */
    order: 'taskname' | 'duedate' | 'progress' | 'latest';
  }>;

/** Tasks; `create` takes the project's id first. Deleting one deletes its subtasks. C31, C33, C34. */
export type Tasks = Editable<Task, TaskChanges, TaskFilters> & CreatesUnder<Task, TaskInput> & Completes<Task>;

/** Tasks at `/tasks`. */
export function tasks(send: Send): Tasks {
  return {
    ...editable<Task, TaskChanges, TaskFilters>(send, 'tasks'),
    ...createsUnder<Task, TaskInput>(send, 'tasks'),
    ...completes<Task>(send, 'tasks'),
  };
}
