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

/** A subtask as returned by the API. C32, C33, C34. */
export type Subtask = {
  /** Identifier of the subtask. */
  readonly subtask_id: string;
  /** Name of the subtask. */
  readonly subtask_name: string;
  /** Description. */
  readonly description: string;
  /** Colour. */
  readonly color: string;
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
  /** The project of its task. */
  readonly project_id: string;
  /** The name of that project. */
  readonly project_name: string;
  /** The task it belongs to. */
  readonly task_id: string;
  /** The name of that task. */
  readonly task_name: string;
  /** Estimated hours. */
  readonly estimated_hours: string;
  /** Its position among the subtasks of the task. */
  readonly subtask_order: string;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: Active;
  /** Whether it is important. */
  readonly important: Flag;
  /** Whether it is completed. 1 completes the subtask, 0 reopens it. */
  readonly completed: Flag;
  /** Progress in percent. */
  readonly progress: string;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: Flag;
  /** Its recurrence: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: Period;
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

/** Input to create a subtask. C32, C33, C34. */
export type SubtaskInput = {
  /** Name of the subtask. */
  readonly subtask_name: string;
} & Optional<{
  /** Description. */
  readonly description: string;
  /** Colour. */
  readonly color: string;
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
  /** Its position among the subtasks of the task. */
  readonly subtask_order: NumberInput;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveInput;
  /** Whether it is important. */
  readonly important: FlagInput;
  /** Whether it is completed. 1 completes the subtask, 0 reopens it. */
  readonly completed: FlagInput;
  /** Progress in percent. */
  readonly progress: NumberInput;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: FlagInput;
  /** Its recurrence: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: PeriodInput;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
  /** The assigned users. */
  readonly users: readonly AssignedInput[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeamInput[];
}>;

/** Fields of a subtask that can be changed. C32, C33, C34. */
export type SubtaskChanges = Optional<
  SubtaskInput & {
    /** The task it moves to. */
    readonly task_id: Id;
    /** 1 reopens a completed subtask. */
    readonly resume: FlagInput;
  }
>;

/** Filters of the list of subtasks, combined with AND. C32, C33, C34. */
export type SubtaskFilters = Window &
  Optional<{
    /** Only subtasks of this task. */
    readonly task_id: Id;
    /** Assigned to this user. */
    readonly user_id: Id;
    /** Assigned to this team. */
    readonly team_id: Id;
    /** Due on this day or later. */
    readonly due_from: Day;
    /** Due on this day or earlier. */
    readonly due_to: Day;
    /** Completed on this day (UTC) or later. */
    readonly completed_from: Day;
    /** Completed on this day (UTC) or earlier. */
    readonly completed_to: Day;
    /** open leaves out completed and archived; archived are those of archived tasks. */
    readonly status: 'open' | 'completed' | 'active' | 'onhold' | 'inactive' | 'archived';
  }>;

/** Methods for subtasks; the first argument of `create` is the id of the parent. C32, C33, C34. */
export type Subtasks = Editable<Subtask, SubtaskChanges, SubtaskFilters> &
  CreatesUnder<Subtask, SubtaskInput> &
  Completes<Subtask>;

/** Methods for subtasks at `/subtasks`. */
export function subtasks(send: Send): Subtasks {
  return {
    ...editable<Subtask, SubtaskChanges, SubtaskFilters>(send, 'subtasks', 'subtask_id'),
    ...createsUnder<Subtask, SubtaskInput>(send, 'subtasks'),
    ...completes<Subtask>(send, 'subtasks'),
  };
}
