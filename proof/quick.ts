import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chosen } from '../test/harness/stores.ts';
import type { Proof } from './proof.ts';

/** The quick form of a proof, as a test: as often as its row says, from a seed that is shown, or that `SEED` names. */
export function quick(proof: Proof): void {
  const { id, name, title, quick: count } = proof;
  if (count === undefined) throw new Error(`${id} has no quick form`);
  test(`${id} ${title}`, async (t) => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
    const say = (line: string) => t.diagnostic(line);
    const figure = await proof.prove({ count, seed, stores: chosen, context: t, say });
    for (const [what, counted] of Object.entries(figure.counts)) say(`${what}: ${counted}`);
    assert.deepEqual(figure.broken, [], `again: npm run prove -- ${name} --count ${count} --seed ${seed}`);
  });
}
