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
import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';

/** A project as returned by the API. C30, C34. */
export type Project = {
  /** Identifier of the project. */
  readonly project_id: string;
  /** Name of the project. */
  readonly project_name: string;
  /** Its URL elsewhere. */
  readonly uri: string;
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
  /** Whether it has no end date. */
  readonly ongoing: Flag;
  /** The client of the project. "0" for none. */
  readonly client_id: string;
  /** The name of that client. */
  readonly client_name: string;
  /** Currency of its amounts. */
  readonly currency: string;
  /** Hours worked on its tasks, as a number. */
  readonly billable_hours: number;
  /** Seconds worked on its tasks: the sum of their time entries. */
  readonly tracked_seconds: string;
  /** Estimated hours. */
  readonly estimated_hours: string;
  /** Rate for one hour. */
  readonly hourly_rate: string;
  /** Whether it has a fixed price. An amount other than 0 and 1 sets the flag and becomes the price. */
  readonly fixed_price: Flag;
  /** Price. */
  readonly price: string;
  /** Its position among the projects. */
  readonly project_order: string;
  /** Whether it may be shown to the client. */
  readonly public: Flag;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: Active;
  /** Whether it is important. */
  readonly important: Flag;
  /** Whether it is closed. */
  readonly closed: Flag;
  /** Whether it is archived. */
  readonly archived: Flag;
  /** Progress in percent. */
  readonly progress: string;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: Flag;
  /** Its recurrence; a closed project is not repeated. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: Period;
  /** Always "0": there are no templates. */
  readonly template: string;
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

/** Input to create a project. C30, C34. */
export type ProjectInput = {
  /** Name of the project. */
  readonly project_name: string;
} & Optional<{
  /** Its URL elsewhere. */
  readonly uri: string;
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
  /** The client of the project. "0" for none. */
  readonly client_id: IdOrNone;
  /** Currency of its amounts. */
  readonly currency: string;
  /** Estimated hours. */
  readonly estimated_hours: NumberInput;
  /** Rate for one hour. */
  readonly hourly_rate: NumberInput;
  /** Whether it has a fixed price. An amount other than 0 and 1 sets the flag and becomes the price. */
  readonly fixed_price: FlagInput | NumberInput;
  /** Price. */
  readonly price: NumberInput;
  /** Its position among the projects. */
  readonly project_order: NumberInput;
  /** Whether it may be shown to the client. */
  readonly public: FlagInput;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveInput;
  /** Whether it is important. */
  readonly important: FlagInput;
  /** Whether it is closed. */
  readonly closed: FlagInput;
  /** Whether it is archived. */
  readonly archived: FlagInput;
  /** Progress in percent. */
  readonly progress: NumberInput;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: FlagInput;
  /** Its recurrence; a closed project is not repeated. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: PeriodInput;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
  /** The assigned users. */
  readonly users: readonly AssignedInput[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeamInput[];
}>;

/** Fields of a project that can be changed. C30, C34. */
export type ProjectChanges = Optional<ProjectInput>;

/** Filters of the list of projects, combined with AND. C30, C34. */
export type ProjectFilters = Window &
  Optional<{
    /** For this client; 0 for projects without one. */
    readonly client_id: Id;
    /** Due on this day or later. */
    readonly due_from: Day;
    /** Due on this day or earlier. */
    readonly due_to: Day;
    /** Created on this day (UTC) or later. */
    readonly created_from: Day;
    /** Created on this day (UTC) or earlier. */
    readonly created_to: Day;
    /** With this tag. */
    readonly tag: string;
    /** open leaves out closed and archived; there are no templates. */
    readonly status: 'open' | 'closed' | 'templates' | 'archived';
    /** projectname and duedate ascending, progress, billablehours and latest descending; else by id. */
    readonly order: 'projectname' | 'duedate' | 'progress' | 'billablehours' | 'latest';
  }>;

/** Methods for projects. C30, C34. */
export type Projects = Editable<Project, ProjectChanges, ProjectFilters> & Creates<Project, ProjectInput>;

/** Methods for projects at `/projects`. */
export function projects(send: Send): Projects {
  return {
    ...editable<Project, ProjectChanges, ProjectFilters>(send, 'projects', 'project_id'),
    ...creates<Project, ProjectInput>(send, 'projects'),
  };
}
