import { sql } from 'kysely';
import type { Sequence, Sequences } from './sequences.ts';
import { type Queries, StoreFault } from './store.ts';
import type { Tables } from './tables.ts';

/** What an epoch begins with. */
export type Epoch = {
  /** How far every id and every position has jumped ahead. */
  readonly jump: number;
  /** The moment that the jump was counted from, milliseconds since the epoch; undefined in an empty database. */
  readonly since: number | undefined;
  /** The accounts whose cursors begin anew. */
  readonly accounts: number;
};

/** Nobody issues a million ids a second: 1,000 for each millisecond that may have been lived after the backup. */
const IDS_A_MS = 1_000;
const LEAST_JUMP = 1_000_000;

/** Columns that say when something happened, so that the latest of them is when the database was last alive. */
const MOMENTS = [
  ['accounts', 'date_created'],
  ['positions', 'occurred_at'],
  ['users', 'date_created'],
  ['api_keys', 'last_used'],
  ['owed', 'owed_at'],
  ['settled', 'settled_at'],
  ['attempts', 'attempted_at'],
  ['audit', 'happened_at'],
] as const satisfies readonly (readonly [keyof Tables, string])[];

/**
 * After a database went back in time: every id and every account's position jumps so far ahead that none is issued that
 * could have been issued after the moment it went back to, and no cursor from before leads anywhere. A second restore
 * of the same backup jumps further than the first has come. To be called inside a transaction, and nowhere else.
 *
 * @param now milliseconds since the epoch
 * @throws StoreFault with one line when the clock cannot be right, or ids would leave 2^53
 */
export async function beginEpoch(queries: Queries, sequences: Sequences, now: number): Promise<Epoch> {
  const since = await lastAlive(queries, now);
  const jump = LEAST_JUMP + IDS_A_MS * Math.max(0, Math.ceil(now - (since ?? now)));
  const all = await sequences.all(queries);
  const [positions] = await queries
    .selectFrom('positions')
    .select(({ fn }) => [fn.max('position').as('last'), fn.countAll<number>().as('accounts')])
    .execute();
  mustStaySafe(jump, [...all, { table: 'positions', column: 'position', last: positions?.last ?? 0 }]);
  for (const sequence of all) await sequences.raise(queries, sequence, sequence.last + jump);
  await queries
    .updateTable('positions')
    .set({ position: sql`position + ${jump}`, epoch_start: sql`position + ${jump}` })
    .execute();
  return { jump, since, accounts: Number(positions?.accounts ?? 0) };
}

/**
 * The latest moment that the database knows of. If any lies ahead of this machine's clock, one of the clocks was wrong,
 * and none is relied on: then all that was ever issued is jumped over, from the first account on.
 */
async function lastAlive(queries: Queries, now: number): Promise<number | undefined> {
  const [accounts] = await queries
    .selectFrom('accounts')
    .select(({ fn }) => fn.min('date_created').as('first'))
    .execute();
  const first: number | null = accounts?.first ?? null;
  if (first === null) return undefined;
  if (first > now) {
    throw new StoreFault(
      `The clock of this machine says ${iso(now)}, and the database was begun at ${iso(first)}. Set the clock right.`,
    );
  }
  const latest: number[] = [];
  for (const [table, column] of MOMENTS) {
    const { rows } = await sql<{ latest: number | null }>`
      select max(${sql.ref(column)}) as latest from ${sql.table(table)}`.execute(queries);
    latest.push(rows[0]?.latest ?? 0);
  }
  const last = Math.max(...latest);
  return last > now ? first : last;
}

function mustStaySafe(jump: number, all: readonly Sequence[]): void {
  const past = all.find(({ last }) => last + 2 * jump > Number.MAX_SAFE_INTEGER);
  if (past === undefined) return;
  throw new StoreFault(
    `${past.table} stands at ${past.last}, and a jump of ${jump} would leave no room below 2^53. Is the clock right?`,
  );
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
