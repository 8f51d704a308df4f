-- Hooks of a team: several events, a scope, a pause, and headers for the gateway of the target.
-- events: the subscribed kinds in the order of the request, separated by commas, or *. permissions: what the key that
-- created the hook could read, separated by commas; it limits *. headers: JSON, or null.
drop index hooks_told;
alter table hooks rename column kind to events;
alter table hooks add column name {text} not null default '';
alter table hooks add column scope {text} not null default 'own';
alter table hooks add column project_id {int} not null default 0;
alter table hooks add column enabled {int} not null default 1;
alter table hooks add column headers {text};
alter table hooks add column permissions {text} not null default '';

-- Which occurrences a live hook reports. audience: whose occurrences (user:7, project:7, account). kind: an event kind,
-- or * and a permission, such as *tasks:read for all kinds of records that it can read. user_id: the user of the hook.
create table subscriptions (
  account_id {int} not null references accounts,
  audience {text} not null,
  kind {text} not null,
  hook_id {int} not null references hooks,
  user_id {int} not null,
  primary key (account_id, audience, kind, hook_id)
) {clustered};
create index subscriptions_of_hook on subscriptions (hook_id);
insert into subscriptions (account_id, audience, kind, hook_id, user_id)
  select account_id, 'user:' || user_id, events, hook_id, user_id from hooks where date_ended is null;

-- The project of the record, and the project that it left with this change; 0 if there is none. fields: names of the
-- changed fields, separated by commas; null for kinds other than changed_… and for occurrences of earlier versions.
-- is_silent: 1 if no hook reports the occurrence.
alter table occurrences add column project_id {int} not null default 0;
alter table occurrences add column previous_project_id {int} not null default 0;
alter table occurrences add column fields {text};
alter table occurrences add column is_silent {int} not null default 0;
alter table pending_deliveries add column fields {text};
alter table finalized_deliveries add column fields {text};

-- The first KiB of the response body of a failed attempt.
alter table attempts add column response {text} not null default '';
