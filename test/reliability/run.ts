import { parseArgs } from 'node:util';
import type { Cleanup } from '../kit/cleanup.ts';
import { globalSetup, globalTeardown } from '../kit/global-setup.ts';
import { chosen } from '../kit/stores.ts';
import { sourceNow } from '../kit/surroundings.ts';
import { proofs } from './index.ts';
import type { Figure, Proof } from './reliability-test.ts';
import { keep, keepQuick } from './results.ts';

// `npm run prove`: the long form of every proof; `npm run prove -- R1 kills --count 50 --seed 7`: of some, or shorter. What
// a whole long form came to, on all databases, is kept in `test/reliability/results/`, and `docs/reliability.md` is written from that by
// `npm run docs`. `--quick` runs the quick forms one after the other, and how long all of them took is kept as well.
const MAX_SHOWN = 50;

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
// Whole, on all databases, and not what was found once over again.
const isWhole =
  wanted === undefined && ['TEST_STORES', 'RUN', 'REPLAY'].every((name) => process.env[name] === undefined);
const isLong = isWhole && !values.quick;
const commit = sourceNow();
if (isWhole && commit === undefined) say('The source is not as committed: what it comes to is said, and not kept.');

/** Runs one, says what came of it, keeps that of a long form, and answers whether it holds. */
async function prove(proof: Proof): Promise<boolean> {
  const count = wanted ?? (values.quick ? (proof.quick ?? proof.long) : proof.long);
  say(`${proof.id} ${proof.title}`);
  const began = performance.now();
  const keepIt = (came: Figure & { lacks?: string }) => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    if (isLong && commit !== undefined) keep(proof, { ...came, count, seed, seconds, commit });
    return seconds;
  };
  const lacks = proof.lacks?.();
  if (lacks !== undefined) {
    say(`  not run: ${lacks}`);
    keepIt({ counts: {}, broken: [], lacks });
    return false;
  }
  say(`  ${count} ${proof.unit}, seed ${seed}`);
  const endings: Parameters<Cleanup['after']>[0][] = [];
  const context: Cleanup = { after: (close) => void endings.push(close) };
  try {
    const figure = await proof.prove({ count, seed, stores: chosen, context, say: (line) => say(`  ${line}`) });
    for (const [what, counted] of Object.entries(figure.counts)) say(`  ${what}: ${counted.toLocaleString('en')}`);
    for (const line of figure.broken.slice(0, MAX_SHOWN)) say(`  BROKEN: ${line}`);
    if (figure.broken.length > MAX_SHOWN) say(`  and ${figure.broken.length - MAX_SHOWN} more`);
    const seconds = keepIt(figure);
    say(`  ${figure.broken.length === 0 ? 'holds' : 'DOES NOT HOLD'}, ${seconds} s`);
    return figure.broken.length === 0;
  } catch (error) {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
    say(`  BROKE OFF: ${said}`);
    keepIt({ counts: {}, broken: [`broke off: ${said.split('\n', 1)}`] });
    return false;
  } finally {
    for (const close of endings.reverse()) await close();
  }
}

let held = true;
// What waits for nothing that is under way would otherwise end here and now, and nobody would be told that it did not hold.
setInterval(() => undefined, 60_000);
await globalSetup();
try {
  const began = performance.now();
  const every = values.quick ? proofs.filter(({ quick }) => quick !== undefined) : proofs;
  for (const proof of named.length > 0 ? named : every) {
    held = (await prove(proof)) && held;
  }
  const seconds = Math.round((performance.now() - began) / 1_000);
  say(`${held ? 'holds' : 'DOES NOT HOLD'}, ${seconds} s in all`);
  const isEvery = isWhole && values.quick && named.length === 0;
  if (isEvery && held && commit !== undefined) keepQuick(seconds, commit);
} finally {
  await globalTeardown();
}
process.exit(held ? 0 : 1);
