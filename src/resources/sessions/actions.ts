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

/** Where the caller, or for admins another user, is signed in. */
export async function listSessions(
  view: AccountView,
  caller: Caller,
  given: Given<typeof sessionParameters>,
  paging: Paging,
): Promise<Page<Shown<typeof sessionFields>>> {
  const owner = sql<SqlBool>`sessions.user_id = ${resolveHookOwner(caller, given.user_id)}`;
  const shown = live(view).selectAll('sessions');
  const page = await pageOf(live(view), shown, byId, [owner], paging);
  return mapRows(page, (row) => ({
    ...row,
    id: row.session_id,
    expires: endOf(row),
    current: row.session_id === caller.sessionId,
  }));
}

/** Ends a session: one's own, or for admins that of a user whose role is not above theirs. */
export async function endSession(write: AccountWrite, caller: Caller, sessionId: number): Promise<void> {
  const row = await live(write)
    .innerJoin('users', 'users.user_id', 'sessions.user_id')
    .select(['sessions.user_id', 'users.role'])
    .where('sessions.session_id', '=', sessionId)
    .executeTakeFirst();
  if (row === undefined || (row.user_id !== caller.userId && !isAdmin(caller))) throw notFound();
  if (outranks(row.role as Role, caller.role)) {
    throw new Problem('not_permitted', {
      detail: 'The session of a user whose role is above your own is not yours to end.',
    });
  }
  await endSessions(write, { userId: row.user_id, only: sessionId }, 'ended by hand');
}

/** A session that was just opened: its secret, for the cookie alone. */
export type Opened = { readonly userId: number; readonly token: string; readonly lifeMs: number };

/** Opens a session for whoever has shown who they are. */
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

/** Sessions of one user at the most: for every browser one, and far more than anybody has. */
export const MAX_SESSIONS = 50;

/** Whoever signs in without end fills nothing: the sessions that were opened first make room. */
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

/** Drops sessions that have ended by themselves, a little at a time; answers how many. */
export async function dropSessions(store: Store, now: number, isStopped: () => boolean): Promise<number> {
  let total = 0;
  while (!isStopped()) {
    const dropped = await store.write(async ({ queries }) => {
      const old = queries
        .selectFrom('sessions')
        .select('session_id')
        .where(({ or, eb }) => or([eb('expires_at', '<=', now), eb('last_used', '<=', now - UNUSED_MS)]))
        .limit(WRITE_BATCH_SIZE);
      const { numDeletedRows } = await queries
        .deleteFrom('sessions')
        .where('session_id', 'in', old)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    });
    total += dropped;
    if (dropped < WRITE_BATCH_SIZE) return total;
  }
  return total;
}
