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

/** A subtask as it is read. C32. */
export type Subtask = {
  readonly subtask_id: string;
  readonly subtask_name: string;
  readonly description: string;
  readonly color: string;
  readonly notes: string;
  readonly start_date: DateText;
  readonly due_date: DateText;
  readonly date_completed: DateText;
  readonly ongoing: Flag;
  readonly project_id: string;
  readonly project_name: string;
  readonly task_id: string;
  readonly task_name: string;
  readonly estimated_hours: string;
  readonly subtask_order: string;
  readonly active: Active;
  readonly important: Flag;
  readonly completed: Flag;
  /** Percent, `"0"` to `"100"`. */
  readonly progress: string;
  readonly recurring: Flag;
  readonly date_created: DateText;
  readonly date_modified: DateText;
  /** The creator. */
  readonly user_id: string;
  /** Who is assigned. */
  readonly users: readonly Assigned[];
};

/** What a subtask is created from. C32. */
export type SubtaskInput = { readonly subtask_name: string } & Optional<{
  description: string;
  color: string;
  notes: string;
  start_date: DateInput;
  due_date: DateInput;
  ongoing: FlagInput;
  estimated_hours: NumberInput;
  subtask_order: NumberInput;
  active: ActiveInput;
  important: FlagInput;
  /** Created complete, a subtask tells nobody of its completion. C33. */
  completed: FlagInput;
  /** Percent, 0 to 100. */
  progress: NumberInput;
  recurring: FlagInput;
  /** The creator; another than the caller is for admins. C14. */
  user_id: Id;
  /** Who is assigned: the whole list. */
  users: readonly Id[];
}>;

/** What can be changed of a subtask. C32, C33. */
export type SubtaskChanges = Optional<
  SubtaskInput & {
    /** The task that the subtask moves to. */
    readonly task_id: Id;
    readonly resume: FlagInput;
  }
>;

/** Filters of the list of subtasks, all of which must hold. C32. */
export type SubtaskFilters = Window &
  Optional<{
    task_id: Id;
    /** A user who is assigned. */
    user_id: Id;
    due_from: Day;
    due_to: Day;
    completed_from: Day;
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
    ...editable<Subtask, SubtaskChanges, SubtaskFilters>(send, 'subtasks'),
    ...createsUnder<Subtask, SubtaskInput>(send, 'subtasks'),
    ...completes<Subtask>(send, 'subtasks'),
  };
}
