import { type AuditEntry, writeAuditEntries } from '../../audit/actions.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import type { Queries } from '../../store/store.ts';

/** The reason why access was revoked, as the audit log shows it. */
type RevocationReason =
  | 'signed out'
  | 'signed in anew'
  | 'ended by hand'
  | 'too many sessions'
  | 'a passphrase was set'
  | 'the user was deleted'
  | 'the role was changed'
  | 'a newer link was made'
  | 'whoever made it was deleted'
  | 'its project was deleted'
  | 'the role of whoever made it was changed';

/** Ends all sessions of a user, all except one, or only one. Returns how many were ended. */
export async function endSessions(
  write: AccountWrite,
  which: { readonly userId: number; readonly except?: number; readonly only?: number },
  because: RevocationReason,
): Promise<number> {
  let query = write.deleteFrom('sessions').where('sessions.user_id', '=', which.userId);
  if (which.except !== undefined) query = query.where('sessions.session_id', '!=', which.except);
  if (which.only !== undefined) query = query.where('sessions.session_id', '=', which.only);
  const ended = await query.returning('session_id').execute();
  if (ended.length === 0) return 0;
  write.markAccessChange();
  const detail = { user_id: String(which.userId), because };
  writeAuditEntries(
    write,
    ...ended.map(
      ({ session_id }): AuditEntry => ({ action: 'login.closed', subject: `session ${session_id}`, detail }),
    ),
  );
  return ended.length;
}

/**
 * Revokes one open invitation, all open invitations for a user, or all made by a user. Returns how many were revoked.
 */
export async function revokeInvitations(
  write: AccountWrite,
  which: { readonly only: number } | { readonly userId: number } | { readonly madeBy: number },
  because: RevocationReason,
): Promise<number> {
  let query = write.deleteFrom('invitations').where('invitations.used_at', 'is', null);
  if ('only' in which) query = query.where('invitations.invitation_id', '=', which.only);
  else if ('userId' in which) query = query.where('invitations.user_id', '=', which.userId);
  else query = query.where('invitations.made_by', '=', which.madeBy);
  const withdrawn = await query.returning(['invitation_id', 'user_id']).execute();
  writeAuditEntries(
    write,
    ...withdrawn.map(
      ({ invitation_id, user_id }): AuditEntry => ({
        action: 'invitation.withdrawn',
        subject: `invitation ${invitation_id}`,
        detail: { user_id: String(user_id), because },
      }),
    ),
  );
  return withdrawn.length;
}

/** Revokes one calendar, all calendars of a user, or all calendars of a project. Returns how many were revoked. */
export async function revokeCalendars(
  write: AccountWrite,
  which: { readonly only: number } | { readonly userId: number } | { readonly projectId: number },
  because: RevocationReason,
): Promise<number> {
  let query = write.deleteFrom('calendars');
  if ('only' in which) query = query.where('calendars.calendar_id', '=', which.only);
  else if ('userId' in which) query = query.where('calendars.user_id', '=', which.userId);
  else query = query.where('calendars.project_id', '=', which.projectId);
  const revoked = await query.returning(['calendar_id', 'user_id']).execute();
  writeAuditEntries(
    write,
    ...revoked.map(
      ({ calendar_id, user_id }): AuditEntry => ({
        action: 'calendar.revoked',
        subject: `calendar ${calendar_id}`,
        detail: { user_id: String(user_id), because },
      }),
    ),
  );
  return revoked.length;
}

/** Revokes all access of a deleted user, and the open invitations that this user has made. */
export async function revokeAllAccess(write: AccountWrite, userId: number): Promise<void> {
  await endSessions(write, { userId }, 'the user was deleted');
  await revokeInvitations(write, { userId }, 'the user was deleted');
  await revokeInvitations(write, { madeBy: userId }, 'whoever made it was deleted');
  await revokeCalendars(write, { userId }, 'the user was deleted');
  await write.deleteFrom('passphrases').where('passphrases.user_id', '=', userId).execute();
}

/**
 * Revokes the open invitations for and by a user whose role was changed. Otherwise, a user who invited a member, and
 * may still know the link, could sign in as the admin that the member has become. Sessions stay open, with the new
 * role.
 */
export async function revokeInvitationsOf(write: AccountWrite, userId: number): Promise<void> {
  await revokeInvitations(write, { userId }, 'the role was changed');
  await revokeInvitations(write, { madeBy: userId }, 'the role of whoever made it was changed');
}

/**
 * Ends all sessions and revokes all invitations after a restore. Otherwise, sessions that were ended since the backup
 * would be open again. All users must sign in again.
 */
export async function revokeAllSessionsAndInvitations(queries: Queries): Promise<void> {
  await queries.deleteFrom('sessions').execute();
  await queries.deleteFrom('invitations').execute();
}
