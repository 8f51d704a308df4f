import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PerformanceClaim, ResultSeries } from './bench.ts';
import { checkThresholds } from './benches.ts';

const series = (name: string, ...rounds: number[]): ResultSeries => ({ name, side: 'ours', unit: '/s', rounds });
const own = series('own', 40, 90, 50);
const floor = series('floor', 100, 100, 200);

function checked(claim: Omit<PerformanceClaim, 'description' | 'of'>, ...more: ResultSeries[]) {
  const [one] = checkThresholds({
    series: [own, floor, ...more],
    claims: [{ description: 'it', of: 'own', ...claim }],
  });
  return one;
}

test('a claim is checked against the median of its rounds, at either end', () => {
  const { median, least, most, holds } = checked({ atLeast: 50 }) ?? {};
  assert.deepEqual({ median, least, most, holds }, { median: 50, least: 40, most: 90, holds: true });
  assert.equal(checked({ atLeast: 51 })?.holds, false);
  assert.equal(checked({ atMost: 50 })?.holds, true);
  assert.equal(checked({ atMost: 49 })?.holds, false);
  assert.equal(checked({ atLeast: 40, atMost: 49 })?.holds, false);
});

test('a claim relative to another series is the ratio of each round, not of the medians', () => {
  const { median, least, most } = checked({ to: 'floor', atLeast: 0.4 }) ?? {};
  assert.deepEqual({ median, least, most }, { median: 0.4, least: 0.25, most: 0.9 });
  assert.equal(checked({ to: 'floor', atLeast: 0.41 })?.holds, false);
});

test('a claim without measurements does not hold', () => {
  assert.throws(() => checked({ to: 'missing', atLeast: 0 }), /nothing was measured of missing/);
  assert.equal(
    checked({ to: 'short', atLeast: 0 }, series('short', 1))?.holds,
    false,
    'rounds without a counterpart do not hold',
  );
  assert.equal(checked({ to: 'none', atMost: 9 }, series('none'))?.holds, false);
});
