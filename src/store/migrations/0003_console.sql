-- Sign-in to the console: passphrases, sessions, and invitations.

-- passphrase_hash: scrypt with its parameters and salt, as text.
create table passphrases (
  user_id {int} primary key references users,
  account_id {int} not null references accounts,
  passphrase_hash {text} not null,
  date_modified {int} not null
) {table};
create index passphrases_by_user on passphrases (account_id, user_id);

-- Sessions of browsers. They end at expires_at or after a time without use; then the row is deleted.
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

-- One-time links to set a passphrase. made_by: the user who created the link, 0 for the command line.
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
