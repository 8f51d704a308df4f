import { parseArgs } from 'node:util';
import type { Cleanup } from '../test/harness/cleanup.ts';
import { globalSetup, globalTeardown } from '../test/harness/once.ts';
import { chosen } from '../test/harness/stores.ts';
import type { Proof } from './proof.ts';
import { proofs } from './proofs.ts';
import { keep } from './results.ts';

// `npm run prove`: the long form of every proof; `npm run prove -- R1 kills --count 50 --seed 7`: of some, or shorter. What
// a whole long form came to, on all databases, is kept in `proof/results/`, and `docs/reliability.md` is written from that by
// `npm run docs`.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string' }, seed: { type: 'string' }, quick: { type: 'boolean', default: false } },
});
const say = (line = '') => void process.stdout.write(`${line}\n`);
const named = positionals.map((word) => {
  const found = proofs.find(({ id, name }) => id === word || name === word);
  if (found !== undefined) return found;
  say(`There is no proof ${word}; there is ${proofs.map(({ id, name }) => `${id} ${name}`).join(', ')}.`);
  return process.exit(1);
});

function numberIn(name: 'count' | 'seed', least: number): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  say(`--${name} must be a whole number from ${least}.`);
  return process.exit(1);
}
const seed = numberIn('seed', 0) ?? Date.now() % 2 ** 31;
const wanted = numberIn('count', 1);
const isLong = wanted === undefined && !values.quick && process.env.TEST_STORES === undefined;

/** Runs one, says what came of it, and answers whether it holds. */
async function prove(proof: Proof): Promise<boolean> {
  const count = wanted ?? (values.quick ? (proof.quick ?? proof.long) : proof.long);
  say(`${proof.id} ${proof.title}`);
  const lacks = proof.lacks?.();
  if (lacks !== undefined) {
    say(`  not run: ${lacks}`);
    return false;
  }
  say(`  ${count} ${proof.unit}, seed ${seed}`);
  const endings: Parameters<Cleanup['after']>[0][] = [];
  const context: Cleanup = { after: (close) => void endings.push(close) };
  const began = performance.now();
  try {
    const figure = await proof.prove({ count, seed, stores: chosen, context, say: (line) => say(`  ${line}`) });
    const seconds = Math.round((performance.now() - began) / 1_000);
    for (const [what, counted] of Object.entries(figure.counts)) say(`  ${what}: ${counted.toLocaleString('en')}`);
    for (const line of figure.broken.slice(0, 50)) say(`  BROKEN: ${line}`);
    say(`  ${figure.broken.length === 0 ? 'holds' : 'DOES NOT HOLD'}, ${seconds} s`);
    if (isLong) keep(proof, { ...figure, count, seed, seconds });
    return figure.broken.length === 0;
  } finally {
    for (const close of endings.reverse()) await close();
  }
}

let held = true;
// What waits for nothing that is under way would otherwise end here and now, and nobody would be told that it did not hold.
setInterval(() => undefined, 60_000);
await globalSetup();
try {
  for (const proof of named.length > 0 ? named : proofs) {
    held =
      (await prove(proof).catch((error: unknown) => {
        say(`  BROKE OFF: ${error instanceof Error ? error.stack : String(error)}`);
        return false;
      })) && held;
  }
} finally {
  await globalTeardown();
}
process.exit(held ? 0 : 1);
