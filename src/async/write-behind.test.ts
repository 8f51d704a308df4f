import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createTestClock } from '../../test/kit/clock.ts';
import { WriteBehind } from './write-behind.ts';

type Counts = Readonly<Record<string, number>>;

/** Creates a buffer that adds up numbers, with room for three keys, and a write that the test can delay or fail. */
function createBuffer(options: { computeDelayMs?: () => number } = {}) {
  const clock = createTestClock();
  const writes: { at: number; counts: Counts; overflowCount: number }[] = [];
  const errors: unknown[] = [];
  const state: { isFailing: boolean; blocker: Promise<void> | undefined } = { isFailing: false, blocker: undefined };
  const buffer = new WriteBehind<string, number>({
    clock,
    maxEntries: 3,
    merge: (older, newer) => older + newer,
    async write(entries, overflowCount) {
      writes.push({ at: clock.monotonic(), counts: Object.fromEntries(entries), overflowCount });
      await state.blocker;
      if (state.isFailing) throw new Error('the disk is full');
    },
    onWriteFailed: (error) => errors.push(error),
    ...options,
  });
  return { clock, buffer, writes, errors, state };
}

test('entries are merged by key and written once a second', async () => {
  const { clock, buffer, writes } = createBuffer();
  buffer.add('a', 1);
  await clock.advance(600);
  buffer.add('a', 2);
  buffer.add('b', 5);
  await clock.advance(399);
  assert.deepEqual(writes, []);
  await clock.advance(1);
  assert.deepEqual(writes, [{ at: 1_000, counts: { a: 3, b: 5 }, overflowCount: 0 }]);
  buffer.add('a', 1);
  await clock.advance(999);
  assert.equal(writes.length, 1);
  await clock.advance(1);
  assert.deepEqual(writes[1], { at: 2_000, counts: { a: 1 }, overflowCount: 0 });
  assert.deepEqual(clock.remainingDelaysMs, [], 'no timer runs while nothing is buffered');
});

test('values of further keys are only counted, while known keys are still merged', async () => {
  const { clock, buffer, writes } = createBuffer();
  for (const key of ['a', 'b', 'c', 'd', 'e', 'a']) buffer.add(key, 1);
  await clock.advance(1_000);
  buffer.add('d', 1);
  await clock.advance(1_000);
  assert.deepEqual(writes, [
    { at: 1_000, counts: { a: 2, b: 1, c: 1 }, overflowCount: 2 },
    { at: 2_000, counts: { d: 1 }, overflowCount: 0 },
  ]);
});

test('a failed write is reported and retried a second later, with the entries that were added meanwhile', async () => {
  const { clock, buffer, writes, errors, state } = createBuffer();
  state.isFailing = true;
  for (const key of ['a', 'b', 'c', 'd']) buffer.add(key, 1);
  const blocked = Promise.withResolvers<void>();
  state.blocker = blocked.promise;
  await clock.advance(1_000);
  for (const key of ['a', 'e', 'f']) buffer.add(key, 10);
  blocked.resolve();
  await nextIteration();
  await clock.advance(999);
  assert.equal(writes.length, 1);
  assert.equal(errors.length, 1);
  state.isFailing = false;
  await clock.advance(1);
  assert.deepEqual(writes[1], { at: 2_000, counts: { a: 11, b: 1, c: 1 }, overflowCount: 3 });
  await clock.advance(10_000);
  assert.equal(writes.length, 2);
  assert.equal(errors.length, 1);
});

test('only one write runs at a time', async () => {
  const { clock, buffer, writes, state } = createBuffer();
  const blocked = Promise.withResolvers<void>();
  state.blocker = blocked.promise;
  buffer.add('a', 1);
  await clock.advance(1_000);
  buffer.add('b', 1);
  await clock.advance(5_000);
  assert.equal(writes.length, 1);
  blocked.resolve();
  await nextIteration();
  assert.deepEqual(
    writes.map(({ counts }) => counts),
    [{ a: 1 }, { b: 1 }],
  );
});

test('flush waits for the running write, writes the rest and leaves no timer', async () => {
  const { clock, buffer, writes, errors, state } = createBuffer();
  await buffer.flush();
  assert.equal(writes.length, 0, 'nothing is written without entries');
  const blocked = Promise.withResolvers<void>();
  state.blocker = blocked.promise;
  buffer.add('a', 1);
  await clock.advance(1_000);
  buffer.add('b', 1);
  let isFlushed = false;
  const flush = buffer.flush().then(() => {
    isFlushed = true;
  });
  await nextIteration();
  assert.equal(isFlushed, false);
  blocked.resolve();
  await flush;
  assert.equal(writes.length, 2);
  assert.deepEqual(clock.remainingDelaysMs, []);
  state.isFailing = true;
  buffer.add('c', 1);
  await buffer.flush();
  assert.equal(errors.length, 1);
  assert.deepEqual(clock.remainingDelaysMs, [], 'a failed flush sets no timer');
  state.isFailing = false;
  buffer.add('d', 1);
  await clock.advance(1_000);
  assert.deepEqual(writes.at(-1)?.counts, { c: 1, d: 1 }, 'the next entry causes the retry');
});

test('the owner of a buffer can set the delay of each write', async () => {
  const delaysMs = [3_000, 500];
  const { clock, buffer, writes, state } = createBuffer({ computeDelayMs: () => delaysMs.shift() ?? 60_000 });
  state.isFailing = true;
  buffer.add('a', 1);
  await clock.advance(3_500);
  assert.deepEqual(
    writes.map(({ at }) => at),
    [3_000, 3_500],
  );
  assert.deepEqual(clock.remainingDelaysMs, [60_000]);
});
