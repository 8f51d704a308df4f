import { type Cleanup, within } from '../kit/cleanup.ts';
import { chanceFrom, type SeededChance } from '../kit/random.ts';
import type { TestStore } from '../kit/stores.ts';
import type { Run } from './reliability-test.ts';

/** Some of the work: on a database of its own, with all that it opens closed behind it. */
export type Stretch = {
  readonly context: Cleanup;
  readonly store: TestStore;
  readonly times: number;
  readonly random: SeededChance;
};

/** What some of the work came to. */
export type Part = { readonly counts: Readonly<Record<string, number>>; readonly broken: readonly string[] };

export type Split = {
  /** So many times on one database, then a new one: what is compared at the end stays small. */
  readonly most: number;
  /** How much of it is done on PostgreSQL, where both are to be shown. */
  readonly onPostgres: number;
};

/** Does the work on all databases side by side, stretch by stretch, and adds up what came of it. */
export async function inStretches(
  { count, seed, stores, say }: Run,
  { most, onPostgres }: Split,
  work: (stretch: Stretch) => Promise<Part>,
): Promise<Part> {
  const random = chanceFrom(seed);
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const shareOf = ({ name }: TestStore) => {
    if (stores.length === 1) return count;
    const there = Math.ceil(count * onPostgres);
    return name === 'PostgreSQL' ? there : count - there;
  };
  const onAll = stores.map((store) => ({ store, dice: random.fork(), all: shareOf(store) }));
  await sideBySide(
    onAll.map(async ({ store, dice, all }) => {
      for (let left = all; left > 0; left -= most) {
        const times = Math.min(left, most);
        // What breaks off does not hold, and what came before it stays counted.
        const part = await within((context) => work({ context, store, times, random: dice })).catch(brokeOff);
        for (const [what, number] of Object.entries(part.counts)) counts[what] = (counts[what] ?? 0) + number;
        broken.push(...part.broken.map((line) => `${store.name}: ${line}`));
        say(`${store.name}: ${all - left + times} of ${all}, ${part.broken.length} faults`);
      }
    }),
  );
  return { counts, broken };
}

/** What comes of some of the work that could not be done to its end. */
export function brokeOff(error: unknown): Part {
  return { counts: {}, broken: [`broke off: ${error instanceof Error ? error.stack : error}`.replaceAll('\n', ' ')] };
}

/** Waits for all of them, also when one breaks off: nothing goes on behind the back of whoever asked. */
export async function sideBySide(works: readonly Promise<unknown>[]): Promise<void> {
  const ended = await Promise.allSettled(works);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}
