import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { asFastAsTold, atPace, MAX_BEHIND, type Tally } from './delivery-load.ts';

const WRITERS = 8;

/** A write that takes a moment, by which so many more are pending; and how many were. */
function slowWrites(each: number): { write: () => Promise<number>; made: () => number } {
  let made = 0;
  const write = async () => {
    await wait(1);
    made += each;
    return each;
  };
  return { write, made: () => made };
}

test('what several writers make pending at the same time is all counted', async () => {
  for (const committing of [
    (write: () => Promise<number>) => asFastAsTold(write, WRITERS),
    (write: () => Promise<number>) => atPace(write, { perSecond: 1e6, each: 3, writers: WRITERS }),
  ]) {
    const { write, made } = slowWrites(3);
    const tally: Tally = { pending: 0, told: Number.POSITIVE_INFINITY };
    await committing(write)(tally, () => made() >= 300);
    assert.equal(tally.pending, made());
  }
});

test('no more is committed while so much is still to be told', async () => {
  const { write } = slowWrites(100);
  const tally: Tally = { pending: 0, told: 0 };
  let looks = 0;
  await asFastAsTold(write, WRITERS)(tally, () => tally.pending > MAX_BEHIND && ++looks > 5 * WRITERS);
  assert.ok(tally.pending <= MAX_BEHIND + WRITERS * 100, `${tally.pending}`);
});

test('at a pace, no more is committed than that says, by all writers in turn', async () => {
  const turns: number[] = [];
  const tally: Tally = { pending: 0, told: 0 };
  const write = async (writer: number) => {
    turns.push(writer);
    return 10;
  };
  const begun = performance.now();
  await atPace(write, { perSecond: 1_000, each: 10, writers: WRITERS })(tally, () => turns.length >= 3 * WRITERS);
  assert.ok(performance.now() - begun >= (turns.length - 1) * 10);
  assert.equal(tally.pending, turns.length * 10);
  for (let writer = 0; writer < WRITERS; writer += 1) assert.ok(turns.includes(writer), `${writer} had no turn`);
});
