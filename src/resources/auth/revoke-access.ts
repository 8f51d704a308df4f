import { type Entry, note } from '../../audit/actions.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import type { Queries } from '../../store/store.ts';

/** How a way in was closed, as the audit log says it. */
type Because =
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

/** Ends sessions of a user: all but one, or a single one. Answers how many. */
export async function endSessions(
  write: AccountWrite,
  which: { readonly userId: number; readonly except?: number; readonly only?: number },
  because: Because,
): Promise<number> {
  let query = write.deleteFrom('sessions').where('sessions.user_id', '=', which.userId);
  if (which.except !== undefined) query = query.where('sessions.session_id', '!=', which.except);
  if (which.only !== undefined) query = query.where('sessions.session_id', '=', which.only);
  const ended = await query.returning('session_id').execute();
  if (ended.length === 0) return 0;
  write.accessChanges();
  const detail = { user_id: String(which.userId), because };
  note(
    write,
    ...ended.map(({ session_id }): Entry => ({ action: 'login.closed', subject: `session ${session_id}`, detail })),
  );
  return ended.length;
}

/** Takes back open links: a single one, those for a user, or those that somebody made. Answers how many. */
export async function revokeInvitations(
  write: AccountWrite,
  which: { readonly only: number } | { readonly userId: number } | { readonly madeBy: number },
  because: Because,
): Promise<number> {
  let query = write.deleteFrom('invitations').where('invitations.used_at', 'is', null);
  if ('only' in which) query = query.where('invitations.invitation_id', '=', which.only);
  else if ('userId' in which) query = query.where('invitations.user_id', '=', which.userId);
  else query = query.where('invitations.made_by', '=', which.madeBy);
  const withdrawn = await query.returning(['invitation_id', 'user_id']).execute();
  note(
    write,
    ...withdrawn.map(
      ({ invitation_id, user_id }): Entry => ({
        action: 'invitation.withdrawn',
        subject: `invitation ${invitation_id}`,
        detail: { user_id: String(user_id), because },
      }),
    ),
  );
  return withdrawn.length;
}

/** Revokes calendars: a single one, those of a user, or those of a project. Answers how many. */
export async function revokeCalendars(
  write: AccountWrite,
  which: { readonly only: number } | { readonly userId: number } | { readonly projectId: number },
  because: Because,
): Promise<number> {
  let query = write.deleteFrom('calendars');
  if ('only' in which) query = query.where('calendars.calendar_id', '=', which.only);
  else if ('userId' in which) query = query.where('calendars.user_id', '=', which.userId);
  else query = query.where('calendars.project_id', '=', which.projectId);
  const revoked = await query.returning(['calendar_id', 'user_id']).execute();
  note(
    write,
    ...revoked.map(
      ({ calendar_id, user_id }): Entry => ({
        action: 'calendar.revoked',
        subject: `calendar ${calendar_id}`,
        detail: { user_id: String(user_id), because },
      }),
    ),
  );
  return revoked.length;
}

/** Nothing of what a deleted user came in by is left, and no link that was theirs to give. */
export async function revokeAllAccess(write: AccountWrite, userId: number): Promise<void> {
  await endSessions(write, { userId }, 'the user was deleted');
  await revokeInvitations(write, { userId }, 'the user was deleted');
  await revokeInvitations(write, { madeBy: userId }, 'whoever made it was deleted');
  await revokeCalendars(write, { userId }, 'the user was deleted');
  await write.deleteFrom('passphrases').where('passphrases.user_id', '=', userId).execute();
}

/**
 * A link that was made for a member must not open what an admin has: whoever made it, and could still have it, would
 * rise with them. Nor do links outlive the role of whoever made them. Sessions go on with the new role.
 */
export async function revokeInvitationsOf(write: AccountWrite, userId: number): Promise<void> {
  await revokeInvitations(write, { userId }, 'the role was changed');
  await revokeInvitations(write, { madeBy: userId }, 'the role of whoever made it was changed');
}

/**
 * After a database went back in time: whoever had signed out, or was thrown out, would be in again. All sign in anew,
 * and links are made anew.
 */
export async function revokeEverything(queries: Queries): Promise<void> {
  await queries.deleteFrom('sessions').execute();
  await queries.deleteFrom('invitations').execute();
}
