import { type Cleanup, within } from '../kit/cleanup.ts';
import { chanceFrom, type SeededChance } from '../kit/random.ts';
import type { TestStore } from '../kit/stores.ts';
import type { Run } from './reliability-test.ts';

/** Some of the work: on a database of its own, with all that it opens closed behind it. */
export type Shard = {
  readonly context: Cleanup;
  readonly store: TestStore;
  readonly times: number;
  readonly random: SeededChance;
};

/** What some of the work came to. */
export type PartialResult = { readonly counts: Readonly<Record<string, number>>; readonly broken: readonly string[] };

export type Split = {
  /** So many times on one database, then a new one: what is compared at the end stays small. */
  readonly maxPerShard: number;
  /** How much of it is done on PostgreSQL, where both are to be shown. */
  readonly postgresShare: number;
};

/** Does the work on all databases side by side, shard by shard, and adds up what came of it. */
export async function runInShards(
  { count, seed, stores, log }: Run,
  { maxPerShard, postgresShare }: Split,
  work: (shard: Shard) => Promise<PartialResult>,
): Promise<PartialResult> {
  const random = chanceFrom(seed);
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const countFor = ({ name }: TestStore) => {
    if (stores.length === 1) return count;
    const there = Math.ceil(count * postgresShare);
    return name === 'PostgreSQL' ? there : count - there;
  };
  const perStore = stores.map((store) => ({ store, rng: random.fork(), all: countFor(store) }));
  await waitForAll(
    perStore.map(async ({ store, rng, all }) => {
      for (let left = all; left > 0; left -= maxPerShard) {
        const times = Math.min(left, maxPerShard);
        // What breaks off does not hold, and what came before it stays counted.
        const part = await within((context) => work({ context, store, times, random: rng })).catch(abortedPart);
        for (const [what, number] of Object.entries(part.counts)) counts[what] = (counts[what] ?? 0) + number;
        broken.push(...part.broken.map((line) => `${store.name}: ${line}`));
        log(`${store.name}: ${all - left + times} of ${all}, ${part.broken.length} faults`);
      }
    }),
  );
  return { counts, broken };
}

/** What comes of some of the work that could not be done to its end. */
export function abortedPart(error: unknown): PartialResult {
  return { counts: {}, broken: [`broke off: ${error instanceof Error ? error.stack : error}`.replaceAll('\n', ' ')] };
}

/** Waits for all of them, also when one breaks off: nothing goes on behind the back of whoever asked. */
export async function waitForAll(works: readonly Promise<unknown>[]): Promise<void> {
  const ended = await Promise.allSettled(works);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}
