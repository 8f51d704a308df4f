-- Calendar subscriptions and imported calendar files.

-- Calendar links (capability URLs), valid as long as the row exists. scope: own, project or account; time_zone: empty for
-- that of the account; permissions: what the creator could read at that time; expires_at: null for never.
create table calendars (
  calendar_id {id},
  account_id {int} not null references accounts,
  user_id {int} not null references users,
  token_hash {text} not null unique,
  label {text} not null,
  scope {text} not null,
  project_id {int} not null,
  time_zone {text} not null,
  permissions {text} not null,
  date_created {int} not null,
  last_fetched {int},
  expires_at {int}
) {table};
create index calendars_by_user on calendars (account_id, user_id, calendar_id);
create index calendars_by_project on calendars (account_id, project_id);

-- Events imported from .ics files. entry_hash: hash of the UID and the day of a recurrence; content_hash: hash of the content.
-- event_id is no foreign key: the row outlives its event, so that an event deleted here is not imported again.
create table imported_events (
  account_id {int} not null,
  entry_hash {text} not null,
  event_id {int} not null,
  content_hash {text} not null,
  primary key (account_id, entry_hash)
) {clustered};

-- Open records with a due date, for calendars. The conditions are those of src/resources/calendars/collect-entries.ts.
create index tasks_open_by_due on tasks (account_id, due_date, task_id) where completed = 0 and due_date is not null;
create index subtasks_open_by_due on subtasks (account_id, due_date, subtask_id)
  where completed = 0 and due_date is not null;
