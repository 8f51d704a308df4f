// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type {
  Active,
  ActiveInput,
  Assigned,
  AssignedInput,
  AssignedTeam,
  AssignedTeamInput,
  DateInputOrNone,
  DateText,
  Day,
  Flag,
  FlagInput,
  Id,
  IdOrNone,
  NumberInput,
  Optional,
  Period,
  PeriodInput,
  Window,
} from './api-types.ts';
import { type Completes, type CreatesUnder, completes, createsUnder, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';

/** A task as returned by the API. C31, C33, C34. */
export type Task = {
  /** Identifier of the task. */
  readonly task_id: string;
  /** Name of the task. */
  readonly task_name: string;
  /** Description. */
  readonly description: string;
  /** Colour. */
  readonly color: string;
  /** Tags, separated by commas. */
  readonly tags: string;
  /** Notes. */
  readonly notes: string;
  /** First day. Accepts yyyymmdd or the output format; empty for none. */
  readonly start_date: DateText;
  /** Last day. Accepts yyyymmdd or the output format; empty for none. */
  readonly due_date: DateText;
  /** When it was completed, UTC. */
  readonly date_completed: DateText;
  /** Whether it has no end date. */
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
  /** Whether it has a fixed price. An amount other than 0 and 1 sets the flag and becomes the price. */
  readonly fixed_price: Flag;
  /** Price. */
  readonly price: string;
  /** Its position among the tasks of the project. */
  readonly task_order: string;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: Active;
  /** Whether it is important. */
  readonly important: Flag;
  /** Whether it is completed. 1 completes the task and its open subtasks, 0 reopens the task. */
  readonly completed: Flag;
  /** Progress in percent. */
  readonly progress: string;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: Flag;
  /** Its recurrence: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: Period;
  /** Whether it is archived. */
  readonly archived: Flag;
  /** Seconds worked on it: the sum of its time entries. */
  readonly tracked_seconds: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
  /** The assigned users. */
  readonly users: readonly Assigned[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeam[];
};

/** Input to create a task. C31, C33, C34. */
export type TaskInput = {
  /** Name of the task. */
  readonly task_name: string;
} & Optional<{
  /** Description. */
  readonly description: string;
  /** Colour. */
  readonly color: string;
  /** Tags, separated by commas. */
  readonly tags: string;
  /** Notes. */
  readonly notes: string;
  /** First day. Accepts yyyymmdd or the output format; empty for none. */
  readonly start_date: DateInputOrNone;
  /** Last day. Accepts yyyymmdd or the output format; empty for none. */
  readonly due_date: DateInputOrNone;
  /** Whether it has no end date. */
  readonly ongoing: FlagInput;
  /** Estimated hours. */
  readonly estimated_hours: NumberInput;
  /** Estimated cost. */
  readonly estimated_cost: NumberInput;
  /** Rate for one hour. */
  readonly hourly_rate: NumberInput;
  /** Whether it has a fixed price. An amount other than 0 and 1 sets the flag and becomes the price. */
  readonly fixed_price: FlagInput | NumberInput;
  /** Price. */
  readonly price: NumberInput;
  /** Its position among the tasks of the project. */
  readonly task_order: NumberInput;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveInput;
  /** Whether it is important. */
  readonly important: FlagInput;
  /** Whether it is completed. 1 completes the task and its open subtasks, 0 reopens the task. */
  readonly completed: FlagInput;
  /** Progress in percent. */
  readonly progress: NumberInput;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: FlagInput;
  /** Its recurrence: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: PeriodInput;
  /** Whether it is archived. */
  readonly archived: FlagInput;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
  /** The assigned users. */
  readonly users: readonly AssignedInput[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeamInput[];
}>;

/** Fields of a task that can be changed. C31, C33, C34. */
export type TaskChanges = Optional<
  TaskInput & {
    /** The project it moves to. */
    readonly project_id: Id;
    /** 1 reopens a completed task. */
    readonly resume: FlagInput;
  }
>;

/** Filters of the list of tasks, combined with AND. C31, C33, C34. */
export type TaskFilters = Window &
  Optional<{
    /** Only tasks of this project. */
    readonly project_id: Id;
    /** Due on this day or later. */
    readonly due_from: Day;
    /** Due on this day or earlier. */
    readonly due_to: Day;
    /** Created on this day (UTC) or later. */
    readonly created_from: Day;
    /** Created on this day (UTC) or earlier. */
    readonly created_to: Day;
    /** Completed on this day (UTC) or later. */
    readonly completed_from: Day;
    /** Completed on this day (UTC) or earlier. */
    readonly completed_to: Day;
    /** With this tag. */
    readonly tag: string;
    /** open leaves out completed and archived. */
    readonly status: 'open' | 'completed' | 'active' | 'onhold' | 'inactive' | 'archived';
    /** taskname and duedate ascending (tasks without a due date last), progress and latest descending; else by id. */
    readonly order: 'taskname' | 'duedate' | 'progress' | 'latest';
  }>;

/** Methods for tasks; the first argument of `create` is the id of the parent. C31, C33, C34. */
export type Tasks = Editable<Task, TaskChanges, TaskFilters> & CreatesUnder<Task, TaskInput> & Completes<Task>;

/** Methods for tasks at `/tasks`. */
export function tasks(send: Send): Tasks {
  return {
    ...editable<Task, TaskChanges, TaskFilters>(send, 'tasks', 'task_id'),
    ...createsUnder<Task, TaskInput>(send, 'tasks'),
    ...completes<Task>(send, 'tasks'),
  };
}
