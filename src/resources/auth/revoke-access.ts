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
  | 'its creator was deleted'
  | 'its project was deleted'
  | 'the role of its creator was changed';

/** Ends all sessions of a user, all except one, or only one. Returns how many were ended. */
export async function endSessions(
  write: AccountWrite,
  selection: { readonly userId: number; readonly exceptSessionId?: number; readonly onlySessionId?: number },
  reason: RevocationReason,
): Promise<number> {
  let query = write.deleteFrom('sessions').where('sessions.user_id', '=', selection.userId);
  if (selection.exceptSessionId !== undefined)
    query = query.where('sessions.session_id', '!=', selection.exceptSessionId);
  if (selection.onlySessionId !== undefined) query = query.where('sessions.session_id', '=', selection.onlySessionId);
  const endedSessions = await query.returning('session_id').execute();
  if (endedSessions.length === 0) return 0;
  write.markAccessChange();
  const detail = { user_id: String(selection.userId), because: reason };
  writeAuditEntries(
    write,
    ...endedSessions.map(
      ({ session_id }): AuditEntry => ({ action: 'session.ended', subject: `session ${session_id}`, detail }),
    ),
  );
  return endedSessions.length;
}

/**
 * Revokes one open invitation, all open invitations for a user, or all made by a user. Returns how many were revoked.
 */
export async function revokeInvitations(
  write: AccountWrite,
  selection: { readonly onlyInvitationId: number } | { readonly userId: number } | { readonly madeByUserId: number },
  reason: RevocationReason,
): Promise<number> {
  let query = write.deleteFrom('invitations').where('invitations.used_at', 'is', null);
  if ('onlyInvitationId' in selection)
    query = query.where('invitations.invitation_id', '=', selection.onlyInvitationId);
  else if ('userId' in selection) query = query.where('invitations.user_id', '=', selection.userId);
  else query = query.where('invitations.made_by', '=', selection.madeByUserId);
  const revokedInvitations = await query.returning(['invitation_id', 'user_id']).execute();
  writeAuditEntries(
    write,
    ...revokedInvitations.map(
      ({ invitation_id, user_id }): AuditEntry => ({
        action: 'invitation.revoked',
        subject: `invitation ${invitation_id}`,
        detail: { user_id: String(user_id), because: reason },
      }),
    ),
  );
  return revokedInvitations.length;
}

/** Revokes one calendar, all calendars of a user, or all calendars of a project. Returns how many were revoked. */
export async function revokeCalendars(
  write: AccountWrite,
  selection: { readonly onlyCalendarId: number } | { readonly userId: number } | { readonly projectId: number },
  reason: RevocationReason,
): Promise<number> {
  let query = write.deleteFrom('calendars');
  if ('onlyCalendarId' in selection) query = query.where('calendars.calendar_id', '=', selection.onlyCalendarId);
  else if ('userId' in selection) query = query.where('calendars.user_id', '=', selection.userId);
  else query = query.where('calendars.project_id', '=', selection.projectId);
  const revokedCalendars = await query.returning(['calendar_id', 'user_id']).execute();
  writeAuditEntries(
    write,
    ...revokedCalendars.map(
      ({ calendar_id, user_id }): AuditEntry => ({
        action: 'calendar.revoked',
        subject: `calendar ${calendar_id}`,
        detail: { user_id: String(user_id), because: reason },
      }),
    ),
  );
  return revokedCalendars.length;
}

/**
 * Revokes all access of a deleted user except API keys, which `deleteUser` revokes: sessions, invitations, calendars
 * and the passphrase. It also revokes the open invitations that this user has made.
 */
export async function revokeAccessExceptKeys(write: AccountWrite, userId: number): Promise<void> {
  await endSessions(write, { userId }, 'the user was deleted');
  await revokeInvitations(write, { userId }, 'the user was deleted');
  await revokeInvitations(write, { madeByUserId: userId }, 'its creator was deleted');
  await revokeCalendars(write, { userId }, 'the user was deleted');
  await write.deleteFrom('passphrases').where('passphrases.user_id', '=', userId).execute();
}

/**
 * Revokes the open invitations for a user whose role was changed, and those that this user has made. Otherwise, the
 * sender of an invitation, who knows the link, could sign in as the invited user after that user has become an admin.
 * Sessions stay open and get the new role.
 */
export async function revokeInvitationsAfterRoleChange(write: AccountWrite, userId: number): Promise<void> {
  await revokeInvitations(write, { userId }, 'the role was changed');
  await revokeInvitations(write, { madeByUserId: userId }, 'the role of its creator was changed');
}

/**
 * Ends all sessions and revokes all invitations after a restore, so that all users must sign in again. Otherwise, a
 * session that was ended after the backup would be open again.
 */
export async function revokeAllSessionsAndInvitations(queries: Queries): Promise<void> {
  await queries.deleteFrom('sessions').execute();
  await queries.deleteFrom('invitations').execute();
}
