-- Contacts, teams, time entries and comments.

create table contacts (
  contact_id {id},
  account_id {int} not null references accounts,
  contact_name {text} not null,
  email {text} not null,
  tel {text} not null,
  fax {text} not null,
  mobile {text} not null,
  role {text} not null,
  company_name {text} not null,
  client_id {int} not null,
  date_created {int} not null,
  date_modified {int},
  user_id {int} not null
) {table};
create index contacts_by_account on contacts (account_id, contact_id);
create index contacts_by_client on contacts (account_id, client_id, contact_id);

create table teams (
  team_id {id},
  account_id {int} not null references accounts,
  team_name {text} not null,
  color {text} not null,
  date_created {int} not null,
  date_modified {int},
  user_id {int} not null
) {table};
create index teams_by_account on teams (account_id, team_id);

-- Teams assigned to a project, task or subtask (noun, record_id). The members of a team are in assignments.
create table team_assignments (
  account_id {int} not null references accounts,
  noun {text} not null,
  record_id {int} not null,
  team_id {int} not null references teams,
  primary key (account_id, noun, record_id, team_id)
) {table};
create index team_assignments_by_team on team_assignments (account_id, team_id);
create index team_assignments_of_team on team_assignments (team_id);

-- Time worked on a day, in seconds; date is its midnight. date_started and date_stopped are calendar times without a zone,
-- or null; an entry that was started and not stopped is a running timer.
create table time_entries (
  entry_id {id},
  account_id {int} not null references accounts,
  task_id {int} not null references tasks,
  subtask_id {int} not null,
  date {text} not null,
  date_started {text},
  date_stopped {text},
  seconds {int} not null,
  description {text} not null,
  billed {int} not null,
  date_created {int} not null,
  date_modified {int},
  user_id {int} not null
) {table};
create index time_entries_by_account on time_entries (account_id, entry_id);
-- Covering indexes: the sum of seconds is read from the index.
create index time_entries_by_task on time_entries (account_id, task_id, entry_id, seconds);
create index time_entries_by_subtask on time_entries (account_id, subtask_id, entry_id, seconds);
create index time_entries_by_user on time_entries (account_id, user_id, date);
create index time_entries_by_date on time_entries (account_id, date);
create index time_entries_of_task on time_entries (task_id);

-- Comments on a project, or on a task or subtask of it. A reply refers to its parent comment.
create table comments (
  comment_id {id},
  account_id {int} not null references accounts,
  project_id {int} not null references projects,
  task_id {int} not null,
  subtask_id {int} not null,
  parent_id {int} not null,
  comment {text} not null,
  date_created {int} not null,
  date_modified {int},
  user_id {int} not null
) {table};
create index comments_by_project on comments (account_id, project_id, parent_id, comment_id);
create index comments_by_task on comments (account_id, task_id, parent_id, comment_id);
create index comments_by_subtask on comments (account_id, subtask_id, parent_id, comment_id);
create index comments_by_parent on comments (account_id, parent_id, comment_id);
create index comments_of_project on comments (project_id);
