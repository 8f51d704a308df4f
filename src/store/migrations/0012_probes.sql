-- Written by /readyz to check that writes of ordinary size succeed; the rows have no meaning.
create table probes (
  probe_id {int} primary key,
  bytes {text} not null
) {table};
