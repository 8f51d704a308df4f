-- {id}: a generated id that is never issued again. {int}: an integer up to 2^63. {text}: text, ordered by code points.
-- {table} ends a table; {clustered} ends a table that is stored in the order of its primary key.
-- Timestamps in {int} columns are milliseconds since the epoch, UTC. start_date and due_date are calendar times without a
-- zone, as text (YYYY-MM-DD HH:MM:SS), or null. Every index of an account's rows begins with account_id.

create table accounts (
  account_id {id},
  domain {text} not null unique,
  company_name {text} not null,
  address1 {text} not null default '',
  address2 {text} not null default '',
  city {text} not null default '',
  state {text} not null default '',
  postcode {text} not null default '',
  country {text} not null default '',
  currency {text} not null default '',
  phone {text} not null default '',
  time_zone {text} not null default 'UTC',
  date_created {int} not null
) {table};

-- The last feed position of each account. It is allocated at the end of a transaction, so that positions are gapless and
-- in commit order. A narrow table, because every write of the account updates it.
create table positions (
  account_id {int} primary key references accounts,
  position {int} not null
) {table};

create table users (
  user_id {id},
  account_id {int} not null references accounts,
  email {text} not null,
  first_name {text} not null,
  last_name {text} not null,
  role {text} not null,
  date_created {int} not null,
  date_modified {int},
  date_deleted {int}
) {table};
create unique index users_by_email on users (account_id, email) where date_deleted is null;

create table api_keys (
  key_id {id},
  account_id {int} not null references accounts,
  user_id {int} not null references users,
  key_hash {text} not null unique,
  label {text} not null,
  permissions {text} not null,
  date_created {int} not null,
  last_used {int},
  expires_at {int},
  revoked_at {int}
) {table};
create index api_keys_by_user on api_keys (account_id, user_id);

create table clients (
  client_id {id},
  account_id {int} not null references accounts,
  client_name {text} not null,
  email {text} not null,
  tel {text} not null,
  fax {text} not null,
  mobile {text} not null,
  website {text} not null,
  address {text} not null,
  city {text} not null,
  state {text} not null,
  postcode {text} not null,
  country {text} not null,
  notes {text} not null,
  background {text} not null,
  active {int} not null,
  date_created {int} not null,
  date_modified {int},
  user_id {int} not null
) {table};
create index clients_by_account on clients (account_id, client_id);

create table projects (
  project_id {id},
  account_id {int} not null references accounts,
  project_name {text} not null,
  uri {text} not null,
  description {text} not null,
  color {text} not null,
  tags {text} not null,
  notes {text} not null,
  start_date {text},
  due_date {text},
  ongoing {int} not null,
  client_id {int} not null,
  currency {text} not null,
  hourly_rate {text} not null,
  fixed_price {int} not null,
  price {text} not null,
  public {int} not null,
  active {int} not null,
  important {int} not null,
  closed {int} not null,
  archived {int} not null,
  progress {int} not null,
  date_created {int} not null,
  date_modified {int},
  user_id {int} not null
) {table};
create index projects_by_account on projects (account_id, project_id);
create index projects_by_client on projects (account_id, client_id);

create table tasks (
  task_id {id},
  account_id {int} not null references accounts,
  task_name {text} not null,
  description {text} not null,
  color {text} not null,
  tags {text} not null,
  notes {text} not null,
  start_date {text},
  due_date {text},
  date_completed {int},
  ongoing {int} not null,
  project_id {int} not null references projects,
  estimated_hours {text} not null,
  estimated_cost {text} not null,
  hourly_rate {text} not null,
  fixed_price {int} not null,
  price {text} not null,
  task_order {int} not null,
  active {int} not null,
  important {int} not null,
  completed {int} not null,
  progress {int} not null,
  recurring {int} not null,
  archived {int} not null,
  date_created {int} not null,
  date_modified {int},
  user_id {int} not null
) {table};
create index tasks_by_account on tasks (account_id, task_id);
create index tasks_by_project on tasks (account_id, project_id, task_id);
create index tasks_of_project on tasks (project_id);

