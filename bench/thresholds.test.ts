import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Claim, Series } from './bench.ts';
import { judge } from './thresholds.ts';

const series = (name: string, ...rounds: number[]): Series => ({ name, side: 'ours', unit: '/s', rounds });
const own = series('own', 40, 90, 50);
const floor = series('floor', 100, 100, 200);

function judged(claim: Omit<Claim, 'says' | 'of'>, ...more: Series[]) {
  const [one] = judge({ series: [own, floor, ...more], claims: [{ says: 'it', of: 'own', ...claim }] });
  return one;
}

test('a claim is judged by the median of its rounds, at either end', () => {
  const { median, least, most, holds } = judged({ atLeast: 50 }) ?? {};
  assert.deepEqual({ median, least, most, holds }, { median: 50, least: 40, most: 90, holds: true });
  assert.equal(judged({ atLeast: 51 })?.holds, false);
  assert.equal(judged({ atMost: 50 })?.holds, true);
  assert.equal(judged({ atMost: 49 })?.holds, false);
  assert.equal(judged({ atLeast: 40, atMost: 49 })?.holds, false);
});

test('beside another series it is the ratio of each round, and not of the medians', () => {
  const { median, least, most } = judged({ to: 'floor', atLeast: 0.4 }) ?? {};
  assert.deepEqual({ median, least, most }, { median: 0.4, least: 0.25, most: 0.9 });
  assert.equal(judged({ to: 'floor', atLeast: 0.41 })?.holds, false);
});

test('what was not measured holds nothing', () => {
  assert.throws(() => judged({ to: 'nobody', atLeast: 0 }), /nothing was measured of nobody/);
  assert.equal(judged({ to: 'short', atLeast: 0 }, series('short', 1))?.holds, false, 'nor do rounds without another');
  assert.equal(judged({ to: 'none', atMost: 9 }, series('none'))?.holds, false);
});
