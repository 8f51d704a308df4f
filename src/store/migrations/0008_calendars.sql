-- Calendars that people already use: what they subscribe to, and what was brought in from elsewhere.

-- A link by which a calendar program reads, for as long as the row is there. scope: own, project or account; time_zone:
-- empty for the account's; permissions: what whoever made it could read then; expires_at: null for never.
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

-- What has come out of .ics files: entry_hash is of its UID and of the day of a repetition, content_hash of what the file
-- said. event_id refers to nothing: a row outlives its event, so that what was deleted here is known again.
create table imported_events (
  account_id {int} not null,
  entry_hash {text} not null,
  event_id {int} not null,
  content_hash {text} not null,
  primary key (account_id, entry_hash)
) {clustered};

-- What is open and due, for calendars. The words are those of src/resources/calendars/collect-entries.ts.
create index tasks_open_by_due on tasks (account_id, due_date, task_id) where completed = 0 and due_date is not null;
create index subtasks_open_by_due on subtasks (account_id, due_date, subtask_id)
  where completed = 0 and due_date is not null;
