import { type Creates, creates, type Editable, editable } from './resource.ts';
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

/** A project as it is read. C30. */
export type Project = {
  readonly project_id: string;
  readonly project_name: string;
  readonly uri: string;
  readonly description: string;
  readonly color: string;
  /** Separated by commas. */
  readonly tags: string;
  readonly notes: string;
  readonly start_date: DateText;
  readonly due_date: DateText;
  readonly ongoing: Flag;
  /** `"0"` without a client. */
  readonly client_id: string;
  readonly client_name: string;
  readonly currency: string;
  readonly hourly_rate: string;
  /** Whether `price` is agreed, rather than hours counted. */
  readonly fixed_price: Flag;
  readonly price: string;
  readonly public: Flag;
  readonly active: Active;
  readonly important: Flag;
  readonly closed: Flag;
  readonly archived: Flag;
  /** Percent, `"0"` to `"100"`. */
  readonly progress: string;
  readonly date_created: DateText;
  readonly date_modified: DateText;
  /** The creator. */
  readonly user_id: string;
  /** Who is assigned. */
  readonly users: readonly Assigned[];
};

/** What a project is created from. C30. */
export type ProjectInput = { readonly project_name: string } & Optional<{
  uri: string;
  description: string;
  color: string;
  /** Separated by commas. */
  tags: string;
  notes: string;
  start_date: DateInput;
  due_date: DateInput;
  ongoing: FlagInput;
  /** `0`, `""` or `null`: no client. */
  client_id: Id | null;
  currency: string;
  hourly_rate: NumberInput;
  fixed_price: FlagInput;
  price: NumberInput;
  public: FlagInput;
  active: ActiveInput;
  important: FlagInput;
  closed: FlagInput;
  archived: FlagInput;
  /** Percent, 0 to 100. */
  progress: NumberInput;
  /** The creator; another than the caller is for admins. C14. */
  user_id: Id;
  /** Who is assigned: the whole list. */
  users: readonly Id[];
}>;

/** What can be changed of a project. C30. */
export type ProjectChanges = Optional<ProjectInput>;

/** Filters of the list of projects, all of which must hold. C30. */
export type ProjectFilters = Window &
  Optional<{
    client_id: Id;
    due_from: Day;
    due_to: Day;
    created_from: Day;
    created_to: Day;
    tag: string;
    /** `open` leaves out closed and archived. */
    status: 'open' | 'closed' | 'archived';
    /** projectname and duedate ascend, progress and latest descend; without it: by id. */
    order: 'projectname' | 'duedate' | 'progress' | 'latest';
  }>;

/** Projects. Deleting one deletes its tasks and subtasks and leaves its events without a project. C30, C34. */
export type Projects = Editable<Project, ProjectChanges, ProjectFilters> & Creates<Project, ProjectInput>;

/** Projects at `/projects`. */
export function projects(send: Send): Projects {
  return {
    ...editable<Project, ProjectChanges, ProjectFilters>(send, 'projects'),
    ...creates<Project, ProjectInput>(send, 'projects'),
  };
}
