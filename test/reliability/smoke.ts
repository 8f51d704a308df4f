import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultStores, type TestStore } from '../kit/service/stores.ts';
import type { ReliabilityTest } from './reliability-test.ts';

/**
 * Seed of smoke runs, unless `SEED` is set. It is constant so that a failure is caused by the change and can
 * be repeated. `npm run prove` tries other seeds.
 */
const SEED = 20_261_121;

/**
 * Time limit of a smoke run on a machine that is busy with other tests. Otherwise a smoke run takes at most a
 * minute.
 */
const TIMEOUT_MS = 300_000;

/** Registers the smoke run of a reliability test as a test. */
export function smokeTest(reliabilityTest: ReliabilityTest, stores: readonly TestStore[] = defaultStores): void {
  const { id, name, title, smoke: count } = reliabilityTest;
  if (count === undefined) throw new Error(`${id} has no quick form`);
  test(`${id} ${title}`, { timeout: TIMEOUT_MS }, async (t) => {
    const seed = Number(process.env.SEED ?? SEED);
    const log = (line: string) => t.diagnostic(line);
    const result = await reliabilityTest.execute({ count, seed, stores, context: t, log });
    for (const [what, counted] of Object.entries(result.counts)) log(`${what}: ${counted}`);
    assert.deepEqual(result.broken, [], `again: npm run prove -- ${name} --count ${count} --seed ${seed}`);
  });
}
