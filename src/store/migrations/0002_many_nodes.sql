-- Several nodes on one database, feed epochs, idempotent requests, and the audit log.

-- The nodes of the cluster. A node increments its heartbeat (beat); if it does not change any more, the other nodes delete
-- the row, which frees its leases.
create table nodes (
  node_id {id},
  version {text} not null,
  role {text} not null,
  beat {int} not null default 0
) {table};

-- The node that leases the hook, 0 for none. The lease lasts as long as the node's heartbeat is confirmed.
alter table hooks drop column leased_until;
alter table hooks drop column lease_owner;
alter table hooks add column lease_owner {int} not null default 0;
create index hooks_leased on hooks (lease_owner, hook_id) where lease_owner <> 0;
create index hooks_failing on hooks (hook_id) where date_ended is null and failures > 0;
create index hooks_to_let_go on hooks (lease_owner) where lease_owner <> 0 and date_ended is not null;

-- occurred_at: the account's clock, which never goes back, so that the lowest positions are the oldest. epoch_start: the
-- position set by the last restore; older cursors are invalid.
alter table positions add column occurred_at {int} not null default 0;
alter table positions add column epoch_start {int} not null default 0;

-- Responses to requests with an Idempotency-Key, kept for a day.
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

-- The audit log of access and hooks: append-only. account_id, user_id and key_id are 0 if unknown, or for the command
-- line; detail is a JSON object.
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

-- An incomplete import, or removal of an account. While there is a row, no service starts. checksum: of the file;
-- account_id: 0 for a whole service; line: lines imported so far.
create table transfers (
  transfer_id {int} primary key,
  work {text} not null,
  checksum {text} not null,
  account_id {int} not null,
  line {int} not null,
  begun_at {int} not null
) {table};
