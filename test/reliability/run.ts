import { parseArgs } from 'node:util';
import type { Cleanup } from '../kit/cleanup.ts';
import { globalSetup, globalTeardown } from '../kit/global-setup.ts';
import { chosenStores, defaultStores } from '../kit/service/stores.ts';
import { currentCommit } from '../kit/surroundings.ts';
import { reliabilityTests } from './index.ts';
import type { ReliabilityTest, RunResult } from './reliability-test.ts';
import { storeResult } from './results.ts';

// `npm run prove` makes the full run of every reliability test; `npm run prove -- R1 kills --count 50 --seed
// 7` runs some, or fewer cycles. Results of complete full runs are stored in `test/reliability/results.json`,
// from which `npm run docs` writes `docs/reliability.md`. `--quick` makes the quick run of each test that has one, as
// continuous integration does.

/** The seed of quick runs. It is constant, so that a failure is caused by the change and can be repeated. */
const QUICK_SEED = 20_261_121;

/** Time limit of a quick run, which takes at most a minute on two processors. */
const QUICK_TIMEOUT_MS = 300_000;

/** Maximum number of violations that are printed for a test. */
const MAX_PRINTED = 50;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string' }, seed: { type: 'string' }, quick: { type: 'boolean', default: false } },
});
const log = (line = '') => void process.stdout.write(`${line}\n`);
const requestedTests = positionals.map((word) => {
  const found = reliabilityTests.find(({ id, name }) => id === word || name === word);
  if (found !== undefined) return found;
  log(`There is no proof ${word}; there is ${reliabilityTests.map(({ id, name }) => `${id} ${name}`).join(', ')}.`);
  return process.exit(1);
});

function numberOption(name: 'count' | 'seed', min: number): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= min) return value;
  log(`--${name} must be a whole number from ${min}.`);
  return process.exit(1);
}
const seed = numberOption('seed', 0) ?? (values.quick ? QUICK_SEED : Date.now() % 2 ** 31);
const requestedCount = numberOption('count', 1);
// A run is complete if it uses all databases and the full count, and does not replay a known failure.
const isFullRun =
  !values.quick &&
  requestedCount === undefined &&
  ['TEST_STORES', 'RUN', 'REPLAY'].every((name) => process.env[name] === undefined);
const commit = currentCommit();
if (isFullRun && commit === undefined) log('The source is not as committed: what it comes to is said, and not kept.');

/** Runs one test and prints its result. The result of a full run is stored. Returns whether the promise holds. */
async function execute(reliabilityTest: ReliabilityTest): Promise<boolean> {
  const isQuick = values.quick && reliabilityTest.quick !== undefined;
  const count = requestedCount ?? (isQuick ? reliabilityTest.quick : reliabilityTest.full);
  log(`${reliabilityTest.id} ${reliabilityTest.title}`);
  const began = performance.now();
  const store = (outcome: RunResult & { lacks?: string }) => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    if (isFullRun && commit !== undefined) storeResult(reliabilityTest, { ...outcome, count, seed, seconds, commit });
    return seconds;
  };
  // A quick run needs only Node and npm.
  const lacks = isQuick ? undefined : reliabilityTest.lacks?.();
  if (lacks !== undefined) {
    log(`  not run: ${lacks}`);
    store({ counts: {}, broken: [], lacks });
    return false;
  }
  log(`  ${count} ${reliabilityTest.unit}, seed ${seed}`);
  const endings: Parameters<Cleanup['after']>[0][] = [];
  const context: Cleanup = { after: (close) => void endings.push(close) };
  const timeout = isQuick ? setTimeout(endAfterTimeout, QUICK_TIMEOUT_MS) : undefined;
  try {
    const result = await reliabilityTest.execute({
      count,
      seed,
      stores: isQuick && !reliabilityTest.isQuickOnBoth ? defaultStores : chosenStores,
      context,
      log: (line) => log(`  ${line}`),
    });
    for (const [what, counted] of Object.entries(result.counts)) log(`  ${what}: ${counted.toLocaleString('en')}`);
    for (const line of result.broken.slice(0, MAX_PRINTED)) log(`  BROKEN: ${line}`);
    if (result.broken.length > MAX_PRINTED) log(`  and ${result.broken.length - MAX_PRINTED} more`);
    const seconds = store(result);
    log(`  ${result.broken.length === 0 ? 'holds' : 'DOES NOT HOLD'}, ${seconds} s`);
    return result.broken.length === 0;
  } catch (error) {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log(`  ABORTED: ${said}`);
    store({ counts: {}, broken: [`aborted: ${said.split('\n', 1)}`] });
    return false;
  } finally {
    clearTimeout(timeout);
    for (const close of endings.reverse()) await close();
  }
}

function endAfterTimeout(): void {
  log(`  ABORTED: not over after ${QUICK_TIMEOUT_MS / 1_000} s`);
  process.exit(1);
}

let allHold = true;
// Node exits early with code 0 if it waits for a promise that nothing pending would resolve. The timer prevents that.
setInterval(() => undefined, 60_000);
await globalSetup();
try {
  const began = performance.now();
  const selected = values.quick ? reliabilityTests.filter(({ quick }) => quick !== undefined) : reliabilityTests;
  for (const reliabilityTest of requestedTests.length > 0 ? requestedTests : selected) {
    allHold = (await execute(reliabilityTest)) && allHold;
  }
  const seconds = Math.round((performance.now() - began) / 1_000);
  log(`${allHold ? 'holds' : 'DOES NOT HOLD'}, ${seconds} s in all`);
} finally {
  await globalTeardown();
}
process.exit(allHold ? 0 : 1);
