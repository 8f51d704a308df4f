-- The trusted time of retention: one row. trusted_at advances with the running time of services. A jump of the clock
-- (doubted_ms, first seen at doubted_since) is accepted after services have run for a day since (seen_since_ms).
-- observed_at: the clock at the last observation.
create table retention_clock (
  clock_id {int} primary key,
  trusted_at {int} not null,
  observed_at {int} not null,
  doubted_ms {int} not null,
  doubted_since {int} not null,
  seen_since_ms {int} not null
) {table};
