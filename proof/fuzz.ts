import { fuzzAnswers } from './fuzz/answers.ts';
import type { Figure, Proof, Run } from './proof.ts';

/** R11: whatever is sent, what comes back is what the document says. */
export const fuzz: Proof = {
  id: 'R11',
  name: 'fuzz',
  title: 'requests of every kind, generated from the OpenAPI document, and malformed ones from a corpus',
  promise: 'every answer is one that the document has; none is a 5xx, and the service goes on',
  unit: 'requests',
  quick: 20_000,
  long: 1_000_000,
  prove,
};

async function prove(run: Run): Promise<Figure> {
  const broken: string[] = [];
  let [requests, taken] = [0, 0];
  for (const store of run.stores) {
    const fuzzed = await fuzzAnswers(store, Math.ceil(run.count / run.stores.length), run);
    requests += fuzzed.requests;
    taken += fuzzed.taken;
    broken.push(...fuzzed.broken);
  }
  return { counts: { requests, 'of them taken': taken }, broken };
}
