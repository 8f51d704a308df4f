-- Several processes on one database, positions that survive a restore, requests that are made once, and who did what.

-- Every process that delivers from this database. It counts its beat up for as long as it lives; a row whose beat stands
-- still is taken away by the others, and its lanes are free.
create table nodes (
  node_id {id},
  version {text} not null,
  role {text} not null,
  beat {int} not null default 0
) {table};

-- Which node holds the lane, 0 for none. What a lease needs of time is in the node's beat.
alter table hooks drop column leased_until;
alter table hooks drop column lease_owner;
alter table hooks add column lease_owner {int} not null default 0;
create index hooks_leased on hooks (lease_owner, hook_id) where lease_owner <> 0;
create index hooks_failing on hooks (hook_id) where date_ended is null and failures > 0;
create index hooks_to_let_go on hooks (lease_owner) where lease_owner <> 0 and date_ended is not null;

-- occurred_at: the account's own clock, which never goes back, so that old positions are the first ones. epoch_start:
-- the position that the last restore set it to; a cursor from before it leads nowhere.
alter table positions add column occurred_at {int} not null default 0;
alter table positions add column epoch_start {int} not null default 0;

-- The first answer to each request that carried an Idempotency-Key, for a day.
create table idempotency (
  key_id {int} not null references api_keys,
  idempotency_key {text} not null,
  account_id {int} not null references accounts,
  fingerprint {text} not null,
  status {int} not null,
  location {text} not null,
  body {text} not null,
  answered_at {int} not null,
  primary key (key_id, idempotency_key)
) {table};
create index idempotency_by_time on idempotency (answered_at);

-- Who did what that matters to access and to hooks: only ever added to. account_id, user_id and key_id are 0 where nobody
-- is known, or it was done at the command line; detail is a JSON object.
create table audit (
  audit_id {id},
  account_id {int} not null,
  user_id {int} not null,
  key_id {int} not null,
  action {text} not null,
  subject {text} not null,
  detail {text} not null,
  source {text} not null,
  happened_at {int} not null
) {table};
create index audit_by_account on audit (account_id, audit_id);

-- What stands half in this database: an import, or the removal of an account, that was begun and is not through. While
-- there is a row, no service starts. checksum: of the file; account_id: 0 for a whole service; line: how far it is.
create table transfers (
  transfer_id {int} primary key,
  work {text} not null,
  checksum {text} not null,
  account_id {int} not null,
  line {int} not null,
  begun_at {int} not null
) {table};
