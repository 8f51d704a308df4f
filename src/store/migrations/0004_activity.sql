-- For the screens: state of deliveries, read receipts, and statistics of the last hours.

-- Read receipts: when an API key of a user last fetched a record. Dropped after 30 days, like deliveries. No foreign keys,
-- so that it blocks no deletion.
create table fetches (
  account_id {int} not null,
  user_id {int} not null,
  noun {text} not null,
  record_id {int} not null,
  fetched_at {int} not null,
  primary key (account_id, user_id, noun, record_id)
) {clustered};
create index fetches_by_time on fetches (fetched_at);

-- A covering index to count the attempts of an account and of its hooks. attempts_by_delivery now begins with the account
-- as well: without statistics SQLite chooses the index of which it can use more columns.
create index attempts_by_account on attempts (account_id, attempted_at, hook_id, outcome, milliseconds);
drop index attempts_by_delivery;
create index attempts_by_delivery on attempts (account_id, delivery_id, attempt_id);

-- Pending and settled deliveries of an occurrence; and the hooks of an account with pending deliveries.
create index settled_by_position on settled (account_id, position);
create index owed_by_position on owed (account_id, position);
create index owed_by_account on owed (account_id, hook_id);

-- Failing hooks of an account; live hooks, and hooks that ended since a given time.
drop index hooks_failing;
create index hooks_failing on hooks (account_id, date_ended, failures, user_id) where date_ended is null and failures > 0;
create index hooks_by_end on hooks (account_id, date_ended, user_id);
