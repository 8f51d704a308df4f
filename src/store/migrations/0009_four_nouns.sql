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
