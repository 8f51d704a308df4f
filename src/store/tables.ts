import type { Generated } from 'kysely';

/**
 * Every table as one type. Times are milliseconds since the epoch, UTC; start_date and due_date are calendar times
 * without a zone (`YYYY-MM-DD HH:MM:SS`), null for none; flags are 0 or 1; id 0 means none.
 */
export type Tables = {
  accounts: Accounts;
  positions: { account_id: number; position: number; occurred_at: Generated<number>; epoch_start: Generated<number> };
  users: Users;
  api_keys: ApiKeys;
  clients: Clients;
  projects: Projects;
  tasks: Tasks;
  subtasks: Subtasks;
  events: Events;
  assignments: { account_id: number; noun: string; record_id: number; user_id: number };
  hooks: Hooks;
  targets: { target_hash: string; account_id: number; hook_id: number };
  occurrences: Occurrences;
  owed: Owed;
  asks: { ask_id: Generated<number>; account_id: number; hook_id: number; delivery_id: number };
  settled: Settled;
  attempts: Attempts;
  nodes: { node_id: Generated<number>; version: string; role: string; beat: Generated<number> };
  idempotency: Idempotency;
  passphrases: { user_id: number; account_id: number; passphrase_hash: string; date_modified: number };
  sessions: Sessions;
  invitations: Invitations;
  fetches: { account_id: number; user_id: number; noun: string; record_id: number; fetched_at: number };
  notices: Notices;
  mails: Mails;
  calendars: Calendars;
  imported_events: { account_id: number; entry_hash: string; event_id: number; content_hash: string };
  audit: Audit;
  transfers: Transfers;
};

/** The tables whose rows belong to an account: everything a caller may reach, and only through it. */
export type AccountTable = Exclude<keyof Tables, 'nodes' | 'transfers'>;

/** Those whose rows may be changed and deleted: the audit log is only ever added to. */
export type ChangingTable = Exclude<AccountTable, 'audit'>;

type Stamps = { date_created: number; date_modified: number | null; user_id: number };
type Span = { start_date: string | null; due_date: string | null };

export type Accounts = {
  account_id: Generated<number>;
  domain: string;
  company_name: string;
  address1: Generated<string>;
  address2: Generated<string>;
  city: Generated<string>;
  state: Generated<string>;
  postcode: Generated<string>;
  country: Generated<string>;
  currency: Generated<string>;
  phone: Generated<string>;
  time_zone: Generated<string>;
  date_created: number;
};

export type Users = {
  user_id: Generated<number>;
  account_id: number;
  email: string;
  first_name: string;
  last_name: string;
  role: string;
  date_created: number;
  date_modified: number | null;
  date_deleted: number | null;
};

export type ApiKeys = {
  key_id: Generated<number>;
  account_id: number;
  user_id: number;
  key_hash: string;
  label: string;
  permissions: string;
  date_created: number;
  last_used: number | null;
  expires_at: number | null;
  revoked_at: number | null;
};

export type Clients = Stamps & {
  client_id: Generated<number>;
  account_id: number;
  client_name: string;
  email: string;
  tel: string;
  fax: string;
  mobile: string;
  website: string;
  address: string;
  city: string;
  state: string;
  postcode: string;
  country: string;
  notes: string;
  background: string;
  active: number;
};

export type Projects = Stamps &
  Span & {
    project_id: Generated<number>;
    account_id: number;
    project_name: string;
    uri: string;
    description: string;
    color: string;
    tags: string;
    notes: string;
    ongoing: number;
    client_id: number;
    currency: string;
    hourly_rate: string;
    fixed_price: number;
    price: string;
    public: number;
    active: number;
    important: number;
    closed: number;
    archived: number;
    progress: number;
  };

