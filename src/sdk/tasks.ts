import { type Completes, type CreatesUnder, completes, createsUnder, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';
import type {
  Active,
  ActiveInput,
  Assigned,
  AssignedInput,
  DateInputOrNone,
  DateText,
  Day,
  Flag,
  FlagInput,
  Id,
  IdOrNone,
  NumberInput,
  Optional,
  Window,
} from './wire.ts';

/** A task as it is read. C31. */
export type Task = {
  /** Identifier of the task. */
  readonly task_id: string;
  /** Name of the task. */
  readonly task_name: string;
  /** Description. */
  readonly description: string;
  /** Colour. */
  readonly color: string;
  /** Separated by commas. */
  readonly tags: string;
  /** Notes. */
  readonly notes: string;
  /** First day; the zero date for none. */
  readonly start_date: DateText;
  /** Last day; the zero date for none. */
  readonly due_date: DateText;
  /** When it was completed, UTC. */
  readonly date_completed: DateText;
  /** It has no end in sight. */
  readonly ongoing: Flag;
  /** The project it belongs to. */
  readonly project_id: string;
  /** The name of that project. */
  readonly project_name: string;
  /** Estimated hours. */
  readonly estimated_hours: string;
  /** Estimated cost. */
  readonly estimated_cost: string;
  /** Rate for one hour. */
  readonly hourly_rate: string;
  /** Whether `price` is agreed, rather than hours counted. */
  readonly fixed_price: Flag;
  /** Price. */
  readonly price: string;
  /** Its place among the tasks of the project. */
  readonly task_order: string;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: Active;
  /** It is important. */
  readonly important: Flag;
  /** It is completed. */
  readonly completed: Flag;
  /** Percent, `"0"` to `"100"`. */
  readonly progress: string;
  /** It comes again and again. */
  readonly recurring: Flag;
  /** It is archived. */
  readonly archived: Flag;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The creator. */
  readonly user_id: string;
  /** Who is assigned. */
  readonly users: readonly Assigned[];
};

/** What a task is created from. C31. */
export type TaskInput = Pick<Task, 'task_name'> &
  Optional<
    Pick<Task, 'description' | 'color' | 'tags' | 'notes'> & {
      /** First day. Written yyyymmdd, or as it is answered; empty for none. */
      start_date: DateInputOrNone;
      /** Last day. Written yyyymmdd, or as it is answered; empty for none. */
      due_date: DateInputOrNone;
      /** It has no end in sight. */
      ongoing: FlagInput;
      /** Estimated hours. */
      estimated_hours: NumberInput;
      /** Estimated cost. */
      estimated_cost: NumberInput;
      /** Rate for one hour. */
      hourly_rate: NumberInput;
      /** It has a fixed price. */
      fixed_price: FlagInput;
      /** Price. */
      price: NumberInput;
      /** Its place among the tasks of the project. */
      task_order: NumberInput;
      /** 1 active, 0 inactive, 2 on hold. */
      active: ActiveInput;
      /** It is important. */
      important: FlagInput;
      /** Created complete, a task tells nobody of its completion. C33. */
      completed: FlagInput;
      /** Percent, 0 to 100. */
      progress: NumberInput;
      /** It comes again and again. */
      recurring: FlagInput;
      /** It is archived. */
      archived: FlagInput;
      /** The creator; `0`, `""` or `null`: the caller. Another than the caller is for admins. C14. */
      user_id: IdOrNone;
      /** Who is assigned: the whole list. */
      users: readonly AssignedInput[];
    }
  >;

/** What can be changed of a task. C31, C33. */
export type TaskChanges = Optional<
  TaskInput & {
    /** The project that the task moves to. */
    readonly project_id: Id;
    /** 1 reopens a completed task. */
    readonly resume: FlagInput;
  }
>;

/** Filters of the list of tasks, all of which must hold. C31. */
export type TaskFilters = Window &
  Optional<{
    /** Of this project. */
    project_id: Id;
    /** Due on this day or later. */
    due_from: Day;
    /** Due on this day or earlier. */
    due_to: Day;
    /** Created on this day (UTC) or later. */
    created_from: Day;
    /** Created on this day (UTC) or earlier. */
    created_to: Day;
    /** Completed on this day (UTC) or later. */
    completed_from: Day;
    /** Completed on this day (UTC) or earlier. */
    completed_to: Day;
    /** With this tag. */
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
    ...editable<Task, TaskChanges, TaskFilters>(send, 'tasks', 'task_id'),
    ...createsUnder<Task, TaskInput>(send, 'tasks'),
    ...completes<Task>(send, 'tasks'),
  };
}
