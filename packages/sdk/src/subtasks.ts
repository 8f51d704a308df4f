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
  /** It has no end in sight. */
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
  /** Its place among the subtasks of the task. */
  readonly subtask_order: string;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: Active;
  /** It is important. */
  readonly important: Flag;
  /** It is completed. Setting it completes the subtask; clearing it reopens it. */
  readonly completed: Flag;
  /** Progress in percent. */
  readonly progress: string;
  /** Kept for clients that set it; it changes nothing here. */
  readonly notifications: Flag;
  /** How it recurs: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: Period;
  /** Seconds that were worked on it, by its time entries. */
  readonly tracked_seconds: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** Who created it. Only admins may name another user than themselves. "0" for none. */
  readonly user_id: string;
  /** Who is assigned. */
  readonly users: readonly Assigned[];
  /** Which teams are assigned. */
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
  /** It has no end in sight. */
  readonly ongoing: FlagInput;
  /** Estimated hours. */
  readonly estimated_hours: NumberInput;
  /** Its place among the subtasks of the task. */
  readonly subtask_order: NumberInput;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveInput;
  /** It is important. */
  readonly important: FlagInput;
  /** It is completed. Setting it completes the subtask; clearing it reopens it. */
  readonly completed: FlagInput;
  /** Progress in percent. */
  readonly progress: NumberInput;
  /** Kept for clients that set it; it changes nothing here. */
  readonly notifications: FlagInput;
  /** How it recurs: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: PeriodInput;
  /** Who created it. Only admins may name another user than themselves. "0" for none. */
  readonly user_id: IdOrNone;
  /** Who is assigned. */
  readonly users: readonly AssignedInput[];
  /** Which teams are assigned. */
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
    /** Of this task. */
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
