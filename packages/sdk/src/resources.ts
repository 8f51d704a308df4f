// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type {
  ActiveStatus,
  ActiveStatusInput,
  AssignedTeam,
  AssignedTeamInput,
  AssignedUser,
  AssignedUserInput,
  CalendarDay,
  DateInput,
  DateInputOrNone,
  DateText,
  Flag,
  FlagInput,
  Id,
  IdOrNone,
  NumberInput,
  Optional,
  PageWindow,
  RecurrencePeriod,
  RecurrencePeriodInput,
} from './api-types.ts';
import { buildImportMethod, type ImportMethod } from './calendars.ts';
import {
  buildCompleteMethods,
  buildCreateChildMethod,
  buildCreateMethod,
  buildDeleteMethod,
  buildEditableMethods,
  buildGetMethod,
  buildListMethods,
  type CompleteMethods,
  type CreateChildMethod,
  type CreateMethod,
  type DeleteMethod,
  type EditableMethods,
  type GetMethod,
  type ListMethods,
} from './resource-methods.ts';
import type { Send } from './transport.ts';

/** An event as returned by the API (C24–C28). */
export type CalendarEvent = {
  /** Identifier of the event. */
  readonly event_id: string;
  /** Name of the event. */
  readonly event_name: string;
  /** First day. Accepts yyyymmdd or the output format. */
  readonly start_date: DateText;
  /** Last day. Accepts yyyymmdd or the output format. */
  readonly due_date: DateText;
  /** The project it belongs to. "0" for none. */
  readonly project_id: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
};

