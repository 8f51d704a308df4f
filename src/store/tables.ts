import type { Generated } from 'kysely';

/** What may stand in a column. */
export type Cell = 'number' | 'number or null' | 'text' | 'text or null';

/** A column: what may stand in it, and its type in a query. */
export type Column<Type = unknown> = { readonly cell: Cell; readonly type?: Type };

const column = <Type>(cell: Cell): Column<Type> => ({ cell });

const number = column<number>('number');
const text = column<string>('text');
const numberOrNull = column<number | null>('number or null');
const textOrNull = column<string | null>('text or null');

/** What the database fills in where an insertion leaves it out: an id that it issues, or what the migration says. */
const issued = column<Generated<number>>('number');
const numberOrDefault = column<Generated<number>>('number');
const textOrDefault = column<Generated<string>>('text');
const textOrNullOrDefault = column<Generated<string | null>>('text or null');

const stamps = { date_created: number, date_modified: numberOrNull, user_id: number };
const span = { start_date: textOrNull, due_date: textOrNull };
const delivery = {
  account_id: number,
  user_id: number,
  hook_id: number,
  position: numberOrNull,
  kind: text,
  record_id: number,
  owed_at: number,
};

/**
 * Every table with its columns, said once: types of queries, and what an export holds. Times are milliseconds since the
 * epoch, UTC; start_date and due_date are calendar times without a zone (`YYYY-MM-DD HH:MM:SS`), null for none; flags are
 * 0 or 1; id 0 means none.
 */
