import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Store, Tx } from '../store/store.ts';

const DAY_MS = 24 * 3_600_000;

/** How long what is past is kept. What is owed to a live hook is never dropped. */
export const KEPT_MS = {
  attempts: 30 * DAY_MS,
  settled: 30 * DAY_MS,
  endedHooks: 30 * DAY_MS,
  occurrences: 90 * DAY_MS,
};

const EVERY_MS = 3_600_000;

/** Small enough that no write waits long behind it. */
const ROWS_A_WRITE = 500;

/** Drops what is older than it is kept (C23, X2, X3), a little at a time, every hour; `stop` ends it. */
export function startPruning({ store, clock, log }: { store: Store; clock: Clock; log: Log }): { stop(): void } {
  let cancel: () => void = () => undefined;
  let stopped = false;
  async function run(): Promise<void> {
    try {
      const dropped = await prune(store, clock.now(), () => stopped);
      if (dropped > 0) log.info({ event: 'pruned', rows: dropped });
    } catch (error) {
      log.error({ event: 'prune.failed', err: error });
    }
    if (!stopped) cancel = clock.after(EVERY_MS, () => void run());
  }
  cancel = clock.after(10_000, () => void run());
  return {
    stop() {
      stopped = true;
      cancel();
    },
  };
}

/** One round; answers how many rows were dropped. */
export async function prune(store: Store, now: number, isStopped: () => boolean = () => false): Promise<number> {
  let total = 0;
  for (const step of steps(now)) {
    for (;;) {
      if (isStopped()) return total;
      const dropped = await store.write(step);
      total += dropped;
      if (dropped < ROWS_A_WRITE) break;
    }
  }
  return total;
}

type Step = (tx: Tx) => Promise<number>;

function steps(now: number): Step[] {
  return [dropAttempts(now), dropSettled(now), dropOccurrences(now), dropEndedHooks(now)];
}

/** Attempts are numbered as they are made, so the old ones are the first ones. */
function dropAttempts(now: number): Step {
  return async ({ queries }) => {
    const first = await queries
      .selectFrom('attempts')
      .select(['attempt_id', 'attempted_at'])
      .orderBy('attempt_id')
      .limit(ROWS_A_WRITE)
      .execute();
    const last = first.filter((row) => row.attempted_at < now - KEPT_MS.attempts).at(-1);
    if (last === undefined) return 0;
    const { numDeletedRows } = await queries
      .deleteFrom('attempts')
      .where('attempt_id', '<=', last.attempt_id)
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  };
}

function dropSettled(now: number): Step {
  return async ({ queries }) => {
    const old = await queries
      .selectFrom('settled')
      .select('delivery_id')
      .where('settled_at', '<', now - KEPT_MS.settled)
      .limit(ROWS_A_WRITE)
      .execute();
    const deliveryIds = old.map((row) => row.delivery_id);
    if (deliveryIds.length === 0) return 0;
    await queries.deleteFrom('asks').where('delivery_id', 'in', deliveryIds).execute();
    await queries.deleteFrom('settled').where('delivery_id', 'in', deliveryIds).execute();
    return deliveryIds.length;
  };
}

/** Positions grow with time, so the old occurrences of an account are its first ones. */
function dropOccurrences(now: number): Step {
  return async ({ queries }) => {
    const accounts = await queries.selectFrom('accounts').select('account_id').execute();
    for (const { account_id } of accounts) {
      const first = await queries
        .selectFrom('occurrences')
        .select(['position', 'occurred_at'])
        .where('account_id', '=', account_id)
        .orderBy('position')
        .limit(ROWS_A_WRITE)
        .execute();
      const last = first.filter((row) => row.occurred_at < now - KEPT_MS.occurrences).at(-1);
      if (last === undefined) continue;
      await queries
        .deleteFrom('occurrences')
        .where('account_id', '=', account_id)
        .where('position', '<=', last.position)
        .execute();
      // More may be old, here or in the next account: go round again.
      return ROWS_A_WRITE;
    }
    return 0;
  };
}

/** A hook that ended long ago goes with what was still owed to it, first that, so that no write is a long one. */
function dropEndedHooks(now: number): Step {
  return async ({ queries }) => {
    const old = await queries
      .selectFrom('hooks')
      .select('hook_id')
      .where('date_ended', '<', now - KEPT_MS.endedHooks)
      .limit(ROWS_A_WRITE)
      .execute();
    const hookIds = old.map((hook) => hook.hook_id);
    if (hookIds.length === 0) return 0;
    const owed = queries.selectFrom('owed').select('delivery_id').where('hook_id', 'in', hookIds).limit(ROWS_A_WRITE);
    const { numDeletedRows } = await queries
      .deleteFrom('owed')
      .where('delivery_id', 'in', owed)
      .executeTakeFirstOrThrow();
    if (Number(numDeletedRows) === ROWS_A_WRITE) return ROWS_A_WRITE;
    await queries
      .deleteFrom('hooks')
      .where('hook_id', 'in', hookIds)
      .where((where) =>
        where.not(
          where.exists(
            where.selectFrom('owed').select('owed.delivery_id').whereRef('owed.hook_id', '=', 'hooks.hook_id'),
          ),
        ),
      )
      .execute();
    return hookIds.length;
  };
}
