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

/** A subtask as it is read. C32. */
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
  /** First day; the zero date for none. */
  readonly start_date: DateText;
  /** Last day; the zero date for none. */
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
  /** It is completed. */
  readonly completed: Flag;
  /** Percent, `"0"` to `"100"`. */
  readonly progress: string;
  /** It comes again and again. */
  readonly recurring: Flag;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The creator. */
  readonly user_id: string;
  /** Who is assigned. */
  readonly users: readonly Assigned[];
};

/** What a subtask is created from. C32. */
export type SubtaskInput = Pick<Subtask, 'subtask_name'> &
  Optional<
    Pick<Subtask, 'description' | 'color' | 'notes'> & {
      /** First day. Written yyyymmdd, or as it is answered; empty for none. */
      start_date: DateInputOrNone;
      /** Last day. Written yyyymmdd, or as it is answered; empty for none. */
      due_date: DateInputOrNone;
      /** It has no end in sight. */
      ongoing: FlagInput;
      /** Estimated hours. */
      estimated_hours: NumberInput;
      /** Its place among the subtasks of the task. */
      subtask_order: NumberInput;
      /** 1 active, 0 inactive, 2 on hold. */
      active: ActiveInput;
      /** It is important. */
      important: FlagInput;
      /** Created complete, a subtask tells nobody of its completion. C33. */
      completed: FlagInput;
      /** Percent, 0 to 100. */
      progress: NumberInput;
      /** It comes again and again. */
      recurring: FlagInput;
      /** The creator; `0`, `""` or `null`: the caller. Another than the caller is for admins. C14. */
      user_id: IdOrNone;
      /** Who is assigned: the whole list. */
      users: readonly AssignedInput[];
    }
  >;

/** What can be changed of a subtask. C32, C33. */
export type SubtaskChanges = Optional<
  SubtaskInput & {
    /** The task that the subtask moves to. */
    readonly task_id: Id;
    /** 1 reopens a completed subtask. */
    readonly resume: FlagInput;
  }
>;

/** Filters of the list of subtasks, all of which must hold. C32. */
export type SubtaskFilters = Window &
  Optional<{
    /** Of this task. */
    task_id: Id;
    /** A user who is assigned. */
    user_id: Id;
    /** Due on this day or later. */
    due_from: Day;
    /** Due on this day or earlier. */
    due_to: Day;
    /** Completed on this day (UTC) or later. */
    completed_from: Day;
    /** Completed on this day (UTC) or earlier. */
    completed_to: Day;
    /** `open` leaves out completed. */
    status: 'open' | 'completed' | 'active' | 'onhold' | 'inactive';
  }>;

/** Subtasks, ordered by id; `create` takes the task's id first. C32–C34. */
export type Subtasks = Editable<Subtask, SubtaskChanges, SubtaskFilters> &
  CreatesUnder<Subtask, SubtaskInput> &
  Completes<Subtask>;

/** Subtasks at `/subtasks`. */
export function subtasks(send: Send): Subtasks {
  return {
    ...editable<Subtask, SubtaskChanges, SubtaskFilters>(send, 'subtasks', 'subtask_id'),
    ...createsUnder<Subtask, SubtaskInput>(send, 'subtasks'),
    ...completes<Subtask>(send, 'subtasks'),
  };
}
