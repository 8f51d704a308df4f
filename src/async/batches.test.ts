import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeBackoffMs } from './backoff.ts';
import { splitIntoBatches } from './batches.ts';

test('a list is split into batches in order, and the last one may be shorter', () => {
  assert.deepEqual([...splitIntoBatches([1, 2, 3, 4, 5], 2)], [[1, 2], [3, 4], [5]]);
  assert.deepEqual([...splitIntoBatches([1, 2], 2)], [[1, 2]]);
  assert.deepEqual([...splitIntoBatches([], 2)], []);
});

test('the backoff doubles up to its maximum, also after a number of retries that overflows', () => {
  const delays = [0, 1, 2, 5, 6, 7, 2_000].map((retryCount) => computeBackoffMs(retryCount, 1_000, 60_000));
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000]);
});
