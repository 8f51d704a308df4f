/** The typed client of Carillon's REST API. It has no dependencies, and runs wherever there is a global `fetch`. */

export type {
  Attempt,
  Deliveries,
  Delivery,
  DeliveryDetail,
  DeliveryFilters,
  DeliveryState,
} from './activity.ts';
export type {
  Active,
  ActiveInput,
  Assigned,
  AssignedInput,
  AssignedTeam,
  AssignedTeamInput,
  DateInput,
  DateInputOrNone,
  DateText,
  Day,
  FeedKind,
  Flag,
  FlagInput,
  Id,
  IdOrNone,
  Kind,
  NumberInput,
  Optional,
  Page,
  Paging,
  Period,
  PeriodInput,
  Window,
} from './api-types.ts';
export { feedResourceTypes, kinds } from './api-types.ts';
export type {
  Calendar,
  CalendarFilters,
  CalendarInput,
  CalendarScope,
  Calendars,
  CreatedCalendar,
  Dropped,
  DropReason,
  ImportInput,
  ImportReport,
  Imports,
} from './calendars.ts';
export { Carillon, type CarillonOptions } from './carillon.ts';
export { CarillonError, clientCodes, type FieldError, type Problem, type ProblemCode, serviceCodes } from './errors.ts';
export type { FollowOptions } from './follow.ts';
export type {
  EndedReason,
  Hook,
  HookFilters,
  HookInput,
  HookSecret,
  HookSecretInput,
  HookState,
  Hooks,
} from './hooks.ts';
export type { IssuedKey, Key, KeyChanges, KeyFilters, KeyInput, Keys, Permission, PermissionArea } from './keys.ts';
export type {
  FeedPage,
  FollowFilters,
  Notification,
  NotificationFilters,
  Notifications,
} from './notifications.ts';
export type { Notified } from './parse-notification.ts';
export type { Account, Caller, Company, Role, User, UserChanges, UserInput, Users } from './people.ts';
export type {
  Completes,
  Creates,
  CreatesUnder,
  Deletes,
  Editable,
  GetOptions,
  Gets,
  Lists,
  Updates,
} from './resource-methods.ts';
export type {
  CalendarEvent,
  Client,
  ClientChanges,
  ClientFilters,
  ClientInput,
  Clients,
  Comment,
  CommentFilters,
  CommentInput,
  Comments,
  Contact,
  ContactChanges,
  ContactFilters,
  ContactInput,
  Contacts,
  EventChanges,
  EventFilters,
  EventInput,
  Events,
  ListedComment,
  Project,
  ProjectChanges,
  ProjectFilters,
  ProjectInput,
  Projects,
  Subtask,
  SubtaskChanges,
  SubtaskFilters,
  SubtaskInput,
  Subtasks,
  Task,
  TaskChanges,
  TaskFilters,
  TaskInput,
  Tasks,
  Team,
  TeamChanges,
  TeamFilters,
  TeamInput,
  Teams,
  TimeEntries,
  TimeEntry,
  TimeEntryChanges,
  TimeEntryFilters,
  TimeEntryInput,
} from './resources.ts';
export { etagOf } from './response-body.ts';
export type { CallOptions, ChangeOptions, Fetch, OnceOptions } from './transport.ts';
export { type Authenticate, apiKey, type Credentials } from './transport.ts';
