import { sql } from 'kysely';
import { computeBackoffMs } from '../async/backoff.ts';
import type { LeaseOwner } from '../delivery/cluster/leases.ts';
import { type AlertKind, FAILURES_BEFORE_ALERT } from '../delivery/outbox/end-hooks.ts';
import { withRowLocks } from '../store/prepared-queries.ts';
import type { Queries, Store } from '../store/store.ts';
import type { HookAlert, MailTemplateValues } from './message.ts';

/** Delay from the first alert to its mail, so that one mail contains several alerts. */
const ALERT_BATCH_DELAY_MS = 30_000;

/** Minimum interval between two mails to a user. */
const MIN_MAIL_INTERVAL_MS = 5 * 60_000;

/** Maximum number of users who get a mail per poll. The next poll continues with the other users. */
const MAX_USERS_PER_POLL = 500;

/** A mail that this node has claimed. */
export type ClaimedMail = {
  readonly mailId: number;
  readonly accountId: number;
  readonly userId: number;
  readonly createdAt: number;
  /** Number of earlier tries to send the mail. */
  readonly tries: number;
};

/** Creates a mail for each user who has alerts and no mail yet. */
export async function createMails(store: Store, now: number): Promise<void> {
  const rows = await store.read
    .selectFrom('hook_alerts')
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('mails').select('mails.mail_id').whereRef('mails.user_id', '=', 'hook_alerts.user_id'))),
    )
    .select(({ fn }) => ['account_id', 'user_id', fn.min<number>('noted_at').as('noted_at')])
    .groupBy(['account_id', 'user_id'])
    .limit(MAX_USERS_PER_POLL)
    .execute();
  if (rows.length === 0) return;
  const mails = rows.map(({ noted_at, ...owner }) => ({
    ...owner,
    made_at: now,
    due_at: noted_at + ALERT_BATCH_DELAY_MS,
  }));
  await store.write(({ queries }) =>
    queries
      .insertInto('mails')
      .values(mails)
      .onConflict((conflict) => conflict.column('user_id').doNothing())
      .execute(),
  );
}

/**
 * Claims due mails and assigns all pending alerts to them. A claimed mail is sealed: it gets no further alerts as long
 * as the mail server may have accepted it.
 */
export async function claimMails(
  store: Store,
  leaseOwner: LeaseOwner,
  now: number,
  maxMails: number,
): Promise<readonly ClaimedMail[]> {
  const selectDueMails = (queries: Queries) =>
    queries
      .selectFrom('mails')
      .selectAll()
      // A mail that is due later than the maximum delay was postponed while the clock was ahead, so it counts as due.
      .where(({ or, eb }) => or([eb('due_at', '<=', now), eb('due_at', '>', now + MAX_MAIL_RETRY_DELAY_MS)]))
      .where(leaseOwner.buildFreeCondition(sql.ref<number>('mails.lease_owner')))
      .orderBy('due_at')
      .orderBy('mail_id')
      .limit(maxMails);
  if ((await selectDueMails(store.read).execute()).length === 0) return [];
  const { nodeId } = leaseOwner;
  return store.write(async (tx) => {
    const rows = await withRowLocks(tx.queries, selectDueMails(tx.queries)).execute();
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
      createdAt: row.made_at,
      tries: row.tries,
    }));
  });
}

/** Recipient and content of a mail. */
type MailContent = {
  readonly to: { readonly name: string; readonly address: string };
  readonly domain: MailTemplateValues['domain'];
  readonly hooks: readonly HookAlert[];
};

/** Reads the current content of a mail; undefined if the user was deleted or no alert is still valid. */
export async function readMailContent(
  read: Queries,
  { mailId, userId }: ClaimedMail,
): Promise<MailContent | undefined> {
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
      'hooks.events',
      'hooks.target',
      'hooks.last_outcome',
      'hooks.failures',
      'hooks.due_at',
      'hooks.date_ended',
    ])
    .where('hook_alerts.mail_id', '=', mailId)
    .orderBy('hook_alerts.hook_alert_id')
    .execute();
  const alertsByHook = new Map(rows.filter(isAlertStillValid).map((row) => [row.hook_id, toHookAlert(row)]));
  if (alertsByHook.size === 0) return undefined;
  const name = `${user.first_name} ${user.last_name}`.trim();
  return { to: { name, address: user.email }, domain: user.domain, hooks: [...alertsByHook.values()] };
}

