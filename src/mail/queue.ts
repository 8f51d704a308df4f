import { sql } from 'kysely';
import type { LeaseOwner } from '../delivery/cluster/leases.ts';
import { FAILURES_BEFORE_ALERT, type What } from '../delivery/outbox/hook-alerts.ts';
import { locked } from '../store/prepared-queries.ts';
import type { Queries, Store } from '../store/store.ts';
import type { HookAlert, Place } from './message.ts';
import { MAX_WAIT_MS } from './retry-policy.ts';

/** From the first notice to the mail: what ends together is told together. */
export const GATHERED_MS = 30_000;

/** From one mail to the next of the same user. */
export const QUIET_MS = 5 * 60_000;

/** How many users one look takes in; the next one goes on. */
const USERS_PER_SCAN = 500;

/** A mail that this node has taken up. */
export type Mail = {
  readonly mailId: number;
  readonly accountId: number;
  readonly userId: number;
  readonly madeAt: number;
  readonly tries: number;
};

/** Whoever has a notice and no mail gets one. */
export async function makeMails(store: Store, now: number): Promise<void> {
  const rows = await store.read
    .selectFrom('hook_alerts')
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('mails').select('mails.mail_id').whereRef('mails.user_id', '=', 'hook_alerts.user_id'))),
    )
    .select(({ fn }) => ['account_id', 'user_id', fn.min<number>('noted_at').as('noted_at')])
    .groupBy(['account_id', 'user_id'])
    .limit(USERS_PER_SCAN)
    .execute();
  if (rows.length === 0) return;
  const mails = rows.map(({ noted_at, ...whose }) => ({ ...whose, made_at: now, due_at: noted_at + GATHERED_MS }));
  await store.write(({ queries }) =>
    queries
      .insertInto('mails')
      .values(mails)
      .onConflict((conflict) => conflict.column('user_id').doNothing())
      .execute(),
  );
}

/**
 * Takes up mails that are due, with every notice that may still come into them. From here on they are sealed: until it is
 * known that the server has not taken one, it stays as it is.
 */
export async function claimMails(
  store: Store,
  holder: LeaseOwner,
  now: number,
  most: number,
): Promise<readonly Mail[]> {
  const due = (queries: Queries) =>
    queries
      .selectFrom('mails')
      .selectAll()
      // Later than any mail can have to wait: it was put off while the clock was ahead.
      .where(({ or, eb }) => or([eb('due_at', '<=', now), eb('due_at', '>', now + MAX_WAIT_MS)]))
      .where(holder.isFree(sql.ref<number>('mails.lease_owner')))
      .orderBy('due_at')
      .orderBy('mail_id')
      .limit(most);
  if ((await due(store.read).execute()).length === 0) return [];
  const { nodeId } = holder;
  return store.write(async (tx) => {
    const rows = await locked(tx.queries, due(tx.queries)).execute();
    if (rows.length === 0) return [];
    for (const { mail_id, user_id, sealed } of rows) {
      if (sealed === 1) continue;
      await tx.queries
        .updateTable('hook_alerts')
        .set({ mail_id })
        .where('user_id', '=', user_id)
        .where('mail_id', '=', 0)
        .execute();
    }
    await tx.queries
      .updateTable('mails')
      .set({ lease_owner: nodeId, sealed: 1 })
      .where(
        'mail_id',
        'in',
        rows.map((row) => row.mail_id),
      )
      .execute();
    return rows.map((row) => ({
      mailId: row.mail_id,
      accountId: row.account_id,
      userId: row.user_id,
      madeAt: row.made_at,
      tries: row.tries,
    }));
  });
}

/** Whom a mail is for, and what it tells. */
export type Content = {
  readonly to: { readonly name: string; readonly address: string };
  readonly domain: Place['domain'];
  readonly hooks: readonly HookAlert[];
};

/** What a mail is to tell as things are now; undefined where nobody, or nothing, is left to be told. */
export async function readMail(read: Queries, { mailId, userId }: Mail): Promise<Content | undefined> {
  const user = await read
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.account_id', 'users.account_id')
    .select(['users.email', 'users.first_name', 'users.last_name', 'accounts.domain'])
    .where('users.user_id', '=', userId)
    .where('users.date_deleted', 'is', null)
    .executeTakeFirst();
  if (user === undefined) return undefined;
  const rows = await read
    .selectFrom('hook_alerts')
    .innerJoin('hooks', 'hooks.hook_id', 'hook_alerts.hook_id')
    .select([
      'hook_alerts.what',
      'hook_alerts.noted_at',
      'hooks.hook_id',
      'hooks.kind',
      'hooks.target',
      'hooks.last_outcome',
      'hooks.failures',
      'hooks.due_at',
      'hooks.date_ended',
    ])
    .where('hook_alerts.mail_id', '=', mailId)
    .orderBy('hook_alerts.hook_alert_id')
    .execute();
  const hooks = new Map(rows.filter(isStillSo).map((row) => [row.hook_id, alertOf(row)]));
  if (hooks.size === 0) return undefined;
  const name = `${user.first_name} ${user.last_name}`.trim();
  return { to: { name, address: user.email }, domain: user.domain, hooks: [...hooks.values()] };
}

type NoticeRow = {
  what: string;
  hook_id: number;
  kind: string;
  target: string;
  last_outcome: string;
  due_at: number | null;
  date_ended: number | null;
};

/** A hook that got well again, or that its owner has restored, is no news any more; nor is an end before its last one. */
function isStillSo(row: { what: string; noted_at: number; failures: number; date_ended: number | null }): boolean {
  return row.what === 'failing'
    ? row.date_ended === null && row.failures >= FAILURES_BEFORE_ALERT
    : row.date_ended === row.noted_at;
}

function alertOf(row: NoticeRow): HookAlert {
  return {
    what: row.what as What,
    hookId: row.hook_id,
    kind: row.kind,
    target: row.target,
    lastOutcome: row.last_outcome,
    dueAt: row.due_at,
    endedAt: row.date_ended,
  };
}

/** A mail is through, with what stood in it. After one that was sent, the next of its user waits. */
export async function closeMail(store: Store, mail: Mail, sentAt?: number): Promise<void> {
  const { mailId, accountId, userId } = mail;
  await store.write(async ({ queries }) => {
    await queries.deleteFrom('hook_alerts').where('mail_id', '=', mailId).execute();
    const gone = await queries.deleteFrom('mails').where('mail_id', '=', mailId).returning('mail_id').execute();
    if (sentAt === undefined || gone.length === 0) return;
    const next = { account_id: accountId, user_id: userId, made_at: sentAt, due_at: sentAt + QUIET_MS };
    await queries.insertInto('mails').values(next).execute();
  });
}

/** It is tried again, by whichever node comes first; unless another one has it by now. */
export async function postponeMail(
  store: Store,
  { nodeId }: LeaseOwner,
  { mailId }: Mail,
  { dueAt, sealed }: { dueAt: number; sealed: boolean },
): Promise<void> {
  await store.write(({ queries }) =>
    queries
      .updateTable('mails')
      .set({ due_at: dueAt, tries: sql<number>`tries + 1`, sealed: sealed ? 1 : 0, lease_owner: 0 })
      .where('mail_id', '=', mailId)
      .where('lease_owner', '=', nodeId)
      .execute(),
  );
}
