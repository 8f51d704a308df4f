import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { computeBackoffMs } from './backoff.ts';
import { splitIntoBatches, waitForBatch } from './batches.ts';
import { BoundedMap } from './bounded-map.ts';

/** Adds `many` items to a batch, with `between` event-loop iterations between two items. */
function addItems(many: number, between: number): { count: () => number; all: Promise<void> } {
  let addedCount = 0;
  const addAll = async () => {
    while (addedCount < many) {
      for (let passed = 0; passed <= between; passed += 1) await turn();
      addedCount += 1;
    }
  };
  return { count: () => addedCount, all: addAll() };
}

test('what comes turn after turn is gathered until two turns bring nothing', async () => {
  const { count } = addItems(20, 0);
  await waitForBatch(count, 1_000);
  assert.equal(count(), 20);
});

test('what comes in every other turn is gathered, what comes later is not waited for', async () => {
  const near = addItems(20, 1);
  await waitForBatch(near.count, 1_000);
  assert.equal(near.count(), 20);
  const far = addItems(20, 5);
  await waitForBatch(far.count, 1_000);
  assert.ok(far.count() < 3, `${far.count()} were waited for`);
  await far.all;
});

test('no more is gathered than can be done together', async () => {
  const { count, all } = addItems(20, 0);
  await waitForBatch(count, 7);
  assert.equal(count(), 7);
  await all;
});

test('where nothing comes, sockets are read at least once', async () => {
  let isRead = false;
  setImmediate(() => {
    isRead = true;
  });
  await waitForBatch(() => 0, 0);
  assert.ok(isRead);
});

test('a list is split into batches in order, and the last one may be shorter', () => {
  assert.deepEqual([...splitIntoBatches([1, 2, 3, 4, 5], 2)], [[1, 2], [3, 4], [5]]);
  assert.deepEqual([...splitIntoBatches([1, 2], 2)], [[1, 2]]);
  assert.deepEqual([...splitIntoBatches([], 2)], []);
});

test('the backoff doubles up to its maximum, also after a number of retries that overflows', () => {
  const delays = [0, 1, 2, 5, 6, 7, 2_000].map((retryCount) => computeBackoffMs(retryCount, 1_000, 60_000));
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000]);
});

test('a full map evicts the entry that was set longest ago', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
  );
  map.set('c', 5);
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 5],
    ],
  );
});
