-- What people look at: what came of each occurrence, whether its record was fetched, and how the last hours went.

-- When a key of a user last fetched a record at its own address. Dropped after 30 days, as deliveries are; refers to
-- nothing, so that it stands in nobody's way.
create table fetches (
  account_id {int} not null,
  user_id {int} not null,
  noun {text} not null,
  record_id {int} not null,
  fetched_at {int} not null,
  primary key (account_id, user_id, noun, record_id)
) {clustered};
create index fetches_by_time on fetches (fetched_at);

-- Attempts of an account, and of its hooks, are counted along this, without the table. Beside it the other one begins
-- with the account, too: without statistics SQLite takes the index of which it can use more.
create index attempts_by_account on attempts (account_id, attempted_at, hook_id, outcome, milliseconds);
drop index attempts_by_delivery;
create index attempts_by_delivery on attempts (account_id, delivery_id, attempt_id);

-- What came of an occurrence: what is owed of it still, and what is settled. And which lanes of an account are owed anything.
create index settled_by_position on settled (account_id, position);
create index owed_by_position on owed (account_id, position);
create index owed_by_account on owed (account_id, hook_id);

-- An account's hooks that fail; those that live, and those that have ended since a moment.
drop index hooks_failing;
create index hooks_failing on hooks (account_id, date_ended, failures, user_id) where date_ended is null and failures > 0;
create index hooks_by_end on hooks (account_id, date_ended, user_id);