/** Input to create an event (C24–C28). */
export type EventInput = {
  /** Name of the event. */
  readonly event_name: string;
  /** First day. Accepts yyyymmdd or the output format. */
  readonly start_date: DateInput;
  /** Last day. Accepts yyyymmdd or the output format. */
  readonly due_date: DateInput;
} & Optional<{
  /** The project it belongs to. "0" for none. */
  readonly project_id: IdOrNone;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Fields of an event that can be changed (C24–C28). */
export type EventChanges = Optional<EventInput>;

/** Filters of the list of events, combined with AND (C24–C28). */
export type EventFilters = PageWindow &
  Optional<{
    /** Only events of this project; 0 for events without one. */
    readonly project_id: Id;
    /** Starting on this day or later. */
    readonly from: CalendarDay;
    /** Due on this day or earlier. */
    readonly to: CalendarDay;
    /** Starting on this day or later. */
    readonly start_from: CalendarDay;
    /** Starting on this day or later. */
    readonly start_date_from: CalendarDay;
    /** Starting on this day or earlier. */
    readonly start_to: CalendarDay;
    /** Starting on this day or earlier. */
    readonly start_date_to: CalendarDay;
    /** Due on this day or later. */
    readonly due_from: CalendarDay;
    /** Due on this day or later. */
    readonly due_date_from: CalendarDay;
    /** Due on this day or earlier. */
    readonly due_to: CalendarDay;
    /** Due on this day or earlier. */
    readonly due_date_to: CalendarDay;
  }>;

/** Methods for events (C24–C28). */
export type Events = EditableMethods<CalendarEvent, EventChanges, EventFilters> &
  CreateMethod<CalendarEvent, EventInput> &
  ImportMethod;

/** Creates the methods for events at `/events`. */
export function createEventMethods(send: Send): Events {
  return {
    ...buildEditableMethods<CalendarEvent, EventChanges, EventFilters>(send, 'events', 'event_id'),
    ...buildCreateMethod<CalendarEvent, EventInput>(send, 'events'),
    ...buildImportMethod(send, 'events'),
  };
}

/** A client as returned by the API (C29, C34). */
export type Client = {
  /** Identifier of the client. */
  readonly client_id: string;
  /** Name of the client. */
  readonly client_name: string;
  /** Always "0": contacts name their client. */
  readonly contact_id: string;
  /** E-mail address. */
  readonly email: string;
  /** Telephone. */
  readonly tel: string;
  /** Fax. */
  readonly fax: string;
  /** Mobile telephone. */
  readonly mobile: string;
  /** Website. */
  readonly website: string;
  /** Street and number. */
  readonly address: string;
  /** City. */
  readonly city: string;
  /** State or region. */
  readonly state: string;
  /** Postcode. */
  readonly postcode: string;
  /** Country. */
  readonly country: string;
  /** Notes. */
  readonly notes: string;
  /** Background. */
  readonly background: string;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveStatus;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
};

/** Input to create a client (C29, C34). */
export type ClientInput = {
  /** Name of the client. */
  readonly client_name: string;
} & Optional<{
  /** E-mail address. */
  readonly email: string;
  /** Telephone. */
  readonly tel: string;
  /** Fax. */
  readonly fax: string;
  /** Mobile telephone. */
  readonly mobile: string;
  /** Website. */
  readonly website: string;
  /** Street and number. */
  readonly address: string;
  /** City. */
  readonly city: string;
  /** State or region. */
  readonly state: string;
  /** Postcode. */
  readonly postcode: string;
  /** Country. */
  readonly country: string;
  /** Notes. */
  readonly notes: string;
  /** Background. */
  readonly background: string;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveStatusInput;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Fields of a client that can be changed (C29, C34). */
export type ClientChanges = Optional<ClientInput>;

/** Filters of the list of clients, combined with AND (C29, C34). */
export type ClientFilters = PageWindow &
  Optional<{
    /** Part of the name, compared without case. */
    readonly client_name: string;
    /** clientname ascending, latest descending; else by id. */
    readonly order: 'clientname' | 'latest';
  }>;

/** Methods for clients (C29, C34). */
export type Clients = EditableMethods<Client, ClientChanges, ClientFilters> & CreateMethod<Client, ClientInput>;

/** Creates the methods for clients at `/clients`. */
export function createClientMethods(send: Send): Clients {
  return {
    ...buildEditableMethods<Client, ClientChanges, ClientFilters>(send, 'clients', 'client_id'),
    ...buildCreateMethod<Client, ClientInput>(send, 'clients'),
  };
}

/** A contact as returned by the API (C36). */
export type Contact = {
  /** Identifier of the contact. */
  readonly contact_id: string;
  /** Name of the contact. */
  readonly contact_name: string;
  /** E-mail address. */
  readonly email: string;
  /** Telephone. */
  readonly tel: string;
  /** Fax. */
  readonly fax: string;
  /** Mobile telephone. */
  readonly mobile: string;
  /** Role of the contact. */
  readonly role: string;
  /** Name of the company of the contact. */
  readonly company_name: string;
  /** The client of the contact. "0" for none. */
  readonly client_id: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
};

/** Input to create a contact (C36). */
export type ContactInput = {
  /** Name of the contact. */
  readonly contact_name: string;
} & Optional<{
  /** E-mail address. */
  readonly email: string;
  /** Telephone. */
  readonly tel: string;
  /** Fax. */
  readonly fax: string;
  /** Mobile telephone. */
  readonly mobile: string;
  /** Role of the contact. */
  readonly role: string;
  /** Name of the company of the contact. */
  readonly company_name: string;
  /** The client of the contact. "0" for none. */
  readonly client_id: IdOrNone;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Fields of a contact that can be changed (C36). */
export type ContactChanges = Optional<ContactInput>;

/** Filters of the list of contacts, combined with AND (C36). */
export type ContactFilters = PageWindow &
  Optional<{
    /** Only contacts of this client; 0 for contacts without one. */
    readonly client_id: Id;
  }>;

/** Methods for contacts (C36). */
export type Contacts = EditableMethods<Contact, ContactChanges, ContactFilters> & CreateMethod<Contact, ContactInput>;

/** Creates the methods for contacts at `/contacts`. */
export function createContactMethods(send: Send): Contacts {
  return {
    ...buildEditableMethods<Contact, ContactChanges, ContactFilters>(send, 'contacts', 'contact_id'),
    ...buildCreateMethod<Contact, ContactInput>(send, 'contacts'),
  };
}

/** A project as returned by the API (C30, C34). */
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
  /** Price of the project, in its currency. */
  readonly price: string;
  /** Its position among the projects. */
  readonly project_order: string;
  /** Whether it may be shown to the client. */
  readonly public: Flag;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveStatus;
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
  readonly recurring: RecurrencePeriod;
  /** Always "0": there are no templates. */
  readonly template: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
  /** The assigned users. */
  readonly users: readonly AssignedUser[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeam[];
};

/** Input to create a project (C30, C34). */
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
  /** Price of the project, in its currency. */
  readonly price: NumberInput;
  /** Its position among the projects. */
  readonly project_order: NumberInput;
  /** Whether it may be shown to the client. */
  readonly public: FlagInput;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveStatusInput;
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
  readonly recurring: RecurrencePeriodInput;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
  /** The assigned users. */
  readonly users: readonly AssignedUserInput[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeamInput[];
}>;

/** Fields of a project that can be changed (C30, C34). */
export type ProjectChanges = Optional<ProjectInput>;

/** Filters of the list of projects, combined with AND (C30, C34). */
export type ProjectFilters = PageWindow &
  Optional<{
    /** For this client; 0 for projects without one. */
    readonly client_id: Id;
    /** Due on this day or later. */
    readonly due_from: CalendarDay;
    /** Due on this day or earlier. */
    readonly due_to: CalendarDay;
    /** Created on this day (UTC) or later. */
    readonly created_from: CalendarDay;
    /** Created on this day (UTC) or earlier. */
    readonly created_to: CalendarDay;
    /** With this tag. */
    readonly tag: string;
    /** open leaves out closed and archived; there are no templates. */
    readonly status: 'open' | 'closed' | 'templates' | 'archived';
    /** projectname and duedate ascending, progress, billablehours and latest descending; else by id. */
    readonly order: 'projectname' | 'duedate' | 'progress' | 'billablehours' | 'latest';
  }>;

/** Methods for projects (C30, C34). */
export type Projects = EditableMethods<Project, ProjectChanges, ProjectFilters> & CreateMethod<Project, ProjectInput>;

/** Creates the methods for projects at `/projects`. */
export function createProjectMethods(send: Send): Projects {
  return {
    ...buildEditableMethods<Project, ProjectChanges, ProjectFilters>(send, 'projects', 'project_id'),
    ...buildCreateMethod<Project, ProjectInput>(send, 'projects'),
  };
}

/** A task as returned by the API (C31, C33, C34). */
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
  /** Price of the task, in the currency of its project. */
  readonly price: string;
  /** Its position among the tasks of the project. */
  readonly task_order: string;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveStatus;
  /** Whether it is important. */
  readonly important: Flag;
  /** Whether it is completed. 1 completes the task and its open subtasks, 0 reopens the task. */
  readonly completed: Flag;
  /** Progress in percent. */
  readonly progress: string;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: Flag;
  /** Its recurrence: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: RecurrencePeriod;
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
  readonly users: readonly AssignedUser[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeam[];
};

/** Input to create a task (C31, C33, C34). */
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
  /** Price of the task, in the currency of its project. */
  readonly price: NumberInput;
  /** Its position among the tasks of the project. */
  readonly task_order: NumberInput;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveStatusInput;
  /** Whether it is important. */
  readonly important: FlagInput;
  /** Whether it is completed. 1 completes the task and its open subtasks, 0 reopens the task. */
  readonly completed: FlagInput;
  /** Progress in percent. */
  readonly progress: NumberInput;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: FlagInput;
  /** Its recurrence: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: RecurrencePeriodInput;
  /** Whether it is archived. */
  readonly archived: FlagInput;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
  /** The assigned users. */
  readonly users: readonly AssignedUserInput[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeamInput[];
}>;

/** Fields of a task that can be changed (C31, C33, C34). */
export type TaskChanges = Optional<
  TaskInput & {
    /** The project it moves to. */
    readonly project_id: Id;
    /** 1 reopens a completed task. */
    readonly resume: FlagInput;
  }
>;

/** Filters of the list of tasks, combined with AND (C31, C33, C34). */
export type TaskFilters = PageWindow &
  Optional<{
    /** Only tasks of this project. */
    readonly project_id: Id;
    /** Due on this day or later. */
    readonly due_from: CalendarDay;
    /** Due on this day or earlier. */
    readonly due_to: CalendarDay;
    /** Created on this day (UTC) or later. */
    readonly created_from: CalendarDay;
    /** Created on this day (UTC) or earlier. */
    readonly created_to: CalendarDay;
    /** Completed on this day (UTC) or later. */
    readonly completed_from: CalendarDay;
    /** Completed on this day (UTC) or earlier. */
    readonly completed_to: CalendarDay;
    /** With this tag. */
    readonly tag: string;
    /** open leaves out completed and archived. */
    readonly status: 'open' | 'completed' | 'active' | 'onhold' | 'inactive' | 'archived';
    /** taskname and duedate ascending (tasks without a due date last), progress and latest descending; else by id. */
    readonly order: 'taskname' | 'duedate' | 'progress' | 'latest';
  }>;

/** Methods for tasks; the first argument of `create` is the id of the parent (C31, C33, C34). */
export type Tasks = EditableMethods<Task, TaskChanges, TaskFilters> &
  CreateChildMethod<Task, TaskInput> &
  CompleteMethods<Task>;

/** Creates the methods for tasks at `/tasks`. */
export function createTaskMethods(send: Send): Tasks {
  return {
    ...buildEditableMethods<Task, TaskChanges, TaskFilters>(send, 'tasks', 'task_id'),
    ...buildCreateChildMethod<Task, TaskInput>(send, 'tasks'),
    ...buildCompleteMethods<Task>(send, 'tasks'),
  };
}

/** A subtask as returned by the API (C32, C33, C34). */
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
  readonly active: ActiveStatus;
  /** Whether it is important. */
  readonly important: Flag;
  /** Whether it is completed. 1 completes the subtask, 0 reopens it. */
  readonly completed: Flag;
  /** Progress in percent. */
  readonly progress: string;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: Flag;
  /** Its recurrence: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: RecurrencePeriod;
  /** Seconds worked on it: the sum of its time entries. */
  readonly tracked_seconds: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
  /** The assigned users. */
  readonly users: readonly AssignedUser[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeam[];
};

/** Input to create a subtask (C32, C33, C34). */
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
  readonly active: ActiveStatusInput;
  /** Whether it is important. */
  readonly important: FlagInput;
  /** Whether it is completed. 1 completes the subtask, 0 reopens it. */
  readonly completed: FlagInput;
  /** Progress in percent. */
  readonly progress: NumberInput;
  /** Stored for existing clients; it has no effect. */
  readonly notifications: FlagInput;
  /** Its recurrence: completing it creates the next one. D daily, W weekly, M monthly, Q quarterly, S every six months, Y yearly; empty: it does not recur. */
  readonly recurring: RecurrencePeriodInput;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
  /** The assigned users. */
  readonly users: readonly AssignedUserInput[];
  /** The assigned teams. */
  readonly teams: readonly AssignedTeamInput[];
}>;

/** Fields of a subtask that can be changed (C32, C33, C34). */
export type SubtaskChanges = Optional<
  SubtaskInput & {
    /** The task it moves to. */
    readonly task_id: Id;
    /** 1 reopens a completed subtask. */
    readonly resume: FlagInput;
  }
>;

/** Filters of the list of subtasks, combined with AND (C32, C33, C34). */
export type SubtaskFilters = PageWindow &
  Optional<{
    /** Only subtasks of this task. */
    readonly task_id: Id;
    /** Assigned to this user. */
    readonly user_id: Id;
    /** Assigned to this team. */
    readonly team_id: Id;
    /** Due on this day or later. */
    readonly due_from: CalendarDay;
    /** Due on this day or earlier. */
    readonly due_to: CalendarDay;
    /** Completed on this day (UTC) or later. */
    readonly completed_from: CalendarDay;
    /** Completed on this day (UTC) or earlier. */
    readonly completed_to: CalendarDay;
    /** open leaves out completed and archived; archived are those of archived tasks. */
    readonly status: 'open' | 'completed' | 'active' | 'onhold' | 'inactive' | 'archived';
  }>;

/** Methods for subtasks; the first argument of `create` is the id of the parent (C32, C33, C34). */
export type Subtasks = EditableMethods<Subtask, SubtaskChanges, SubtaskFilters> &
  CreateChildMethod<Subtask, SubtaskInput> &
  CompleteMethods<Subtask>;

/** Creates the methods for subtasks at `/subtasks`. */
export function createSubtaskMethods(send: Send): Subtasks {
  return {
    ...buildEditableMethods<Subtask, SubtaskChanges, SubtaskFilters>(send, 'subtasks', 'subtask_id'),
    ...buildCreateChildMethod<Subtask, SubtaskInput>(send, 'subtasks'),
    ...buildCompleteMethods<Subtask>(send, 'subtasks'),
  };
}

/** A team as returned by the API (C37). */
export type Team = {
  /** Identifier of the team. */
  readonly team_id: string;
  /** Name of the team. */
  readonly team_name: string;
  /** Colour. */
  readonly color: string;
  /** The members. */
  readonly users: readonly AssignedUser[];
};

/** Input to create a team (C37). */
export type TeamInput = {
  /** Name of the team. */
  readonly team_name: string;
} & Optional<{
  /** Colour. */
  readonly color: string;
  /** The members. */
  readonly users: readonly AssignedUserInput[];
}>;

/** Fields of a team that can be changed (C37). */
export type TeamChanges = Optional<TeamInput>;

/** Filters of the list of teams, combined with AND (C37). */
export type TeamFilters = PageWindow;

/** Methods for teams (C37). */
export type Teams = EditableMethods<Team, TeamChanges, TeamFilters> & CreateMethod<Team, TeamInput>;

/** Creates the methods for teams at `/teams`. */
export function createTeamMethods(send: Send): Teams {
  return {
    ...buildEditableMethods<Team, TeamChanges, TeamFilters>(send, 'teams', 'team_id'),
    ...buildCreateMethod<Team, TeamInput>(send, 'teams'),
  };
}

/** A time entry as returned by the API (C38). */
export type TimeEntry = {
  /** Identifier of the time entry. */
  readonly entry_id: string;
  /** The day of the work. Default: the day of date_started, or today in the account's time zone. Accepts yyyymmdd or the output format. */
  readonly date: string;
  /** When the work began. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_started: DateText;
  /** When the work ended. A running timer is started, not stopped, and has 0 seconds. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_stopped: DateText;
  /** The project of its task. */
  readonly project_id: string;
  /** The task that was worked on. */
  readonly task_id: string;
  /** The subtask that was worked on. "0" for none. */
  readonly subtask_id: string;
  /** The name of that project. */
  readonly project_name: string;
  /** The name of that task. */
  readonly task_name: string;
  /** The name of that subtask. */
  readonly subtask_name: string;
  /** Whole hours. */
  readonly hours: number;
  /** Minutes in addition to the hours. */
  readonly minutes: number;
  /** Duration in seconds. A value with a fraction is rounded to whole seconds. */
  readonly seconds: string;
  /** Description of the work. */
  readonly description: string;
  /** Whether it was billed. */
  readonly billed: 0 | 1;
  /** The user who worked. Only admins may give another user. "0" for none. */
  readonly user_id: string;
  /** The name of that user. */
  readonly user_name: string;
};

/** Input to create a time entry (C38). */
export type TimeEntryInput = {
  /** Duration in seconds. A value with a fraction is rounded to whole seconds. */
  readonly seconds: NumberInput;
} & Optional<{
  /** The day of the work. Default: the day of date_started, or today in the account's time zone. Accepts yyyymmdd or the output format. */
  readonly date: string | null;
  /** When the work began. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_started: DateInputOrNone;
  /** When the work ended. A running timer is started, not stopped, and has 0 seconds. Accepts yyyymmdd or the output format; empty for none. */
  readonly date_stopped: DateInputOrNone;
  /** The subtask that was worked on. "0" for none. */
  readonly subtask_id: IdOrNone;
  /** Description of the work. */
  readonly description: string;
  /** Whether it was billed. */
  readonly billed: FlagInput;
  /** The user who worked. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Fields of a time entry that can be changed (C38). */
export type TimeEntryChanges = Optional<
  TimeEntryInput & {
    /** The task it moves to. */
    readonly task_id: Id;
  }
>;

/** Filters of the list of time entries, combined with AND (C38). */
export type TimeEntryFilters = PageWindow &
  Optional<{
    /** Only entries of this user. */
    readonly user_id: Id;
    /** Only entries of projects for this client; 0 for projects without one. */
    readonly client_id: Id;
    /** Only entries of this project. */
    readonly project_id: Id;
    /** Only entries of this task. */
    readonly task_id: Id;
    /** Only entries of this subtask; 0 for entries without one. */
    readonly subtask_id: Id;
    /** 1 leaves out billed entries. */
    readonly hide_billed: '0' | '1';
    /** 1: running timers; 0: all others. */
    readonly running: '0' | '1';
    /** Created on this day (UTC) or later. */
    readonly created_from: CalendarDay;
    /** Created on this day (UTC) or earlier. */
    readonly created_to: CalendarDay;
    /** Worked on this day or later. */
    readonly date_from: CalendarDay;
    /** Worked on this day or earlier. */
    readonly date_to: CalendarDay;
  }>;

/** Methods for time entries; the first argument of `create` is the id of the parent (C38). */
export type TimeEntries = EditableMethods<TimeEntry, TimeEntryChanges, TimeEntryFilters> &
  CreateChildMethod<TimeEntry, TimeEntryInput>;

/** Creates the methods for time entries at `/time_entries`. */
export function createTimeEntryMethods(send: Send): TimeEntries {
  return {
    ...buildEditableMethods<TimeEntry, TimeEntryChanges, TimeEntryFilters>(send, 'time_entries', 'entry_id'),
    ...buildCreateChildMethod<TimeEntry, TimeEntryInput>(send, 'time_entries'),
  };
}

/** A comment as returned by the API (C39). */
export type Comment = {
  /** Identifier of the comment. */
  readonly comment_id: string;
  /** The text. */
  readonly comment: string;
  /** The comment that it replies to, which must not be a reply itself. "0" for none. */
  readonly parent_id: string;
  /** The project of the comment. */
  readonly project_id: string;
  /** The task of the comment. "0" for none. */
  readonly task_id: string;
  /** The subtask of that task. "0" for none. */
  readonly subtask_id: string;
  /** Always null: there are no files. */
  readonly filepath: null;
  /** Always null: there are no files. */
  readonly filename: null;
  /** Always "0": it is a comment, not a note. */
  readonly note: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
};

/** A comment as returned in lists. */
export type ListedComment = Comment & {
  /** Number of replies. */
  readonly reply_count: string;
  /** The first 50 replies, by id. Filter the list by parent_id to get all. */
  readonly replies: readonly Comment[];
};

/** Input to create a comment (C39). */
export type CommentInput = {
  /** The text. */
  readonly comment: string;
} & Optional<{
  /** The comment that it replies to, which must not be a reply itself. "0" for none. */
  readonly parent_id: IdOrNone;
  /** The task of the comment. "0" for none. */
  readonly task_id: IdOrNone;
  /** The subtask of that task. "0" for none. */
  readonly subtask_id: IdOrNone;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Filters of the list of comments, combined with AND (C39). */
export type CommentFilters = PageWindow &
  Optional<{
    /** On this project, its tasks and subtasks. */
    readonly project_id: Id;
    /** On this task and its subtasks. */
    readonly task_id: Id;
    /** On this subtask. */
    readonly subtask_id: Id;
    /** Replies to this comment. Default: comments that are not replies. */
    readonly parent_id: Id;
  }>;

/** Methods for comments; the first argument of `create` is the id of the parent (C39). */
export type Comments = ListMethods<ListedComment, CommentFilters> &
  GetMethod<Comment> &
  DeleteMethod &
  CreateChildMethod<Comment, CommentInput>;

/** Creates the methods for comments at `/comments`. */
export function createCommentMethods(send: Send): Comments {
  return {
    ...buildListMethods<ListedComment, CommentFilters>(send, 'comments', 'comment_id'),
    ...buildGetMethod<Comment>(send, 'comments'),
    ...buildDeleteMethod(send, 'comments'),
    ...buildCreateChildMethod<Comment, CommentInput>(send, 'comments'),
  };
}
