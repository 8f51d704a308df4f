import type { Bench, PerformanceClaim, RowMeasurements } from './bench.ts';
import { arrive } from './rows/arrive.ts';
import { create, createHooked } from './rows/create.ts';
import { deliver } from './rows/deliver.ts';
import { fetchOne } from './rows/fetch.ts';
import { isolate } from './rows/isolate.ts';
import { list } from './rows/list.ts';
import { pending } from './rows/pending.ts';
import { processes } from './rows/processes.ts';
import { sideBySide } from './rows/side-by-side.ts';
import { start } from './rows/start.ts';
import { statements } from './rows/statements.ts';
import { quantile } from './statistics.ts';

/** A claim with the median and the range of its rounds. */
export type CheckedClaim = {
  readonly claim: PerformanceClaim;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** Number of rounds. */
  readonly roundCount: number;
  readonly holds: boolean;
};

/** Checks each claim against the median of its series, or of the ratio of two series in each round. */
export function checkThresholds({ series, claims }: Pick<RowMeasurements, 'series' | 'claims'>): CheckedClaim[] {
  const roundsOf = (name: string) => {
    const found = series.find((one) => one.name === name);
    if (found === undefined) throw new Error(`nothing was measured of ${name}`);
    return found.rounds;
  };
  return claims.map((claim) => {
    const own = roundsOf(claim.of);
    const other = claim.to === undefined ? undefined : roundsOf(claim.to);
    const values = other === undefined ? own : own.map((value, round) => value / (other[round] ?? Number.NaN));
    const median = quantile(values, 0.5);
    const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = claim;
    return {
      claim,
      median,
      least: Math.min(...values),
      most: Math.max(...values),
      roundCount: values.length,
      holds: values.every(Number.isFinite) && median >= atLeast && median <= atMost,
    };
  });
}

/** The rows of the performance table, in order. */
export const benches: readonly Bench[] = [
  create,
  createHooked,
  fetchOne,
  list,
  deliver,
  arrive,
  isolate,
  statements,
  pending,
  start,
  processes,
  sideBySide,
];