export const columns = {
  accounts: {
    account_id: issued,
    domain: text,
    company_name: text,
    address1: textOrDefault,
    address2: textOrDefault,
    city: textOrDefault,
    state: textOrDefault,
    postcode: textOrDefault,
    country: textOrDefault,
    currency: textOrDefault,
    phone: textOrDefault,
    time_zone: textOrDefault,
    date_created: number,
  },
  positions: { account_id: number, position: number, occurred_at: numberOrDefault, epoch_start: numberOrDefault },
  users: {
    user_id: issued,
    account_id: number,
    email: text,
    first_name: text,
    last_name: text,
    role: text,
    date_created: number,
    date_modified: numberOrNull,
    date_deleted: numberOrNull,
  },
  clients: {
    client_id: issued,
    account_id: number,
    client_name: text,
    email: text,
    tel: text,
    fax: text,
    mobile: text,
    website: text,
    address: text,
    city: text,
    state: text,
    postcode: text,
    country: text,
    notes: text,
    background: text,
    active: number,
    ...stamps,
  },
  contacts: {
    contact_id: issued,
    account_id: number,
    contact_name: text,
    email: text,
    tel: text,
    fax: text,
    mobile: text,
    role: text,
    company_name: text,
    client_id: number,
    ...stamps,
  },
  projects: {
    project_id: issued,
    account_id: number,
    project_name: text,
    uri: text,
    description: text,
    color: text,
    tags: text,
    notes: text,
    ...span,
    ongoing: number,
    client_id: number,
    currency: text,
    hourly_rate: text,
    fixed_price: number,
    price: text,
    public: number,
    active: number,
    important: number,
    closed: number,
    archived: number,
    progress: number,
    ...stamps,
  },
  tasks: {
    task_id: issued,
    account_id: number,
    task_name: text,
    description: text,
    color: text,
    tags: text,
    notes: text,
    ...span,
    date_completed: numberOrNull,
    ongoing: number,
    project_id: number,
    estimated_hours: text,
    estimated_cost: text,
    hourly_rate: text,
    fixed_price: number,
    price: text,
    task_order: number,
    active: number,
    important: number,
    completed: number,
    progress: number,
    recurring: number,
    archived: number,
    ...stamps,
  },
  subtasks: {
    subtask_id: issued,
    account_id: number,
    subtask_name: text,
    description: text,
    color: text,
    notes: text,
    ...span,
    date_completed: numberOrNull,
    ongoing: number,
    task_id: number,
    estimated_hours: text,
    subtask_order: number,
    active: number,
    important: number,
    completed: number,
    progress: number,
    recurring: number,
    ...stamps,
  },
  events: {
    event_id: issued,
    account_id: number,
    event_name: text,
    start_date: text,
    due_date: text,
    project_id: number,
    ...stamps,
  },
  imported_events: { account_id: number, entry_hash: text, event_id: number, content_hash: text },
  assignments: { account_id: number, noun: text, record_id: number, user_id: number },
  occurrences: {
    account_id: number,
    position: number,
    kind: text,
    user_id: number,
    record_id: number,
    occurred_at: number,
  },
  audit: {
    audit_id: issued,
    account_id: number,
    user_id: number,
    key_id: number,
    action: text,
    subject: text,
    detail: text,
    source: text,
    happened_at: number,
  },
  hooks: {
    hook_id: issued,
    account_id: number,
    user_id: number,
    kind: text,
    target: text,
    date_created: number,
    failures: numberOrDefault,
    due_at: numberOrNull,
    retry_delivery_id: numberOrNull,
    last_outcome: textOrDefault,
    generation: numberOrDefault,
    lease_owner: numberOrDefault,
    date_ended: numberOrNull,
    ended_reason: textOrDefault,
    ended_position: numberOrNull,
    secrets: textOrNullOrDefault,
    unheard: numberOrDefault,
  },
  targets: { target_hash: text, account_id: number, hook_id: number },
  settled: { delivery_id: number, ...delivery, settled_at: number, state: text },
  attempts: {
    attempt_id: issued,
    account_id: number,
    hook_id: number,
    delivery_id: number,
    attempted_at: number,
    outcome: text,
    milliseconds: number,
    counted: number,
    reason: text,
  },
  owed: { delivery_id: issued, ...delivery },
  asks: { ask_id: issued, account_id: number, hook_id: number, delivery_id: number },
  api_keys: {
    key_id: issued,
    account_id: number,
    user_id: number,
    key_hash: text,
    label: text,
    permissions: text,
    date_created: number,
    last_used: numberOrNull,
    expires_at: numberOrNull,
    revoked_at: numberOrNull,
  },
  calendars: {
    calendar_id: issued,
    account_id: number,
    user_id: number,
    token_hash: text,
    label: text,
    scope: text,
    project_id: number,
    time_zone: text,
    permissions: text,
    date_created: number,
    last_fetched: numberOrNull,
    expires_at: numberOrNull,
  },
  passphrases: { user_id: number, account_id: number, passphrase_hash: text, date_modified: number },
  idempotency: {
    key_id: number,
    idempotency_key: text,
    account_id: number,
    fingerprint: text,
    status: number,
    location: text,
    body: text,
    answered_at: number,
  },
  nodes: { node_id: issued, version: text, role: text, beat: numberOrDefault },
  sessions: {
    session_id: issued,
    account_id: number,
    user_id: number,
    token_hash: text,
    date_created: number,
    last_used: number,
    expires_at: number,
    agent: text,
    source: text,
  },
  invitations: {
    invitation_id: issued,
    account_id: number,
    user_id: number,
    made_by: number,
    token_hash: text,
    date_created: number,
    expires_at: number,
    used_at: numberOrNull,
  },
  fetches: { account_id: number, user_id: number, noun: text, record_id: number, fetched_at: number },
  notices: {
    notice_id: issued,
    account_id: number,
    user_id: number,
    hook_id: number,
    what: text,
    noted_at: number,
    mail_id: numberOrDefault,
  },
  mails: {
    mail_id: issued,
    account_id: number,
    user_id: number,
    made_at: number,
    due_at: number,
    tries: numberOrDefault,
    sealed: numberOrDefault,
    lease_owner: numberOrDefault,
  },
  transfers: {
    transfer_id: number,
    work: column<'import' | 'removal'>('text'),
    checksum: text,
    account_id: number,
    line: number,
    begun_at: number,
  },
};

type TypeOf<C> = C extends Column<infer Type> ? Type : never;

/** Every table as one type. */
export type Tables = {
  [T in keyof typeof columns]: { [C in keyof (typeof columns)[T]]: TypeOf<(typeof columns)[T][C]> };
};

/** The tables whose rows belong to an account: everything a caller may reach, and only through it. */
export type AccountTable = Exclude<keyof Tables, 'nodes' | 'transfers'>;

/** Those whose rows may be changed and deleted: the audit log is only ever added to. */
export type ChangingTable = Exclude<AccountTable, 'audit'>;
