-- Signing in to the console: what people know, where they are signed in, and the links by which they get in at first.

-- passphrase_hash: scrypt with its parameters and its salt, as text.
create table passphrases (
  user_id {int} primary key references users,
  account_id {int} not null references accounts,
  passphrase_hash {text} not null,
  date_modified {int} not null
) {table};
create index passphrases_by_user on passphrases (account_id, user_id);

-- A browser that is signed in. Ends at expires_at, or when it was not used for long; a row that has ended goes.
create table sessions (
  session_id {id},
  account_id {int} not null references accounts,
  user_id {int} not null references users,
  token_hash {text} not null unique,
  date_created {int} not null,
  last_used {int} not null,
  expires_at {int} not null,
  agent {text} not null,
  source {text} not null
) {table};
create index sessions_by_user on sessions (account_id, user_id, session_id);
create index sessions_by_end on sessions (expires_at);

-- A link by which a user sets a passphrase, once. made_by: whose link it is, 0 for the command line.
create table invitations (
  invitation_id {id},
  account_id {int} not null references accounts,
  user_id {int} not null references users,
  made_by {int} not null,
  token_hash {text} not null unique,
  date_created {int} not null,
  expires_at {int} not null,
  used_at {int}
) {table};
create index invitations_by_user on invitations (account_id, user_id, invitation_id);
create index invitations_by_end on invitations (expires_at);
