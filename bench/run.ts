import { parseArgs } from 'node:util';
import { within } from '../test/kit/cleanup.ts';
import { sourceNow, surroundings } from '../test/kit/surroundings.ts';
import type { Bench } from './bench.ts';
import { benches } from './benches.ts';
import { Stage } from './environment.ts';
import { flushMs, keep, resultOf } from './results.ts';
import { rounded } from './statistics.ts';
import { judge } from './thresholds.ts';

// `npm run bench` measures every row, `npm run bench -- P5 create` some of them. `--quick` takes a minute and exits with 1 if a
// change has made something worse.
const LONG = { rounds: 5, roundMs: 5_000 };
const QUICK = { rounds: 3, roundMs: 500 };
/** Those whose ratio to their floor says the most in the least time. */
const QUICK_ROWS = ['P1', 'P3', 'P5'];
/** What is worse than this, of the worst round of what was kept, is said to be worse: rounds this short lie far apart. */
const WORSE = 0.9;

const say = (line = '') => void process.stdout.write(`${line}\n`);
await runTable();

async function runTable(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, rounds: { type: 'string' } },
  });
  const wanted = positionals.length === 0 && values.quick ? QUICK_ROWS : positionals;
  const named = wanted.map((word) => benches.find(({ id, name }) => id === word || name === word) ?? unknown(word));
  const commit = sourceNow();
  const how = {
    ...(values.quick ? QUICK : LONG),
    ...(values.rounds === undefined ? {} : { rounds: Number(values.rounds) }),
  };
  if (commit === undefined && !values.quick)
    say('The source is not as committed: what it comes to is said, and not kept.');
  let isWorse = false;
  await within(async (context) => {
    const outer = values.quick ? new Stage(context) : undefined;
    for (const bench of named.length > 0 ? named : benches) {
      isWorse = (await run(bench, { ...how, outer }, commit)) || isWorse;
    }
  });
  process.exit(isWorse && values.quick ? 1 : 0);
}

function unknown(word: string): never {
  const rows = benches.map(({ id, name }) => `${id} ${name}`);
  say(`There is no row ${word}. There is ${rows.join(', ')}.`);
  return process.exit(1);
}

/**
 * Answers whether a ratio is worse than the one that is kept.
 *
 * @param how.outer what the rows of the quick form share
 */
async function run(
  bench: Bench,
  { outer, ...how }: typeof LONG & { outer: Stage | undefined },
  commit: string | undefined,
): Promise<boolean> {
  say(`${bench.id} ${bench.title}`);
  const isQuick = outer !== undefined;
  const fsyncMs = rounded(flushMs()) ?? Number.NaN;
  const begun = performance.now();
  const measured = await within((context) =>
    bench.measure({ stage: new Stage(context, outer), ...how, isQuick, say: (line) => say(`  ${line}`) }),
  );
  const seconds = Math.round((performance.now() - begun) / 1_000);
  const before = resultOf(bench);
  let isAnyWorse = false;
  for (const { claim, median, least, most, holds } of judge(measured)) {
    const kept = before && judge(before).find((one) => one.claim.says === claim.says);
    const isWorse =
      kept !== undefined && claim.to !== undefined && median < kept.least * WORSE && claim.atLeast !== undefined;
    isAnyWorse ||= isWorse;
    const was =
      kept === undefined
        ? ''
        : `; kept: ${rounded(kept.median)} (${rounded(kept.least)} to ${rounded(kept.most)})${isWorse ? ', WORSE' : ''}`;
    const limit = claim.atLeast === undefined ? `at most ${claim.atMost}` : `at least ${claim.atLeast}`;
    say(
      `  ${claim.says}: ${rounded(median)} (${rounded(least)} to ${rounded(most)}), ${limit}: ${holds ? 'holds' : 'DOES NOT HOLD'}${was}`,
    );
  }
  say(`  ${seconds} s; a flush takes ${fsyncMs} ms`);
  if (commit !== undefined && !isQuick) keep(bench, { ...measured, ...how, seconds, fsyncMs, ...surroundings(commit) });
  return isAnyWorse;
}