type AlertRow = {
  what: string;
  hook_id: number;
  events: string;
  target: string;
  last_outcome: string;
  due_at: number | null;
  date_ended: number | null;
};

/** Whether an alert is still valid: since the alert, the hook has not recovered, been restored, or ended again. */
function isAlertStillValid(row: {
  what: string;
  noted_at: number;
  failures: number;
  date_ended: number | null;
}): boolean {
  return row.what === 'failing'
    ? row.date_ended === null && row.failures >= FAILURES_BEFORE_ALERT
    : row.date_ended === row.noted_at;
}

function toHookAlert(row: AlertRow): HookAlert {
  return {
    alertKind: row.what as AlertKind,
    hookId: row.hook_id,
    kind: row.events,
    target: row.target,
    lastOutcome: row.last_outcome,
    dueAt: row.due_at,
    endedAt: row.date_ended,
  };
}

/**
 * Deletes a mail and its alerts. If the mail was sent, the next mail to its user is delayed by MIN_MAIL_INTERVAL_MS.
 */
export async function deleteMail(store: Store, mail: ClaimedMail, sentAt?: number): Promise<void> {
  const { mailId, accountId, userId } = mail;
  await store.write(async ({ queries }) => {
    await queries.deleteFrom('hook_alerts').where('mail_id', '=', mailId).execute();
    const deletedMails = await queries.deleteFrom('mails').where('mail_id', '=', mailId).returning('mail_id').execute();
    if (sentAt === undefined || deletedMails.length === 0) return;
    const nextMailRow = {
      account_id: accountId,
      user_id: userId,
      made_at: sentAt,
      due_at: sentAt + MIN_MAIL_INTERVAL_MS,
    };
    await queries.insertInto('mails').values(nextMailRow).execute();
  });
}

/** Releases a mail, so that any node retries it at `dueAt`, unless another node has claimed it in the meantime. */
export async function postponeMail(
  store: Store,
  { nodeId }: LeaseOwner,
  { mailId }: ClaimedMail,
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

/** The outcome of sending a mail: accepted by the server (`taken`), rejected, or failed. */
export type SendOutcome =
  | { readonly is: 'taken' }
  /** The server has permanently rejected this mail or its recipient. */
  | { readonly is: 'refused'; readonly reason: string }
  /**
   * Any other failure. `isNotAccepted` is true if the server has certainly not accepted the mail, so that its content
   * may change.
   */
  | { readonly is: 'failed'; readonly reason: string; readonly isNotAccepted: boolean };

/**
 * The decision about a mail after a try. If `isSealed` is true, the mail gets no further alerts, because the mail server
 * may have accepted it.
 */
export type MailDecision =
  | { readonly is: 'sent' }
  | { readonly is: 'retry'; readonly waitMs: number; readonly sealed: boolean }
  | { readonly is: 'given_up' };

/** Delay after the first failed try. The delay doubles with each further failed try. */
const MIN_MAIL_RETRY_DELAY_MS = 60_000;
/** Maximum delay between two tries. Every stored mail is due within this delay. */
const MAX_MAIL_RETRY_DELAY_MS = 3_600_000;

/**
 * Maximum number of tries to send a mail. They take about three days; after that, the alerts are outdated. The limit is
 * a number, not a time, so that no mail is given up because the clock is set ahead.
 */
const MAX_SEND_TRIES = 78;

/**
 * Decides what follows from the outcome of a try: a retry with exponential backoff from a minute to an hour, or the end
 * of the mail if it was rejected or after MAX_SEND_TRIES.
 *
 * @param tries number of previous tries
 */
export function decideAfterSend(outcome: SendOutcome, { tries }: { tries: number }): MailDecision {
  if (outcome.is === 'taken') return { is: 'sent' };
  if (outcome.is === 'refused' || tries + 1 >= MAX_SEND_TRIES) return { is: 'given_up' };
  const waitMs = computeBackoffMs(tries, MIN_MAIL_RETRY_DELAY_MS, MAX_MAIL_RETRY_DELAY_MS);
  return { is: 'retry', waitMs, sealed: !outcome.isNotAccepted };
}
