import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from './fair-queue.ts';

test('owners take turns, each in its own order, however much one of them has queued', () => {
  const queue = new FairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push('a', item);
  queue.push('b', 'b1');
  queue.push('c', 'c1');
  assert.deepEqual([queue.shift(), queue.shift(), queue.size], ['a1', 'b1', 4]);
  queue.push('b', 'b2');
  assert.deepEqual(
    Array.from({ length: 6 }, () => queue.shift()),
    ['c1', 'a2', 'b2', 'a3', 'a4', undefined],
  );
  assert.equal(queue.size, 0);
});
