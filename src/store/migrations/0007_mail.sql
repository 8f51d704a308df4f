-- Alert mails to the owners of hooks (X10). Written only if mail is configured.

-- The outbox of alerts: a hook is failing or has ended. Written in the transaction that changes the hook, deleted when the
-- mail was accepted. what: failing, or the reason of the end; mail_id: the mail that contains it, 0 until one is tried.
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

-- The next mail of a user: collecting alerts, being retried, or delayed because another one was just sent. made_at and
-- mail_id form its Message-ID. sealed: 1 if a server may have accepted it, so that nothing is added to it. lease_owner: the
-- node that sends it, 0 for none.
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
