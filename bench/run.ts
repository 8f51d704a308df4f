import { parseArgs } from 'node:util';
import { withCleanup } from '../test/kit/cleanup.ts';
import { currentCommit, readMeasurementEnvironment } from '../test/kit/surroundings.ts';
import type { Bench } from './bench.ts';
import { benches, checkThresholds } from './benches.ts';
import { BenchEnvironment } from './environment.ts';
import { measureFsyncMs, resultOf, storeResult } from './results.ts';
import { roundToThreeDigits } from './statistics.ts';

// `npm run bench` measures all rows, `npm run bench -- P5 create` some of them. `--quick` takes a minute and
// exits with 1 after a regression.

/** Number and length of the rounds of a full run. */
const FULL_RUN = { rounds: 5, roundMs: 5_000 };
const QUICK_RUN = { rounds: 3, roundMs: 500 };
/** The rows of a quick run, which have the most informative ratios in the shortest time. */
const QUICK_ROWS = ['P1', 'P3', 'P5'];
/** A ratio below this fraction of the worst stored round is a regression. Short rounds vary a lot. */
const REGRESSION_RATIO = 0.9;

const printLine = (line = '') => void process.stdout.write(`${line}\n`);
await runTable();

async function runTable(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, rounds: { type: 'string' } },
  });
  const wanted = positionals.length === 0 && values.quick ? QUICK_ROWS : positionals;
  const selected = wanted.map(
    (word) => benches.find(({ id, name }) => id === word || name === word) ?? exitUnknownRow(word),
  );
  const commit = currentCommit();
  const settings = {
    ...(values.quick ? QUICK_RUN : FULL_RUN),
    ...(values.rounds === undefined ? {} : { rounds: Number(values.rounds) }),
  };
  if (commit === undefined && !values.quick)
    printLine('The source has uncommitted changes: results are printed, but not stored.');
  let isWorse = false;
  await withCleanup(async (context) => {
    const outer = values.quick ? new BenchEnvironment(context) : undefined;
    for (const bench of selected.length > 0 ? selected : benches) {
      isWorse = (await run(bench, { ...settings, outer }, commit)) || isWorse;
    }
  });
  process.exit(isWorse && values.quick ? 1 : 0);
}

function exitUnknownRow(word: string): never {
  const rows = benches.map(({ id, name }) => `${id} ${name}`);
  printLine(`There is no row ${word}. Rows: ${rows.join(', ')}.`);
  return process.exit(1);
}

/**
 * Measures a row and prints its results. Returns whether a ratio is worse than the stored one.
 *
 * @param settings.outer the environment that the rows of a quick run share
 */
async function run(
  bench: Bench,
  { outer, ...settings }: typeof FULL_RUN & { outer: BenchEnvironment | undefined },
  commit: string | undefined,
): Promise<boolean> {
  printLine(`${bench.id} ${bench.title}`);
  const isQuick = outer !== undefined;
  const fsyncMs = roundToThreeDigits(measureFsyncMs()) ?? Number.NaN;
  const startedAt = performance.now();
  const measured = await withCleanup((context) =>
    bench.measure({
      stage: new BenchEnvironment(context, outer),
      ...settings,
      isQuick,
      say: (line) => printLine(`  ${line}`),
    }),
  );
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const before = resultOf(bench);
  let isAnyWorse = false;
  for (const { claim, median, least, most, holds } of checkThresholds(measured)) {
    const stored = before && checkThresholds(before).find((one) => one.claim.description === claim.description);
    const isWorse =
      stored !== undefined &&
      claim.to !== undefined &&
      median < stored.least * REGRESSION_RATIO &&
      claim.atLeast !== undefined;
    isAnyWorse ||= isWorse;
    const comparison =
      stored === undefined
        ? ''
        : `; stored: ${roundToThreeDigits(stored.median)} (${roundToThreeDigits(stored.least)} to ${roundToThreeDigits(stored.most)})${isWorse ? ', worse' : ''}`;
    const limit = claim.atLeast === undefined ? `at most ${claim.atMost}` : `at least ${claim.atLeast}`;
    printLine(
      `  ${claim.description}: ${roundToThreeDigits(median)} (${roundToThreeDigits(least)} to ${roundToThreeDigits(most)}), ${limit}: ${holds ? 'met' : 'MISSED'}${comparison}`,
    );
  }
  printLine(`  ${seconds} s; a flush takes ${fsyncMs} ms`);
  if (commit !== undefined && !isQuick)
    storeResult(bench, { ...measured, ...settings, seconds, fsyncMs, ...readMeasurementEnvironment(commit) });
  return isAnyWorse;
}
