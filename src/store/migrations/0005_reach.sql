-- The smallest calendar unit that contains an event: 0 a day, 1 a month, 2 a year, 3 a decade, 4 more. An event within a
-- month that overlaps a day started in that month, and so on, so the events of a day are found in a few short ranges. The
-- expression must be identical to that in src/resources/events/overlapping.ts.
create index events_by_reach on events (account_id, (
  case when substr(due_date, 1, 10) <= substr(start_date, 1, 10) then 0
    when substr(due_date, 1, 7) = substr(start_date, 1, 7) then 1
    when substr(due_date, 1, 4) = substr(start_date, 1, 4) then 2
    when substr(due_date, 1, 3) = substr(start_date, 1, 3) then 3
    else 4 end
), start_date, due_date);