create table subtasks (
  subtask_id {id},
  account_id {int} not null references accounts,
  subtask_name {text} not null,
  description {text} not null,
  color {text} not null,
  notes {text} not null,
  start_date {text},
  due_date {text},
  date_completed {int},
  ongoing {int} not null,
  task_id {int} not null references tasks,
  estimated_hours {text} not null,
  subtask_order {int} not null,
  active {int} not null,
  important {int} not null,
  completed {int} not null,
  progress {int} not null,
  recurring {int} not null,
  date_created {int} not null,
  date_modified {int},
  user_id {int} not null
) {table};
create index subtasks_by_account on subtasks (account_id, subtask_id);
create index subtasks_by_task on subtasks (account_id, task_id, subtask_id);
create index subtasks_of_task on subtasks (task_id);

create table events (
  event_id {id},
  account_id {int} not null references accounts,
  event_name {text} not null,
  start_date {text} not null,
  due_date {text} not null,
  project_id {int} not null,
  date_created {int} not null,
  date_modified {int},
  user_id {int} not null
) {table};
create index events_by_start on events (account_id, start_date, event_id);
create index events_by_due on events (account_id, due_date);
create index events_by_project on events (account_id, project_id, start_date);

-- Users assigned to a project, task or subtask (noun, record_id).
create table assignments (
  account_id {int} not null references accounts,
  noun {text} not null,
  record_id {int} not null,
  user_id {int} not null references users,
  primary key (account_id, noun, record_id, user_id)
) {table};
create index assignments_by_user on assignments (account_id, user_id);

-- Hooks with their delivery state. Only the dispatcher writes failures, due_at, retry_delivery_id, last_outcome and the
-- lease. generation is the fencing token: raised when a hook ends, is restored or is leased to another node.
create table hooks (
  hook_id {id},
  account_id {int} not null references accounts,
  user_id {int} not null references users,
  kind {text} not null,
  target {text} not null,
  date_created {int} not null,
  failures {int} not null default 0,
  due_at {int},
  retry_delivery_id {int},
  last_outcome {text} not null default '',
  generation {int} not null default 1,
  lease_owner {text} not null default '',
  leased_until {int} not null default 0,
  date_ended {int},
  ended_reason {text} not null default '',
  ended_position {int}
) {table};
create index hooks_told on hooks (account_id, user_id, kind) where date_ended is null;
create index hooks_by_user on hooks (account_id, user_id, hook_id);
create index hooks_ended on hooks (date_ended) where date_ended is not null;

-- The target of a live hook is unique over all accounts.
create table targets (
  target_hash {text} primary key,
  account_id {int} not null,
  hook_id {int} not null unique
) {table};

create table occurrences (
  account_id {int} not null,
  position {int} not null,
  kind {text} not null,
  user_id {int} not null,
  record_id {int} not null,
  occurred_at {int} not null,
  primary key (account_id, position)
) {clustered};

-- The outbox: pending deliveries. Small and frequently changed. position is null for a test.
create table owed (
  delivery_id {id},
  account_id {int} not null,
  user_id {int} not null,
  hook_id {int} not null references hooks,
  position {int},
  kind {text} not null,
  record_id {int} not null,
  owed_at {int} not null
) {table};
create unique index owed_by_lane on owed (hook_id, position);

-- Requested manual attempts (a test or a redelivery): made immediately, not counted. Deleted when made.
create table asks (
  ask_id {id},
  account_id {int} not null,
  hook_id {int} not null references hooks,
  delivery_id {int} not null
) {table};
create index asks_by_lane on asks (hook_id, ask_id);
create index asks_by_delivery on asks (delivery_id);

-- Finalized deliveries (delivered or failed): append-only.
create table settled (
  delivery_id {int} primary key,
  account_id {int} not null,
  user_id {int} not null,
  hook_id {int} not null,
  position {int},
  kind {text} not null,
  record_id {int} not null,
  owed_at {int} not null,
  settled_at {int} not null,
  state {text} not null
) {table};
create index settled_by_user on settled (account_id, user_id, delivery_id);
create index settled_by_hook on settled (hook_id, delivery_id);
create index settled_by_time on settled (settled_at);

create table attempts (
  attempt_id {id},
  account_id {int} not null,
  hook_id {int} not null,
  delivery_id {int} not null,
  attempted_at {int} not null,
  outcome {text} not null,
  milliseconds {int} not null,
  counted {int} not null,
  reason {text} not null
) {table};
create index attempts_by_delivery on attempts (delivery_id, attempt_id);
