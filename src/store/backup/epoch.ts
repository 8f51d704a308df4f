import type { Sequences } from '../sequences.ts';
import { type Queries, StoreError } from '../store.ts';

export type Epoch = {
  /** All ids and feed positions issued from now on are greater than this. */
  readonly start: number;
  /** Number of accounts whose feed cursors were invalidated. */
  readonly accountCount: number;
};

/** The time from which epoch starts are computed, milliseconds since the Unix epoch. */
const EPOCH_ORIGIN_MS = Date.UTC(2025, 0, 1);
/** An epoch starts at this number of ids per millisecond since EPOCH_ORIGIN_MS. No service issues ids that fast. */
const EPOCH_IDS_PER_MS = 1_000;

/**
 * Begins a new epoch after a restore: raises all ids and feed positions beyond everything that this database, or
 * another copy of it, can have issued since the backup, so that no id is issued twice. Older cursors become invalid.
 * Call it inside a transaction.
 *
 * @param now milliseconds since the Unix epoch
 * @throws StoreError if this clock is behind the clock by which ids were issued, or if ids would exceed 2^53
 */
export async function beginEpoch(queries: Queries, sequences: Sequences, now: number): Promise<Epoch> {
  const epochStart = EPOCH_IDS_PER_MS * Math.floor(now - EPOCH_ORIGIN_MS);
  // Node ids are not raised: they are internal and end with their process, and PostgreSQL's advisory locks need them
  // below 2^31.
  const sequencesToRaise = (await sequences.readAll(queries)).filter(({ table }) => table !== 'nodes');
  const [positionTotals] = await queries
    .selectFrom('positions')
    .select(({ fn }) => [fn.max<number | null>('position').as('last'), fn.countAll<number>().as('accounts')])
    .execute();
  const highestId = Math.max(0, ...sequencesToRaise.map(({ last }) => last), positionTotals?.last ?? 0);
  if (highestId >= epochStart || epochStart > Number.MAX_SAFE_INTEGER / 2) {
    throw new StoreError(
      `The clock of this machine is wrong: it is at ${new Date(now).toISOString()}, and ids are at ${highestId}. Correct it and try again.`,
    );
  }
  for (const sequence of sequencesToRaise) await sequences.raise(queries, sequence, epochStart);
  await queries.updateTable('positions').set({ position: epochStart, epoch_start: epochStart }).execute();
  return { start: epochStart, accountCount: positionTotals?.accounts ?? 0 };
}
