import { type SqlBool, sql } from 'kysely';
import { note } from '../../audit/actions.ts';
import type { Shown } from '../../http/fields/field.ts';
import { mapRows } from '../../http/routes/page-slices.ts';
import type { Page, Paging } from '../../http/routes/pagination.ts';
import type { Given } from '../../http/routes/query-parameters.ts';
import { type Caller, isAdmin, outranks, type Role } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import { hashToken, newToken, type Random } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { Store } from '../../store/store.ts';
import { endSessions } from '../auth/revoke-access.ts';
import { pageOf } from '../core/pagination.ts';
import { ascending, number } from '../core/sorting.ts';
import { resolveHookOwner } from '../users/owner.ts';
import { endOf, SESSION_MS, UNUSED_MS } from './lifetime.ts';
import type { sessionFields, sessionParameters } from './schema.ts';
import { browserOf } from './user-agent.ts';

function live(view: AccountView) {
  return view
    .selectFrom('sessions')
    .where('sessions.expires_at', '>', view.now)
    .where('sessions.last_used', '>', view.now - UNUSED_MS);
}

const byId = ascending('id', number('sessions.session_id'));

/** Lists the sessions of the caller, or for admins those of another user. */
export async function listSessions(
  view: AccountView,
  caller: Caller,
  given: Given<typeof sessionParameters>,
  paging: Paging,
): Promise<Page<Shown<typeof sessionFields>>> {
  const owner = sql<SqlBool>`sessions.user_id = ${resolveHookOwner(caller, given.user_id)}`;
  const rows = live(view).selectAll('sessions');
  const page = await pageOf(live(view), rows, byId, [owner], paging);
  return mapRows(page, (row) => ({
    ...row,
    id: row.session_id,
    expires: endOf(row),
    current: row.session_id === caller.sessionId,
  }));
}

/** Ends a session: the caller's own, or for admins that of a user whose role is not above theirs. */
export async function endSession(write: AccountWrite, caller: Caller, sessionId: number): Promise<void> {
  const row = await live(write)
    .innerJoin('users', 'users.user_id', 'sessions.user_id')
    .select(['sessions.user_id', 'users.role'])
    .where('sessions.session_id', '=', sessionId)
    .executeTakeFirst();
  if (row === undefined || (row.user_id !== caller.userId && !isAdmin(caller))) throw notFound();
  if (outranks(row.role as Role, caller.role)) {
    throw new Problem('not_permitted', {
      detail: 'You cannot end the session of a user whose role is above your own.',
    });
  }
  await endSessions(write, { userId: row.user_id, only: sessionId }, 'ended by hand');
}

/** A new session. The token is for the cookie only; `lifeMs` is its maximum age in milliseconds. */
export type Opened = { readonly userId: number; readonly token: string; readonly lifeMs: number };

/** Opens a session for an authenticated user. */
export async function openSession(
  write: AccountWrite,
  { userId, agent }: { userId: number; agent: string },
  random: Random,
): Promise<Opened> {
  const token = newToken(random);
  const row = await write.insertRow('sessions', {
    user_id: userId,
    token_hash: hashToken(token),
    date_created: write.now,
    last_used: write.now,
    expires_at: write.now + SESSION_MS,
    agent: browserOf(agent),
    source: write.by.source,
  });
  await endOldest(write, userId);
  note(write, { action: 'login.opened', subject: `session ${row.session_id}`, detail: { user_id: String(userId) } });
  return { userId, token, lifeMs: SESSION_MS };
}

/** Maximum number of sessions per user; further sign-ins end the oldest ones. */
export const MAX_SESSIONS = 50;

/** Ends the oldest sessions above the limit, so that repeated sign-ins do not fill the table. */
async function endOldest(write: AccountWrite, userId: number): Promise<void> {
  const older = await write
    .selectFrom('sessions')
    .select('sessions.session_id')
    .where('sessions.user_id', '=', userId)
    .orderBy('sessions.session_id', 'desc')
    .limit(MAX_SESSIONS)
    .offset(MAX_SESSIONS)
    .execute();
  for (const { session_id } of older) await endSessions(write, { userId, only: session_id }, 'too many sessions');
}

const WRITE_BATCH_SIZE = 500;

/** Deletes expired sessions in batches; returns how many. */
export async function dropSessions(store: Store, now: number, isStopped: () => boolean): Promise<number> {
  let total = 0;
  while (!isStopped()) {
    const deleted = await store.write(async ({ queries }) => {
      const expired = queries
        .selectFrom('sessions')
        .select('session_id')
        .where(({ or, eb }) => or([eb('expires_at', '<=', now), eb('last_used', '<=', now - UNUSED_MS)]))
        .limit(WRITE_BATCH_SIZE);
      const { numDeletedRows } = await queries
        .deleteFrom('sessions')
        .where('session_id', 'in', expired)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    });
    total += deleted;
    if (deleted < WRITE_BATCH_SIZE) return total;
  }
  return total;
}
