-- How far an event reaches, from its first day to its last: 0 within a day, 1 a month, 2 a year, 3 a decade, 4 beyond.
-- Who reaches over a day and stays within its month began in that month, and so on: what is under way on a day is found
-- among a few. The words are those of src/resources/events/overlapping.ts.
create index events_by_reach on events (account_id, (
  case when substr(due_date, 1, 10) <= substr(start_date, 1, 10) then 0
    when substr(due_date, 1, 7) = substr(start_date, 1, 7) then 1
    when substr(due_date, 1, 4) = substr(start_date, 1, 4) then 2
    when substr(due_date, 1, 3) = substr(start_date, 1, 3) then 3
    else 4 end
), start_date, due_date);
