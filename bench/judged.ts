import type { Claim, Measured } from './bench.ts';
import { quantile } from './measured.ts';

/** A claim, and what came of it: the median, and between what it lay from round to round. */
export type Judged = {
  readonly claim: Claim;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** How often it was measured. */
  readonly times: number;
  readonly holds: boolean;
};

/** Each claim against what was measured: as it is, or round by round beside another series of the same rounds. */
export function judge({ series, claims }: Pick<Measured, 'series' | 'claims'>): Judged[] {
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
      times: values.length,
      holds: values.every(Number.isFinite) && median >= atLeast && median <= atMost,
    };
  });
}
