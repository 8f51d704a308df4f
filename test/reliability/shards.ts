import { type SeededRandom, seededRandom } from '../../packages/chaos-receiver/src/random.ts';
import { type Cleanup, withCleanup } from '../kit/cleanup.ts';
import type { TestStore } from '../kit/service/stores.ts';
import type { RunParameters } from './reliability-test.ts';

/** A part of the runs, on its own database, with its own cleanup. */
export type Shard = {
  readonly context: Cleanup;
  readonly store: TestStore;
  readonly times: number;
  readonly random: SeededRandom;
};

/** Counters and violations of a part of the runs. */
export type PartialResult = { readonly counts: Readonly<Record<string, number>>; readonly broken: readonly string[] };

export type ShardOptions = {
  /** Number of runs on one database before a new database is created, so that the final comparison stays small. */
  readonly maxPerShard: number;
  /** Share of the runs that use PostgreSQL if both databases are tested. */
  readonly postgresShare: number;
};

/** Runs all databases concurrently, shard by shard, and sums the results. */
export async function runInShards(
  { count, seed, stores, log }: RunParameters,
  { maxPerShard, postgresShare }: ShardOptions,
  work: (shard: Shard) => Promise<PartialResult>,
): Promise<PartialResult> {
  const random = seededRandom(seed);
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const countFor = ({ name }: TestStore) => {
    if (stores.length === 1) return count;
    const onPostgres = Math.ceil(count * postgresShare);
    return name === 'PostgreSQL' ? onPostgres : count - onPostgres;
  };
  const perStore = stores.map((store) => ({ store, rng: random.fork(), all: countFor(store) }));
  await waitForAll(
    perStore.map(async ({ store, rng, all }) => {
      for (let left = all; left > 0; left -= maxPerShard) {
        const times = Math.min(left, maxPerShard);
        // An aborted shard is a violation; the counters of earlier shards are kept.
        const part = await withCleanup((context) => work({ context, store, times, random: rng })).catch(abortedResult);
        for (const [what, number] of Object.entries(part.counts)) counts[what] = (counts[what] ?? 0) + number;
        broken.push(...part.broken.map((line) => `${store.name}: ${line}`));
        log(`${store.name}: ${all - left + times} of ${all}, ${part.broken.length} faults`);
      }
    }),
  );
  return { counts, broken };
}

/** Returns the result of a shard that threw. */
export function abortedResult(error: unknown): PartialResult {
  return { counts: {}, broken: [`aborted: ${error instanceof Error ? error.stack : error}`.replaceAll('\n', ' ')] };
}

/** Waits for all promises, also if one of them rejects, so that no work continues in the background after a failure. */
export async function waitForAll(works: readonly Promise<unknown>[]): Promise<void> {
  const ended = await Promise.allSettled(works);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}
