-- The time by which old rows are dropped: one row. trusted_at goes on with the time that a service has seen go by. What the
-- clock has jumped beside that (doubted_ms, first seen when it said doubted_since) is believed when a service has seen a day
-- go by behind it (seen_since_ms). observed_at: what the clock said at the last look.
create table retention_clock (
  clock_id {int} primary key,
  trusted_at {int} not null,
  observed_at {int} not null,
  doubted_ms {int} not null,
  doubted_since {int} not null,
  seen_since_ms {int} not null
) {table};
