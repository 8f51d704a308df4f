-- What /readyz writes to find out whether a write of ordinary size would be kept; the rows mean nothing.
create table probes (
  probe_id {int} primary key,
  bytes {text} not null
) {table};
