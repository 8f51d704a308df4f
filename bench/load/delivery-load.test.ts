import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { commitAsFastAsDelivered, commitAtRate, type DeliveryCounts, MAX_BACKLOG } from './delivery-load.ts';

const WRITERS = 8;

/** Returns a slow write that adds `each` pending deliveries per call, and a function for the number added so far. */
function createSlowWrite(each: number): { write: () => Promise<number>; total: () => number } {
  let total = 0;
  const write = async () => {
    await wait(1);
    total += each;
    return each;
  };
  return { write, total: () => total };
}

test('concurrent writers count all the deliveries that they add', async () => {
  for (const committing of [
    (write: () => Promise<number>) => commitAsFastAsDelivered(write, WRITERS),
    (write: () => Promise<number>) => commitAtRate(write, { perSecond: 1e6, each: 3, writers: WRITERS }),
  ]) {
    const { write, total } = createSlowWrite(3);
    const tally: DeliveryCounts = { pending: 0, delivered: Number.POSITIVE_INFINITY };
    await committing(write)(tally, () => total() >= 300);
    assert.equal(tally.pending, total());
  }
});

test('writers pause while the backlog is at its maximum', async () => {
  const { write } = createSlowWrite(100);
  const tally: DeliveryCounts = { pending: 0, delivered: 0 };
  let polls = 0;
  await commitAsFastAsDelivered(write, WRITERS)(tally, () => tally.pending > MAX_BACKLOG && ++polls > 5 * WRITERS);
  assert.ok(tally.pending <= MAX_BACKLOG + WRITERS * 100, `${tally.pending}`);
});

test('at a fixed pace no more is committed than the pace allows, by all writers in turn', async () => {
  const writersInOrder: number[] = [];
  const tally: DeliveryCounts = { pending: 0, delivered: 0 };
  const write = async (writer: number) => {
    writersInOrder.push(writer);
    return 10;
  };
  const startedAt = performance.now();
  await commitAtRate(write, { perSecond: 1_000, each: 10, writers: WRITERS })(
    tally,
    () => writersInOrder.length >= 3 * WRITERS,
  );
  assert.ok(performance.now() - startedAt >= (writersInOrder.length - 1) * 10);
  assert.equal(tally.pending, writersInOrder.length * 10);
  for (let writer = 0; writer < WRITERS; writer += 1)
    assert.ok(writersInOrder.includes(writer), `${writer} wrote nothing`);
});