export type Tasks = Stamps &
  Span & {
    task_id: Generated<number>;
    account_id: number;
    task_name: string;
    description: string;
    color: string;
    tags: string;
    notes: string;
    date_completed: number | null;
    ongoing: number;
    project_id: number;
    estimated_hours: string;
    estimated_cost: string;
    hourly_rate: string;
    fixed_price: number;
    price: string;
    task_order: number;
    active: number;
    important: number;
    completed: number;
    progress: number;
    recurring: number;
    archived: number;
  };

export type Subtasks = Stamps &
  Span & {
    subtask_id: Generated<number>;
    account_id: number;
    subtask_name: string;
    description: string;
    color: string;
    notes: string;
    date_completed: number | null;
    ongoing: number;
    task_id: number;
    estimated_hours: string;
    subtask_order: number;
    active: number;
    important: number;
    completed: number;
    progress: number;
    recurring: number;
  };

export type Events = Stamps & {
  event_id: Generated<number>;
  account_id: number;
  event_name: string;
  start_date: string;
  due_date: string;
  project_id: number;
};

export type Hooks = {
  hook_id: Generated<number>;
  account_id: number;
  user_id: number;
  kind: string;
  target: string;
  date_created: number;
  failures: Generated<number>;
  due_at: number | null;
  retry_delivery_id: number | null;
  last_outcome: Generated<string>;
  generation: Generated<number>;
  lease_owner: Generated<number>;
  date_ended: number | null;
  ended_reason: Generated<string>;
  ended_position: number | null;
  secrets: Generated<string | null>;
  unheard: Generated<number>;
};

export type Occurrences = {
  account_id: number;
  position: number;
  kind: string;
  user_id: number;
  record_id: number;
  occurred_at: number;
};

type Delivery = {
  account_id: number;
  user_id: number;
  hook_id: number;
  position: number | null;
  kind: string;
  record_id: number;
  owed_at: number;
};

export type Owed = Delivery & { delivery_id: Generated<number> };

export type Settled = Delivery & { delivery_id: number; settled_at: number; state: string };

export type Attempts = {
  attempt_id: Generated<number>;
  account_id: number;
  hook_id: number;
  delivery_id: number;
  attempted_at: number;
  outcome: string;
  milliseconds: number;
  counted: number;
  reason: string;
};

export type Idempotency = {
  key_id: number;
  idempotency_key: string;
  account_id: number;
  fingerprint: string;
  status: number;
  location: string;
  body: string;
  answered_at: number;
};

export type Sessions = {
  session_id: Generated<number>;
  account_id: number;
  user_id: number;
  token_hash: string;
  date_created: number;
  last_used: number;
  expires_at: number;
  agent: string;
  source: string;
};

export type Invitations = {
  invitation_id: Generated<number>;
  account_id: number;
  user_id: number;
  made_by: number;
  token_hash: string;
  date_created: number;
  expires_at: number;
  used_at: number | null;
};

export type Notices = {
  notice_id: Generated<number>;
  account_id: number;
  user_id: number;
  hook_id: number;
  what: string;
  noted_at: number;
  mail_id: Generated<number>;
};

export type Mails = {
  mail_id: Generated<number>;
  account_id: number;
  user_id: number;
  made_at: number;
  due_at: number;
  tries: Generated<number>;
  sealed: Generated<number>;
  lease_owner: Generated<number>;
};

export type Calendars = {
  calendar_id: Generated<number>;
  account_id: number;
  user_id: number;
  token_hash: string;
  label: string;
  scope: string;
  project_id: number;
  time_zone: string;
  permissions: string;
  date_created: number;
  last_fetched: number | null;
  expires_at: number | null;
};

export type Audit = {
  audit_id: Generated<number>;
  account_id: number;
  user_id: number;
  key_id: number;
  action: string;
  subject: string;
  detail: string;
  source: string;
  happened_at: number;
};

export type Transfers = {
  transfer_id: number;
  work: 'import' | 'removal';
  checksum: string;
  account_id: number;
  line: number;
  begun_at: number;
};
