import type { Growing, Store, Tx } from './store.ts';

/** Small enough that no write waits long behind it. */
const DELETE_BATCH_SIZE = 500;

/** What is dropped: all before a moment, as the clock says `now`. */
type Past = { readonly before: number; readonly now: number };

/**
 * Drops what is older than a moment in small bites along the order in which the rows were made, each a write of its
 * own; for a table whose ranges are no tables of their own.
 */
export async function deleteInBatches(
  write: Store['write'],
  table: Growing,
  { before, now }: Past,
  isStopped: () => boolean,
): Promise<number> {
  let total = 0;
  for (;;) {
    if (isStopped()) return total;
    const dropped = await write(deleteBatches[table]({ before, now }));
    total += dropped;
    if (dropped < DELETE_BATCH_SIZE) return total;
  }
}

type DeleteBatch = (past: Past) => (tx: Tx) => Promise<number>;

const deleteBatches: Readonly<Record<Growing, DeleteBatch>> = {
  // Attempts are numbered as they are made, so the old ones are the first ones; but for those that were made while the clock
  // was wrong. They go by their own time, and keep no others from going.
  attempts:
    ({ before, now }) =>
    async ({ queries }) => {
      const first = await queries
        .selectFrom('attempts')
        .select(['attempt_id', 'attempted_at'])
        .where('attempted_at', '<=', now)
        .orderBy('attempt_id')
        .limit(DELETE_BATCH_SIZE)
        .execute();
      const last = first.filter((row) => row.attempted_at < before).at(-1);
      if (last === undefined) return 0;
      const { numDeletedRows } = await queries
        .deleteFrom('attempts')
        .where('attempt_id', '<=', last.attempt_id)
        .where('attempted_at', '<', before)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  finalized_deliveries:
    ({ before }) =>
    async ({ queries }) => {
      const old = queries
        .selectFrom('finalized_deliveries')
        .select('delivery_id')
        .where('finalized_at', '<', before)
        .limit(DELETE_BATCH_SIZE);
      const { numDeletedRows } = await queries
        .deleteFrom('finalized_deliveries')
        .where('delivery_id', 'in', old)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  // Positions grow with the account's clock, so the old occurrences of an account are its first ones.
  occurrences:
    ({ before }) =>
    async ({ queries }) => {
      const accounts = await queries.selectFrom('accounts').select('account_id').execute();
      for (const { account_id } of accounts) {
        const first = await queries
          .selectFrom('occurrences')
          .select(['position', 'occurred_at'])
          .where('account_id', '=', account_id)
          .orderBy('position')
          .limit(DELETE_BATCH_SIZE)
          .execute();
        const last = first.filter((row) => row.occurred_at < before).at(-1);
        if (last === undefined) continue;
        await queries
          .deleteFrom('occurrences')
          .where('account_id', '=', account_id)
          .where('position', '<=', last.position)
          .execute();
        // More may be old, here or in the next account: go round again.
        return DELETE_BATCH_SIZE;
      }
      return 0;
    },
};
