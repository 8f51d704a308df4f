import { type SqlBool, sql } from 'kysely';
import { writeAuditEntries } from '../../audit/actions.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import type { StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId } from '../../http/fields/reference-fields.ts';
import { plainText, readOnlyFlag, readOnlyText, shortText } from '../../http/fields/scalar-fields.ts';
import { defineDeleteRoute, defineListRoute } from '../../http/routes/define-routes.ts';
import { mapRows, type Page, type PageRequest } from '../../http/routes/pagination.ts';
import { idParameter, type ParsedParameters } from '../../http/routes/query-parameters.ts';
import type { Route } from '../../http/routes/route.ts';
import type { Caller } from '../../permissions.ts';
import { hashToken, newToken, type Random } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { createRowDeleter, deleteInBatches } from '../../store/delete-in-batches.ts';
import type { Queries, Store } from '../../store/store.ts';
import { endSessions } from '../auth/revoke-access.ts';
import { loadPage } from '../core/pagination.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { enteredPassphraseField } from '../passphrases/passphrases.ts';
import { requireManageable, resolveListedUserId } from '../users/lookup.ts';
import { browserNameOf, SESSION_IDLE_TTL_MS, SESSION_TTL_MS, sessionExpiryOf } from './authenticate.ts';

/** Response fields of a session. */
const sessionFields = {
  id: ownRecordId('Identifier of the session.'),
  user_id: readOnlyId('Who is signed in.'),
  date_created: readOnlyTimestamp('When the user signed in, UTC.'),
  last_used: readOnlyTimestamp('When it was last used, UTC, to the minute.'),
  expires: readOnlyTimestamp('When it expires unless it is used, UTC.'),
  agent: readOnlyText('The browser.'),
  source: readOnlyText('The IP address of the sign-in.'),
  current: readOnlyFlag('Whether it is the session of this request.'),
};

const sessionParameters = {
  user_id: idParameter('Another user instead of yourself; for admins.'),
};

/** Input fields of sign-in. */
export const signInInputFields = {
  domain: shortText('The domain of the account. Optional if the service has exactly one.'),
  email: plainText('The e-mail address of the user.'),
  passphrase: enteredPassphraseField('The passphrase of the user.'),
};

export const signInResponseFields = { user_id: readOnlyId('Who is signed in.') };

function selectLiveSessions(view: AccountView) {
  return view
    .selectFrom('sessions')
    .where('sessions.expires_at', '>', view.now)
    .where('sessions.last_used', '>', view.now - SESSION_IDLE_TTL_MS);
}

const orderById = ascendingOrder('id', numberKey('sessions.session_id'));

/** Lists the sessions of the caller. Admins can list the sessions of another user. */
async function listSessions(
  view: AccountView,
  caller: Caller,
  parameterValues: ParsedParameters<typeof sessionParameters>,
  paging: PageRequest,
): Promise<Page<StoredRecordOf<typeof sessionFields>>> {
  const ownerCondition = sql<SqlBool>`sessions.user_id = ${resolveListedUserId(caller, parameterValues.user_id)}`;
  const sessionsQuery = selectLiveSessions(view).selectAll('sessions');
  const page = await loadPage(selectLiveSessions(view), sessionsQuery, orderById, [ownerCondition], paging);
  return mapRows(page, (row) => ({
    ...row,
    id: row.session_id,
    expires: sessionExpiryOf(row),
    current: row.session_id === caller.sessionId,
  }));
}

/** Ends a session of the caller. Admins can also end sessions of users whose role is not above their own. */
async function endSession(write: AccountWrite, caller: Caller, sessionId: number): Promise<void> {
  const row = await selectLiveSessions(write)
    .innerJoin('users', 'users.user_id', 'sessions.user_id')
    .select(['sessions.user_id', 'users.role'])
    .where('sessions.session_id', '=', sessionId)
    .executeTakeFirst();
  const { user_id: userId } = requireManageable(row, caller, 'end the session');
  await endSessions(write, { userId, onlySessionId: sessionId }, 'ended by hand');
}

/** A new session with its maximum lifetime. The token is sent only in the cookie. */
export type NewSession = { readonly userId: number; readonly token: string; readonly ttlMs: number };

/** Opens a session for an authenticated user. */
export async function openSession(
  write: AccountWrite,
  { userId, userAgent }: { userId: number; userAgent: string },
  random: Random,
): Promise<NewSession> {
  const token = newToken(random);
  const row = await write.insertRow('sessions', {
    user_id: userId,
    token_hash: hashToken(token),
    date_created: write.now,
    last_used: write.now,
    expires_at: write.now + SESSION_TTL_MS,
    agent: browserNameOf(userAgent),
    source: write.actor.source,
  });
  await endOldestSessions(write, userId);
  writeAuditEntries(write, {
    action: 'session.created',
    subject: `session ${row.session_id}`,
    detail: { user_id: String(userId) },
  });
  return { userId, token, ttlMs: SESSION_TTL_MS };
}

/** Maximum number of sessions per user. Further sign-ins end the oldest sessions. */
export const MAX_SESSIONS_PER_USER = 50;

/** Ends the oldest sessions of a user above the limit, so that repeated sign-ins do not fill the table. */
async function endOldestSessions(write: AccountWrite, userId: number): Promise<void> {
  const excessSessions = await write
    .selectFrom('sessions')
    .select('sessions.session_id')
    .where('sessions.user_id', '=', userId)
    .orderBy('sessions.session_id', 'desc')
    .limit(MAX_SESSIONS_PER_USER)
    .offset(MAX_SESSIONS_PER_USER)
    .execute();
  for (const { session_id } of excessSessions)
    await endSessions(write, { userId, onlySessionId: session_id }, 'too many sessions');
}

/** Deletes expired sessions in batches. Returns how many were deleted. */
export function deleteExpiredSessions(store: Store, now: number, isStopped: () => boolean): Promise<number> {
  const expiredCondition = sql<SqlBool>`expires_at <= ${now} or last_used <= ${now - SESSION_IDLE_TTL_MS}`;
  const deleteBatch = createRowDeleter('sessions', 'session_id', expiredCondition);
  return deleteInBatches(store.write, deleteBatch, isStopped);
}

/** Finds a user by e-mail address, ignoring case. `passphrase_hash` is null if no passphrase was set. */
export async function findSignInUser(
  queries: Queries,
  accountId: number,
  email: string,
): Promise<{ user_id: number; email: string; passphrase_hash: string | null } | undefined> {
  return queries
    .selectFrom('users')
    .leftJoin('passphrases', 'passphrases.user_id', 'users.user_id')
    .select(['users.user_id', 'users.email', 'passphrases.passphrase_hash'])
    .where('users.account_id', '=', accountId)
    .where('users.date_deleted', 'is', null)
    .where(sql<SqlBool>`fold(users.email) = fold(${email})`)
    .executeTakeFirst();
}

export const sessionRoutes: readonly Route[] = [
  defineListRoute({
    path: '/sessions',
    description: 'Lists your sessions, or for admins those of another user.',
    permission: undefined,
    parameters: sessionParameters,
    fields: sessionFields,
    handle: listSessions,
  }),
  defineDeleteRoute({
    path: '/sessions/{session_id}',
    description: 'Ends a session: your own, or for admins that of another user.',
    permission: undefined,
    recordedKinds: [],
    handle: (write, caller, ids) => endSession(write, caller, ids.session_id),
  }),
];
