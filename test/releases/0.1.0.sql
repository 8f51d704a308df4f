-- {"keys":{"acme.test":"carillon_T-7Qssnc8n17eQwiWpIEdIRm7FQ3HfJyqRBvi8OQyxY","other.test":"carillon_5Wtd9U1n-LzuTpmO1fjZDFWBP9YR9XEyIHr96T0m3mw","member":"carillon_YiYz3AmCzZWWmFwVMp_q_K90N1oomDO9sePtjpdfRlI","narrow":"carillon_xuXaBLebrt0liE6SYDcZhM9PylbykvUhVcWMfhb1IAg","revoked":"carillon_86AOOWYLYTC6lnSQ2J0NfIWhbSyhKbzE8P5Uh0rPC44"},"hooks":{"live":{"id":"1"},"failing":{"id":"2"},"refusing":{"id":"3"},"hanging":{"id":"4"},"deleted":{"id":"5"},"others":{"id":"6"}}}
pragma foreign_keys = off;
CREATE TABLE migrations (version integer primary key, name text not null) strict;
CREATE TABLE accounts (
  account_id integer primary key autoincrement,
  domain text not null unique,
  company_name text not null,
  address1 text not null default '',
  address2 text not null default '',
  city text not null default '',
  state text not null default '',
  postcode text not null default '',
  country text not null default '',
  currency text not null default '',
  phone text not null default '',
  time_zone text not null default 'UTC',
  date_created integer not null
) strict;
CREATE TABLE positions (
  account_id integer primary key references accounts,
  position integer not null
) strict;
CREATE TABLE users (
  user_id integer primary key autoincrement,
  account_id integer not null references accounts,
  email text not null,
  first_name text not null,
  last_name text not null,
  role text not null,
  date_created integer not null,
  date_modified integer,
  date_deleted integer
) strict;
CREATE UNIQUE INDEX users_by_email on users (account_id, email) where date_deleted is null;
CREATE TABLE api_keys (
  key_id integer primary key autoincrement,
  account_id integer not null references accounts,
  user_id integer not null references users,
  key_hash text not null unique,
  label text not null,
  permissions text not null,
  date_created integer not null,
  last_used integer,
  expires_at integer,
  revoked_at integer
) strict;
CREATE INDEX api_keys_by_user on api_keys (account_id, user_id);
CREATE TABLE clients (
  client_id integer primary key autoincrement,
  account_id integer not null references accounts,
  client_name text not null,
  email text not null,
  tel text not null,
  fax text not null,
  mobile text not null,
  website text not null,
  address text not null,
  city text not null,
  state text not null,
  postcode text not null,
  country text not null,
  notes text not null,
  background text not null,
  active integer not null,
  date_created integer not null,
  date_modified integer,
  user_id integer not null
) strict;
CREATE INDEX clients_by_account on clients (account_id, client_id);
CREATE TABLE projects (
  project_id integer primary key autoincrement,
  account_id integer not null references accounts,
  project_name text not null,
  uri text not null,
  description text not null,
  color text not null,
  tags text not null,
  notes text not null,
  start_date text,
  due_date text,
  ongoing integer not null,
  client_id integer not null,
  currency text not null,
  hourly_rate text not null,
  fixed_price integer not null,
  price text not null,
  public integer not null,
  active integer not null,
  important integer not null,
  closed integer not null,
  archived integer not null,
  progress integer not null,
  date_created integer not null,
  date_modified integer,
  user_id integer not null
) strict;
CREATE INDEX projects_by_account on projects (account_id, project_id);
CREATE INDEX projects_by_client on projects (account_id, client_id);
CREATE TABLE tasks (
  task_id integer primary key autoincrement,
  account_id integer not null references accounts,
  task_name text not null,
  description text not null,
  color text not null,
  tags text not null,
  notes text not null,
  start_date text,
  due_date text,
  date_completed integer,
  ongoing integer not null,
  project_id integer not null references projects,
  estimated_hours text not null,
  estimated_cost text not null,
  hourly_rate text not null,
  fixed_price integer not null,
  price text not null,
  task_order integer not null,
  active integer not null,
  important integer not null,
  completed integer not null,
  progress integer not null,
  recurring integer not null,
  archived integer not null,
  date_created integer not null,
  date_modified integer,
  user_id integer not null
) strict;
CREATE INDEX tasks_by_account on tasks (account_id, task_id);
CREATE INDEX tasks_by_project on tasks (account_id, project_id, task_id);
CREATE INDEX tasks_of_project on tasks (project_id);
CREATE TABLE subtasks (
  subtask_id integer primary key autoincrement,
  account_id integer not null references accounts,
  subtask_name text not null,
  description text not null,
  color text not null,
  notes text not null,
  start_date text,
  due_date text,
  date_completed integer,
  ongoing integer not null,
  task_id integer not null references tasks,
  estimated_hours text not null,
  subtask_order integer not null,
  active integer not null,
  important integer not null,
  completed integer not null,
  progress integer not null,
  recurring integer not null,
  date_created integer not null,
  date_modified integer,
  user_id integer not null
) strict;
CREATE INDEX subtasks_by_account on subtasks (account_id, subtask_id);
CREATE INDEX subtasks_by_task on subtasks (account_id, task_id, subtask_id);
CREATE INDEX subtasks_of_task on subtasks (task_id);
CREATE TABLE events (
  event_id integer primary key autoincrement,
  account_id integer not null references accounts,
  event_name text not null,
  start_date text not null,
  due_date text not null,
  project_id integer not null,
  date_created integer not null,
  date_modified integer,
  user_id integer not null
) strict;
CREATE INDEX events_by_start on events (account_id, start_date, event_id);
CREATE INDEX events_by_due on events (account_id, due_date);
CREATE INDEX events_by_project on events (account_id, project_id, start_date);
CREATE TABLE assignments (
  account_id integer not null references accounts,
  noun text not null,
  record_id integer not null,
  user_id integer not null references users,
  primary key (account_id, noun, record_id, user_id)
) strict;
CREATE INDEX assignments_by_user on assignments (account_id, user_id);
CREATE TABLE hooks (
  hook_id integer primary key autoincrement,
  account_id integer not null references accounts,
  user_id integer not null references users,
  kind text not null,
  target text not null,
  date_created integer not null,
  failures integer not null default 0,
  due_at integer,
  retry_delivery_id integer,
  last_outcome text not null default '',
  generation integer not null default 1,
  lease_owner text not null default '',
  leased_until integer not null default 0,
  date_ended integer,
  ended_reason text not null default '',
  ended_position integer
) strict;
CREATE INDEX hooks_told on hooks (account_id, user_id, kind) where date_ended is null;
CREATE INDEX hooks_by_user on hooks (account_id, user_id, hook_id);
CREATE INDEX hooks_ended on hooks (date_ended) where date_ended is not null;
CREATE TABLE targets (
  target_hash text primary key,
  account_id integer not null,
  hook_id integer not null unique
) strict;
CREATE TABLE occurrences (
  account_id integer not null,
  position integer not null,
  kind text not null,
  user_id integer not null,
  record_id integer not null,
  occurred_at integer not null,
  primary key (account_id, position)
) strict, without rowid;
CREATE TABLE owed (
  delivery_id integer primary key autoincrement,
  account_id integer not null,
  user_id integer not null,
  hook_id integer not null references hooks,
  position integer,
  kind text not null,
  record_id integer not null,
  owed_at integer not null
) strict;
CREATE UNIQUE INDEX owed_by_lane on owed (hook_id, position);
CREATE TABLE asks (
  ask_id integer primary key autoincrement,
  account_id integer not null,
  hook_id integer not null references hooks,
  delivery_id integer not null
) strict;
CREATE INDEX asks_by_lane on asks (hook_id, ask_id);
CREATE INDEX asks_by_delivery on asks (delivery_id);
CREATE TABLE settled (
  delivery_id integer primary key,
  account_id integer not null,
  user_id integer not null,
  hook_id integer not null,
  position integer,
  kind text not null,
  record_id integer not null,
  owed_at integer not null,
  settled_at integer not null,
  state text not null
) strict;
CREATE INDEX settled_by_user on settled (account_id, user_id, delivery_id);
CREATE INDEX settled_by_hook on settled (hook_id, delivery_id);
CREATE INDEX settled_by_time on settled (settled_at);
CREATE TABLE attempts (
  attempt_id integer primary key autoincrement,
  account_id integer not null,
  hook_id integer not null,
  delivery_id integer not null,
  attempted_at integer not null,
  outcome text not null,
  milliseconds integer not null,
  counted integer not null,
  reason text not null
) strict;
CREATE INDEX attempts_by_delivery on attempts (delivery_id, attempt_id);
insert into migrations values (1, 'first');
insert into accounts values (1, 'acme.test', 'acme.test', '', '', '', '', '', '', '', '', 'UTC', 1795184705068);
insert into accounts values (2, 'other.test', 'other.test', '', '', '', '', '', '', '', '', 'UTC', 1795184705371);
insert into positions values (1, 15);
insert into positions values (2, 1);
insert into users values (1, 1, 'owner@acme.test', 'Account', 'Owner', 'owner', 1795184705068, null, null);
insert into users values (2, 2, 'owner@other.test', 'Account', 'Owner', 'owner', 1795184705371, null, null);
insert into users values (3, 1, 'member@acme.test', '', '', 'member', 1795184705661, null, null);
insert into api_keys values (1, 1, 1, '0OiPMap9wQu7S8RFdEu9XpaQADi_fVQJCidMBO6IRuA', 'first key', 'events:read,events:write,clients:read,clients:write,projects:read,projects:write,tasks:read,tasks:write,users:read,users:write,company:read,company:write,hooks:read,hooks:write,keys:read,keys:write', 1795184705068, null, null, null);
insert into api_keys values (2, 2, 2, 'h2zRCY0iwFCgGGEEqjBBRlcUhixq3Iq034scGYk1ECc', 'first key', 'events:read,events:write,clients:read,clients:write,projects:read,projects:write,tasks:read,tasks:write,users:read,users:write,company:read,company:write,hooks:read,hooks:write,keys:read,keys:write', 1795184705371, null, null, null);
insert into api_keys values (3, 1, 3, 'NdcIW6TDHLzR4r5_-hMMSJXy3sQFfexGvvJY6iWzOK4', '', 'events:read,events:write,clients:read,clients:write,projects:read,projects:write,tasks:read,tasks:write,users:read,company:read,hooks:read,hooks:write,keys:read,keys:write', 1795184705958, null, null, null);
insert into api_keys values (4, 1, 3, 'EEt5BgHOeRkoIjN6P4ewUBl2_tv6xgCOF226C5ImF6Y', 'narrow', 'events:read', 1795184706240, null, null, null);
insert into api_keys values (5, 1, 3, 'eii69QWYenW2Wy2rwiwWZAcAcgZveJQPJboZCNuPhmI', 'revoked', 'events:read,events:write,clients:read,clients:write,projects:read,projects:write,tasks:read,tasks:write,users:read,company:read,hooks:read,hooks:write,keys:read,keys:write', 1795184706546, null, null, 1795184706843);
insert into clients values (1, 1, 'Ümit & Söhne 🛎️', 'c@acme.test', '', '', '', '', '', '', '', '', '', '', '', 1, 1795184707461, null, 1);
insert into projects values (1, 1, 'A project', '', '', '', 'a,b', '', null, null, 0, 1, '', '0', 0, '0', 0, 1, 0, 0, 0, 0, 1795184707484, null, 1);
insert into tasks values (1, 1, 'Done', '', '', '', '', null, null, 1795184707606, 0, 1, '0', '0', '0', 0, '0', 0, 1, 0, 1, 0, 0, 0, 1795184707508, 1795184707606, 1);
insert into tasks values (2, 1, 'Open', '', '', '', '', null, null, null, 0, 1, '0', '0', '0', 0, '0', 0, 1, 0, 0, 0, 0, 0, 1795184707521, null, 1);
insert into subtasks values (1, 1, 'A subtask', '', '', '', null, null, 1795184707541, 0, 1, '0', 0, 1, 0, 1, 0, 0, 1795184707524, 1795184707541, 1);
insert into events values (1, 1, 'First', '2027-01-01 00:00:00', '2027-01-02 00:00:00', 1, 1795184707554, null, 1);
insert into events values (2, 1, 'Second', '2027-01-01 00:00:00', '2027-01-02 00:00:00', 1, 1795184707561, null, 1);
insert into events values (4, 1, 'The member''s', '2027-01-01 00:00:00', '2027-01-02 00:00:00', 0, 1795184707577, null, 3);
insert into events values (5, 2, 'Of the other account', '2027-01-01 00:00:00', '2027-01-02 00:00:00', 0, 1795184707583, null, 2);
insert into assignments values (1, 'project', 1, 3);
insert into assignments values (1, 'task', 1, 3);
insert into assignments values (1, 'subtask', 1, 3);
insert into hooks values (1, 1, 1, 'new_event', 'http://target.invalid/live', 1795184707418, 0, null, null, '200', 1, '', 0, null, '', null);
insert into hooks values (2, 1, 1, 'new_client', 'http://target.invalid/failing', 1795184707432, 1, 1795184772765, 1, '500', 1, '', 0, null, '', null);
insert into hooks values (3, 1, 1, 'completed_task', 'http://target.invalid/refusing', 1795184707437, 0, null, null, '401', 2, '', 0, 1795184707554, 'answered_401', 9);
insert into hooks values (4, 1, 1, 'new_task', 'http://target.invalid/hanging', 1795184707443, 0, null, null, '', 1, '', 0, null, '', null);
insert into hooks values (5, 1, 1, 'new_project', 'http://target.invalid/deleted', 1795184707449, 0, null, null, '', 2, '', 0, 1795184707456, 'deleted', 1);
insert into hooks values (6, 2, 2, 'new_event', 'http://target.invalid/others', 1795184707453, 0, null, null, '200', 1, '', 0, null, '', null);
insert into targets values ('BvrVl5Y7jx5uCzoFW_c_MP2PBlfHXfXANuFrYwdjvwc', 1, 1);
insert into targets values ('F5FT4-5VpYqxkz0vjUiuzfU_yCoaGSTkEsVi5uSEqzQ', 1, 2);
insert into targets values ('p_0_QrqWvv-vqIUVFcexG2C4UBS1GoQOEMmtHMFbl9s', 1, 4);
insert into targets values ('eKyNsQFzyWco8iBvYKod9wy16o3U7M6lh3B9FLkkoec', 2, 6);
insert into occurrences values (1, 1, 'new_user', 3, 3, 1795184705661);
insert into occurrences values (1, 2, 'new_client', 1, 1, 1795184707461);
insert into occurrences values (1, 3, 'new_project', 1, 1, 1795184707484);
insert into occurrences values (1, 4, 'new_task', 1, 1, 1795184707508);
insert into occurrences values (1, 5, 'new_task', 1, 2, 1795184707521);
insert into occurrences values (1, 6, 'new_subtask', 1, 1, 1795184707524);
insert into occurrences values (1, 7, 'completed_subtask', 1, 1, 1795184707541);
insert into occurrences values (1, 8, 'completed_task', 1, 1, 1795184707541);
insert into occurrences values (1, 9, 'new_event', 1, 1, 1795184707554);
insert into occurrences values (1, 10, 'new_event', 1, 2, 1795184707561);
insert into occurrences values (1, 11, 'new_event', 1, 3, 1795184707572);
insert into occurrences values (1, 12, 'new_event', 3, 4, 1795184707577);
insert into occurrences values (1, 13, 'deleted_event', 1, 3, 1795184707594);
insert into occurrences values (1, 14, 'changed_task', 1, 1, 1795184707603);
insert into occurrences values (1, 15, 'completed_task', 1, 1, 1795184707606);
insert into occurrences values (2, 1, 'new_event', 2, 5, 1795184707583);
insert into owed values (1, 1, 1, 2, 2, 'new_client', 1, 1795184707461);
insert into owed values (2, 1, 1, 4, 4, 'new_task', 1, 1795184707508);
insert into owed values (3, 1, 1, 4, 5, 'new_task', 2, 1795184707521);
insert into owed values (4, 1, 1, 3, 8, 'completed_task', 1, 1795184707541);
insert into owed values (9, 1, 1, 4, null, 'test', 4, 1795184707608);
insert into asks values (1, 1, 4, 9);
insert into settled values (5, 1, 1, 1, 9, 'new_event', 1, 1795184707554, 1795184707567, 'delivered');
insert into settled values (6, 1, 1, 1, 10, 'new_event', 2, 1795184707561, 1795184707576, 'delivered');
insert into settled values (7, 1, 1, 1, 11, 'new_event', 3, 1795184707572, 1795184707580, 'delivered');
insert into settled values (8, 2, 2, 6, 1, 'new_event', 5, 1795184707583, 1795184707593, 'delivered');
insert into attempts values (1, 1, 2, 1, 1795184707476, '500', 27, 1, 'failure 1 of 3 in a row: tried again after the wait');
insert into attempts values (2, 1, 3, 4, 1795184707552, '401', 2, 0, 'answered 401: the hook ends at once');
insert into attempts values (3, 1, 1, 5, 1795184707559, '200', 3, 0, 'answered 200: delivered');
insert into attempts values (4, 1, 1, 6, 1795184707567, '200', 8, 0, 'answered 200: delivered');
insert into attempts values (5, 1, 1, 7, 1795184707575, '200', 4, 0, 'answered 200: delivered');
insert into attempts values (6, 2, 6, 8, 1795184707588, '200', 4, 0, 'answered 200: delivered');
delete from sqlite_sequence;
insert into sqlite_sequence values ('accounts', 2);
insert into sqlite_sequence values ('users', 3);
insert into sqlite_sequence values ('api_keys', 5);
insert into sqlite_sequence values ('hooks', 6);
insert into sqlite_sequence values ('clients', 1);
insert into sqlite_sequence values ('owed', 9);
insert into sqlite_sequence values ('projects', 1);
insert into sqlite_sequence values ('attempts', 6);
insert into sqlite_sequence values ('tasks', 2);
insert into sqlite_sequence values ('subtasks', 1);
insert into sqlite_sequence values ('events', 5);
insert into sqlite_sequence values ('asks', 1);
