import type { Sequences } from '../sequences.ts';
import { type Queries, StoreError } from '../store.ts';

/** What an epoch begins with. */
export type Epoch = {
  /** Where every id and every position stands now: what is issued from here on lies behind it. */
  readonly start: number;
  /** The accounts whose cursors begin anew. */
  readonly accounts: number;
};

/** Nobody issues a million ids a second: whatever a service has issued since this moment is less than 1,000 a millisecond. */
const ORIGIN = Date.UTC(2025, 0, 1);
const IDS_PER_MS = 1_000;

/**
 * After a database went back in time: every id and every account's position jumps to where nobody can have come by now,
 * neither this database since the moment it went back to nor any other copy of it, so that nothing is issued a second
 * time. Cursors from before lead nowhere. To be called inside a transaction.
 *
 * @param now milliseconds since the epoch of the calendar
 * @throws StoreFault with one line when this clock is behind the one that ids were issued by, or they would leave 2^53
 */
export async function beginEpoch(queries: Queries, sequences: Sequences, now: number): Promise<Epoch> {
  const start = IDS_PER_MS * Math.floor(now - ORIGIN);
  // Numbers of nodes are told to nobody and outlive no process; some databases know locks by them, and by 32 bits.
  const all = (await sequences.all(queries)).filter(({ table }) => table !== 'nodes');
  const [positions] = await queries
    .selectFrom('positions')
    .select(({ fn }) => [fn.max<number | null>('position').as('last'), fn.countAll<number>().as('accounts')])
    .execute();
  const furthest = Math.max(0, ...all.map(({ last }) => last), positions?.last ?? 0);
  if (furthest >= start || start > Number.MAX_SAFE_INTEGER / 2) {
    throw new StoreError(
      `The clock of this machine says ${new Date(now).toISOString()}, and ids have come to ${furthest}: it is wrong. Set it right, and try again.`,
    );
  }
  for (const sequence of all) await sequences.raise(queries, sequence, start);
  await queries.updateTable('positions').set({ position: start, epoch_start: start }).execute();
  return { start, accounts: positions?.accounts ?? 0 };
}
