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
  return [
    async ({ queries }) => {
      const old = queries
        .selectFrom('attempts')
        .select('attempt_id')
        .where('attempted_at', '<', now - KEPT_MS.attempts)
        .limit(ROWS_A_WRITE);
      const { numDeletedRows } = await queries
        .deleteFrom('attempts')
        .where('attempt_id', 'in', old)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
    async ({ queries }) => {
      const old = queries
        .selectFrom('settled')
        .select('delivery_id')
        .where('settled_at', '<', now - KEPT_MS.settled)
        .limit(ROWS_A_WRITE);
      const { numDeletedRows } = await queries
        .deleteFrom('settled')
        .where('delivery_id', 'in', old)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
    async ({ queries }) => {
      const old = await queries
        .selectFrom('occurrences')
        .select(['account_id', 'position'])
        .where('occurred_at', '<', now - KEPT_MS.occurrences)
        .orderBy('occurred_at')
        .limit(ROWS_A_WRITE)
        .execute();
      for (const { account_id, position } of old) {
        await queries
          .deleteFrom('occurrences')
          .where('account_id', '=', account_id)
          .where('position', '=', position)
          .execute();
      }
      return old.length;
    },
    dropEndedHooks(now),
  ];
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
