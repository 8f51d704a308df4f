import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { waitForBatch } from './wait-for-batch.ts';

/** Adds `many` items to a batch, with `between` event-loop iterations between two items. */
function coming(many: number, between: number): { count: () => number; all: Promise<void> } {
  let here = 0;
  const come = async () => {
    while (here < many) {
      for (let passed = 0; passed <= between; passed += 1) await turn();
      here += 1;
    }
  };
  return { count: () => here, all: come() };
}

test('what comes turn after turn is gathered until two turns bring nothing', async () => {
  const { count } = coming(20, 0);
  await waitForBatch(count, 1_000);
  assert.equal(count(), 20);
});

test('what comes in every other turn is gathered, what comes later is not waited for', async () => {
  const near = coming(20, 1);
  await waitForBatch(near.count, 1_000);
  assert.equal(near.count(), 20);
  const far = coming(20, 5);
  await waitForBatch(far.count, 1_000);
  assert.ok(far.count() < 3, `${far.count()} were waited for`);
  await far.all;
});

test('no more is gathered than can be done together', async () => {
  const { count, all } = coming(20, 0);
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
