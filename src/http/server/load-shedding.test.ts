import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { ReasonCounter } from './load-shedding.ts';

test('counts are reported at most once a second, and on flush', async () => {
  const clock = createTestClock();
  const reports: unknown[] = [];
  const tally = new ReasonCounter<'a' | 'b'>(clock, (counts) => reports.push(counts));
  for (const reason of ['a', 'b', 'a'] as const) tally.count(reason);
  await clock.advance(999);
  assert.deepEqual(reports, []);
  await clock.advance(5_000);
  assert.deepEqual(reports, [{ a: 2, b: 1 }]);
  tally.count('b');
  tally.flush();
  tally.flush();
  assert.deepEqual([reports, clock.remainingDelaysMs], [[{ a: 2, b: 1 }, { b: 1 }], []]);
});
