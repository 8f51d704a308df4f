import { type Creates, creates, type Editable, editable } from './resource.ts';
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

/** A project as it is read. C30. */
export type Project = {
  /** Identifier of the project. */
  readonly project_id: string;
  /** Name of the project. */
  readonly project_name: string;
  /** Its address elsewhere. */
  readonly uri: string;
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
  /** It has no end in sight. */
  readonly ongoing: Flag;
  /** `"0"` without a client. */
  readonly client_id: string;
  /** The name of that client. */
  readonly client_name: string;
  /** Currency of its amounts. */
  readonly currency: string;
  /** Rate for one hour. */
  readonly hourly_rate: string;
  /** Whether `price` is agreed, rather than hours counted. */
  readonly fixed_price: Flag;
  /** Price. */
  readonly price: string;
  /** It may be shown to the client. */
  readonly public: Flag;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: Active;
  /** It is important. */
  readonly important: Flag;
  /** It is closed. */
  readonly closed: Flag;
  /** It is archived. */
  readonly archived: Flag;
  /** Percent, `"0"` to `"100"`. */
  readonly progress: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The creator. */
  readonly user_id: string;
  /** Who is assigned. */
  readonly users: readonly Assigned[];
};

/** What a project is created from. C30. */
export type ProjectInput = Pick<Project, 'project_name'> &
  Optional<
    Pick<Project, 'uri' | 'description' | 'color' | 'tags' | 'notes' | 'currency'> & {
      /** First day. Written yyyymmdd, or as it is answered; empty for none. */
      start_date: DateInputOrNone;
      /** Last day. Written yyyymmdd, or as it is answered; empty for none. */
      due_date: DateInputOrNone;
      /** It has no end in sight. */
      ongoing: FlagInput;
      /** `0`, `""` or `null`: no client. */
      client_id: IdOrNone;
      /** Rate for one hour. */
      hourly_rate: NumberInput;
      /** It has a fixed price. */
      fixed_price: FlagInput;
      /** Price. */
      price: NumberInput;
      /** It may be shown to the client. */
      public: FlagInput;
      /** 1 active, 0 inactive, 2 on hold. */
      active: ActiveInput;
      /** It is important. */
      important: FlagInput;
      /** It is closed. */
      closed: FlagInput;
      /** It is archived. */
      archived: FlagInput;
      /** Percent, 0 to 100. */
      progress: NumberInput;
      /** The creator; `0`, `""` or `null`: the caller. Another than the caller is for admins. C14. */
      user_id: IdOrNone;
      /** Who is assigned: the whole list. */
      users: readonly AssignedInput[];
    }
  >;

/** What can be changed of a project. C30. */
export type ProjectChanges = Optional<ProjectInput>;

/** Filters of the list of projects, all of which must hold. C30. */
export type ProjectFilters = Window &
  Optional<{
    /** For this client; 0 for those of none. */
    client_id: Id;
    /** Due on this day or later. */
    due_from: Day;
    /** Due on this day or earlier. */
    due_to: Day;
    /** Created on this day (UTC) or later. */
    created_from: Day;
    /** Created on this day (UTC) or earlier. */
    created_to: Day;
    /** With this tag. */
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
    ...editable<Project, ProjectChanges, ProjectFilters>(send, 'projects', 'project_id'),
    ...creates<Project, ProjectInput>(send, 'projects'),
  };
}
