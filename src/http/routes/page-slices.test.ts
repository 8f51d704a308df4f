import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionBurst } from '../server/connection-burst.ts';
import { nextIteration, nextSlice } from './page-slices.ts';

test('an event-loop iteration runs one slice, in order of request', async () => {
  const made: string[] = [];
  const respond = async (name: string) => {
    for (const part of [1, 2, 3]) {
      await nextSlice();
      made.push(`${name}${part}`);
    }
  };
  const responses = Promise.all(['a', 'b'].map(respond));
  const counts: number[] = [];
  while (made.length < 6) {
    await nextIteration();
    counts.push(made.length);
  }
  await responses;
  assert.deepEqual(made, ['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
  const steps = counts.map((count, index) => count - (counts[index - 1] ?? 0));
  assert.ok(
    steps.every((step) => step <= 1),
    String(steps),
  );
  await nextSlice();
  assert.equal(made.length, 6);
});

test('several iterations pass between two slices, because each accepts only one connection', async () => {
  let iterations = 0;
  let isOver = false;
  const count = async () => {
    while (!isOver) {
      await nextIteration();
      iterations += 1;
    }
  };
  const counting = count();
  await nextSlice();
  const before = iterations;
  for (let slice = 0; slice < 4; slice += 1) await nextSlice();
  isOver = true;
  await counting;
  assert.ok(iterations - before >= 28, `${iterations - before} iterations for 4 slices`);
});

test('a slice waits while connections are being accepted, and one that waited too long runs alone', async () => {
  const made: number[] = [];
  const slices = [1, 2, 3].map((slice) => nextSlice().then(() => made.push(slice)));
  const startedAt = performance.now();
  const counts: number[] = [];
  while (made.length < 3) {
    connectionBurst.onAccepted();
    await nextIteration();
    if (performance.now() - startedAt < 20) assert.deepEqual(made, []);
    counts.push(made.length);
  }
  await Promise.all(slices);
  assert.ok(counts.every((count, index) => count - (counts[index - 1] ?? 0) <= 1));
});
