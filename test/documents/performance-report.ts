import type { Bench } from '../../bench/bench.ts';
import { benches } from '../../bench/benches.ts';
import { type Result, resultOf } from '../../bench/results.ts';
import { formatNumber, quantile } from '../../bench/statistics.ts';
import { judge } from '../../bench/thresholds.ts';
import { code, document, table } from './markdown.ts';

/** build/performance.md, not committed: every claim and series of every row. */
export function performanceReport(): string {
  return document('# Performance report', ...benches.map(section));
}

function section(bench: Bench): string {
  const { id, title, target, heldBack, aRound } = bench;
  const result = resultOf(bench);
  const head = [`## ${id}`, `Measured: ${title}. Target: ${target}.`];
  if (result === undefined) return [...head, 'Not measured yet.'].join('\n\n');
  const { rounds, roundMs, seconds, fsyncMs, commit, node, machine, date } = result;
  return [
    ...head,
    claimTable(result),
    ...(heldBack === undefined ? [] : [heldBack]),
    seriesTable(result),
    `${rounds} rounds of ${aRound ?? `${roundMs / 1_000} s`} in ${seconds} s; a flush took ${fsyncMs} ms; source ${code(commit)}, Node ${node}, ${machine}; ${date}.`,
  ].join('\n\n');
}

function claimTable(result: Result): string {
  return table(
    ['Claim', 'Median', 'Least', 'Most', 'Limit', 'Result'],
    judge(result).map(({ claim, median, least, most, times, holds }) => [
      claim.says,
      formatNumber(median),
      ...(times === 1 ? ['one round', ''] : [formatNumber(least), formatNumber(most)]),
      claim.atLeast === undefined ? `at most ${claim.atMost}` : `at least ${claim.atLeast}`,
      holds ? 'holds' : '**missed**',
    ]),
  );
}

function seriesTable({ series }: Result): string {
  return table(
    ['Series', 'Side', 'Median', 'Least', 'Most'],
    series.map(({ name, side, rounds }) => [
      name,
      side,
      formatNumber(quantile(rounds, 0.5)),
      formatNumber(Math.min(...rounds)),
      formatNumber(Math.max(...rounds)),
    ]),
  );
}
