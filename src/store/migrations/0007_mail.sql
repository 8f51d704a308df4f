-- What owners are told of their hooks by mail (X10). Written only where mail is configured.

-- A hook that fails, or has ended: written with the verdict. A row goes when the mail that it stands in was taken. what: failing,
-- or the reason of the end; mail_id: the mail that it stands in, 0 until one is tried.
create table notices (
  notice_id {id},
  account_id {int} not null references accounts,
  user_id {int} not null references users,
  hook_id {int} not null,
  what {text} not null,
  noted_at {int} not null,
  mail_id {int} not null default 0
) {table};
create index notices_by_user on notices (user_id, notice_id);
create index notices_by_mail on notices (mail_id, notice_id);

-- The next mail of a user: gathered, tried, or not to be sent yet since another one went out. made_at and mail_id make its
-- Message-ID. sealed: 1 where a server may have taken it, so that nothing is added to it any more. lease_owner: the node that
-- sends it, 0 for none.
create table mails (
  mail_id {id},
  account_id {int} not null references accounts,
  user_id {int} not null unique references users,
  made_at {int} not null,
  due_at {int} not null,
  tries {int} not null default 0,
  sealed {int} not null default 0,
  lease_owner {int} not null default 0
) {table};
create index mails_by_time on mails (due_at);
