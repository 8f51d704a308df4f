import type { Actor } from '../permissions.ts';
import type { AccountWrite } from '../store/account-scope.ts';
import type { Queries, Tx } from '../store/store.ts';

/** The actions of the audit log, with their descriptions in the reference. */
export const auditActions = {
  'account.created': 'An account was created, with its owner and a first key.',
  'account.changed':
    'The company name or the time zone of an account was changed; the detail has the new values of both.',
  'account.imported':
    'An account was imported from another service; the detail has its address and the number of records.',
  'user.created': 'A user was created; the detail has e-mail address and role.',
  'user.role_changed': 'The role of a user was changed; the detail has the old and the new role.',
  'user.deleted': 'A user was deleted; the revoked keys and ended hooks have entries of their own.',
  'key.issued': 'An API key was issued; the detail has its user, permissions and expiry, never the key.',
  'key.narrowed': 'Permissions were removed from an API key; the detail has the remaining ones.',
  'key.revoked': 'An API key was revoked.',
  'hook.created': 'A hook was created; the detail has the kinds, the scope, and the target without its path.',
  'hook.changed':
    'A hook was changed; the detail has the names of the given fields, new kinds and scope, and a new target without its path.',
  'hook.replayed': 'Deliveries of a hook were sent again; the detail has the interval and their number.',
  'hook.ended': 'A hook has ended; the detail has the reason.',
  'hook.restored': 'An ended hook was restored.',
  'hook.signed':
    'A hook got a new signing secret; the detail has its user, and until when the previous secret also signs, never the secret.',
  'hook.unsigned': 'The signing secrets of a hook were deleted; the detail has its user.',
  'session.created': 'A user signed in to the console.',
  'sign_in.rejected': 'Rejected sign-ins to the console, for the account and user that they named.',
  'session.ended': 'A session of the console was ended; the detail has the reason.',
  'invitation.created': 'An invitation link was created; the detail has its user, never the link.',
  'invitation.used': 'An invitation link was used.',
  'invitation.revoked': 'An unused invitation link was revoked; the detail has the reason.',
  'calendar.created': 'A calendar address was created; the detail has its user and scope, never the address.',
  'calendar.revoked': 'A calendar was revoked; the detail has the reason.',
  'passphrase.set': 'A user set a passphrase.',
  'database.restored': 'The database was restored from a backup and a new epoch began; for all accounts.',
  'denied.unknown_key': 'Calls with an unknown key or without one, for the account whose domain they named.',
  'denied.invalid_key': 'Calls with a key that is revoked, expired, or of another domain; the detail says which.',
  'denied.not_permitted': 'Calls with a valid key that lacks the permission.',
  'denied.other': 'Further denied requests that have no entries of their own.',
} as const satisfies Record<string, string>;

type AuditAction = keyof typeof auditActions;

export function isAuditAction(text: string): text is AuditAction {
  return Object.hasOwn(auditActions, text);
}

/** An audit entry: the action, its subject (such as `key 12`), and details, which never contain a secret. */
export type AuditEntry = {
  readonly action: AuditAction;
  readonly subject: string;
  readonly detail?: Readonly<Record<string, unknown>>;
};

/** An audit entry with its account (0 for all accounts or none) and its actor. */
export type AttributedAuditEntry = AuditEntry & { readonly accountId: number; readonly actor: Actor };

/** Writes audit entries in this transaction, pipelined with the commit. */
export function writeAuditEntries(write: AccountWrite, ...entries: readonly AuditEntry[]): void {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => toAuditRow(entry, write.actor, write.now));
  write.pipelineWithCommit(write.insertInto('audit', rows));
}

/** Writes audit entries in a transaction that is not limited to one account. */
export function writeAuditEntriesAcrossAccounts(
  tx: Pick<Tx, 'queries' | 'sendWithCommit'>,
  entries: readonly AttributedAuditEntry[],
  now: number,
): void {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ ...toAuditRow(entry, entry.actor, now), account_id: entry.accountId }));
  tx.sendWithCommit(tx.queries.insertInto('audit').values(rows));
}

function toAuditRow({ action, subject, detail = {} }: AuditEntry, actor: Actor, now: number) {
  return {
    user_id: actor.userId,
    key_id: actor.keyId,
    action,
    subject,
    detail: JSON.stringify(detail),
    source: actor.source,
    happened_at: now,
  };
}

/** Filters of the audit log; undefined for no filter. */
type AuditFilters = {
  readonly accountId: number | undefined;
  readonly action: AuditAction | undefined;
  /** Time of the oldest entry to include, milliseconds since the epoch. */
  readonly happenedSince: number;
};

/** Actions that concern all accounts, so the audit log of each account lists them. */
const GLOBAL_ACTIONS: readonly AuditAction[] = ['database.restored'];

/** Returns the audit entries that match the filters, oldest first. */
export function listAuditEntries(read: Queries, { accountId, action, happenedSince }: AuditFilters) {
  let query = read
    .selectFrom('audit')
    .leftJoin('accounts', 'accounts.account_id', 'audit.account_id')
    .leftJoin('users', 'users.user_id', 'audit.user_id')
    .selectAll('audit')
    .select(['accounts.domain', 'users.email'])
    .where('audit.happened_at', '>=', happenedSince);
  if (action !== undefined) query = query.where('audit.action', '=', action);
  if (accountId !== undefined) {
    query = query.where(({ or, eb, and }) =>
      or([
        eb('audit.account_id', '=', accountId),
        and([eb('audit.account_id', '=', 0), eb('audit.action', 'in', GLOBAL_ACTIONS)]),
      ]),
    );
  }
  return query.orderBy('audit.audit_id').execute();
}
