import type { Actor } from '../permissions.ts';
import type { AccountWrite } from '../store/account-scope.ts';
import type { Tx } from '../store/store.ts';

/** What the audit log tells of: who may do what, which hooks there are, who was refused. A row an action. */
export const auditActions = {
  'account.created': 'An account was made, with its owner and a first key.',
  'account.changed': 'The company name or the time zone of an account was set; the detail has both, as they are now.',
  'account.moved_in': 'An account was read from another service; the detail has its address and how many records came.',
  'user.created': 'A user was added; the detail has address and role.',
  'user.role_changed': 'The role of a user was changed; the detail has both.',
  'user.deleted': 'A user was deleted; the keys and hooks that went with it have rows of their own.',
  'key.issued': 'An API key was issued; the detail has whose it is, what it may do, and until when. Never the key.',
  'key.narrowed': 'Permissions were taken from an API key; the detail has what it may still do.',
  'key.revoked': 'An API key was revoked.',
  'hook.made': 'A hook was made; the detail has the kind, and the target without its path.',
  'hook.ended': 'A hook has ended; the detail has the reason.',
  'hook.restored': 'An ended hook lives again.',
  'hook.signed':
    'Notifications of a hook are signed by a new secret; the detail has whose hook it is, and until when the secret before overlaps. Never the secret.',
  'hook.unsigned': 'Notifications of a hook are signed no more; the detail has whose hook it is.',
  'login.opened': 'Somebody has signed in to the console.',
  'login.refused': 'Sign-ins to the console that were refused; of the account and the user that they named.',
  'login.closed': 'A session of the console has ended; the detail says why.',
  'invitation.made': 'A link was made by which a user sets a passphrase; the detail has whose it is. Never the link.',
  'invitation.used': 'A user has come by a link.',
  'invitation.withdrawn': 'A link was taken back before it was used; the detail says why.',
  'calendar.made':
    'An address was made for a calendar program; the detail has whose it is and what it shows. Never the address.',
  'calendar.revoked': 'A calendar was revoked; the detail says why.',
  'passphrase.set': 'A user has set a passphrase.',
  'database.restored': 'The service has gone back to a backup, and a new epoch has begun; of all accounts.',
  'denied.unknown_key': 'Calls with a key that was never issued, or with none; of the account whose domain they named.',
  'denied.dead_key':
    'Calls with a key that was revoked, has expired, or belongs to another domain; the detail says which.',
  'denied.not_permitted': 'Calls with a good key to something that it, or its user, may not do.',
  'denied.others': 'More refusals at that moment than have rows of their own.',
} as const satisfies Record<string, string>;

export type AuditAction = keyof typeof auditActions;

export function isAuditAction(text: string): text is AuditAction {
  return Object.hasOwn(auditActions, text);
}

/** What is noted: the action, on what (`key 12`), and what else there is to know. No secret is among it. */
export type Entry = {
  readonly action: AuditAction;
  readonly subject: string;
  readonly detail?: Readonly<Record<string, unknown>>;
};

/** An entry with the account it belongs to (0 for all of them, or none) and with who did it. */
export type FullEntry = Entry & { readonly accountId: number; readonly by: Actor };

/** Notes what this write does: it is committed with it, or not at all. Sent with the commit. */
export function note(write: AccountWrite, ...entries: readonly Entry[]): void {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => rowOf(entry, write.by, write.now));
  write.pipelineWithCommit(write.insertInto('audit', rows));
}

/** The same, where a transaction is not narrowed to one account. */
export function noteAcross(tx: Pick<Tx, 'queries' | 'withCommit'>, entries: readonly FullEntry[], now: number): void {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ ...rowOf(entry, entry.by, now), account_id: entry.accountId }));
  tx.withCommit(tx.queries.insertInto('audit').values(rows));
}

function rowOf({ action, subject, detail = {} }: Entry, by: Actor, now: number) {
  return {
    user_id: by.userId,
    key_id: by.keyId,
    action,
    subject,
    detail: JSON.stringify(detail),
    source: by.source,
    happened_at: now,
  };
}
