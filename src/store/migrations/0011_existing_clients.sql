-- recurring was a flag and becomes the letter of a period, or empty. A flag has no period, so records that had it do not
-- recur until a period is chosen.
alter table tasks drop column recurring;
alter table tasks add column recurring {text} not null default '';
alter table subtasks drop column recurring;
alter table subtasks add column recurring {text} not null default '';
alter table projects add column recurring {text} not null default '';

-- More fields that existing clients use.
alter table projects add column notifications {int} not null default 0;
alter table projects add column estimated_hours {text} not null default '0';
alter table projects add column project_order {int} not null default 0;
alter table tasks add column notifications {int} not null default 0;
alter table subtasks add column notifications {int} not null default 0;
