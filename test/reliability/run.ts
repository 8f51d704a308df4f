import { parseArgs } from 'node:util';
import type { Cleanup } from '../kit/cleanup.ts';
import { globalSetup, globalTeardown } from '../kit/global-setup.ts';
import { chosen } from '../kit/service/stores.ts';
import { currentCommit } from '../kit/surroundings.ts';
import { proofs } from './index.ts';
import type { ReliabilityTest, RunResult } from './reliability-test.ts';
import { storeResult, storeSmokeDuration } from './results.ts';

// `npm run prove` makes the full run of every reliability test; `npm run prove -- R1 kills --count 50 --seed
// 7` runs some, or fewer cycles. Results of complete full runs are stored in `test/reliability/results.json`,
// from which `npm run docs` writes `docs/reliability.md`. `--quick` makes the smoke runs one after the other
// and stores their total duration.

/** Maximum number of violations that are printed for a test. */
const MAX_PRINTED = 50;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string' }, seed: { type: 'string' }, quick: { type: 'boolean', default: false } },
});
const log = (line = '') => void process.stdout.write(`${line}\n`);
const named = positionals.map((word) => {
  const found = proofs.find(({ id, name }) => id === word || name === word);
  if (found !== undefined) return found;
  log(`There is no proof ${word}; there is ${proofs.map(({ id, name }) => `${id} ${name}`).join(', ')}.`);
  return process.exit(1);
});

function numberIn(name: 'count' | 'seed', min: number): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= min) return value;
  log(`--${name} must be a whole number from ${min}.`);
  return process.exit(1);
}
const seed = numberIn('seed', 0) ?? Date.now() % 2 ** 31;
const requestedCount = numberIn('count', 1);
// A run is complete if it uses all databases and the full count, and does not replay a known failure.
const isComplete =
  requestedCount === undefined && ['TEST_STORES', 'RUN', 'REPLAY'].every((name) => process.env[name] === undefined);
const isFullRun = isComplete && !values.quick;
const commit = currentCommit();
if (isComplete && commit === undefined) log('The source is not as committed: what it comes to is said, and not kept.');

/** Runs one test and prints its result. The result of a full run is stored. Returns whether the promise holds. */
async function execute(proof: ReliabilityTest): Promise<boolean> {
  const count = requestedCount ?? (values.quick ? (proof.smoke ?? proof.full) : proof.full);
  log(`${proof.id} ${proof.title}`);
  const began = performance.now();
  const store = (came: RunResult & { lacks?: string }) => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    if (isFullRun && commit !== undefined) storeResult(proof, { ...came, count, seed, seconds, commit });
    return seconds;
  };
  const lacks = proof.lacks?.();
  if (lacks !== undefined) {
    log(`  not run: ${lacks}`);
    store({ counts: {}, broken: [], lacks });
    return false;
  }
  log(`  ${count} ${proof.unit}, seed ${seed}`);
  const endings: Parameters<Cleanup['after']>[0][] = [];
  const context: Cleanup = { after: (close) => void endings.push(close) };
  try {
    const figure = await proof.execute({ count, seed, stores: chosen, context, log: (line) => log(`  ${line}`) });
    for (const [what, counted] of Object.entries(figure.counts)) log(`  ${what}: ${counted.toLocaleString('en')}`);
    for (const line of figure.broken.slice(0, MAX_PRINTED)) log(`  BROKEN: ${line}`);
    if (figure.broken.length > MAX_PRINTED) log(`  and ${figure.broken.length - MAX_PRINTED} more`);
    const seconds = store(figure);
    log(`  ${figure.broken.length === 0 ? 'holds' : 'DOES NOT HOLD'}, ${seconds} s`);
    return figure.broken.length === 0;
  } catch (error) {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log(`  ABORTED: ${said}`);
    store({ counts: {}, broken: [`aborted: ${said.split('\n', 1)}`] });
    return false;
  } finally {
    for (const close of endings.reverse()) await close();
  }
}

let allHold = true;
// Node exits early with code 0 if it waits for a promise that nothing pending would resolve. The timer prevents that.
setInterval(() => undefined, 60_000);
await globalSetup();
try {
  const began = performance.now();
  const selected = values.quick ? proofs.filter(({ smoke }) => smoke !== undefined) : proofs;
  for (const proof of named.length > 0 ? named : selected) {
    allHold = (await execute(proof)) && allHold;
  }
  const seconds = Math.round((performance.now() - began) / 1_000);
  log(`${allHold ? 'holds' : 'DOES NOT HOLD'}, ${seconds} s in all`);
  const isAllSmoke = isComplete && values.quick && named.length === 0;
  if (isAllSmoke && allHold && commit !== undefined) storeSmokeDuration(seconds, commit);
} finally {
  await globalTeardown();
}
process.exit(allHold ? 0 : 1);
