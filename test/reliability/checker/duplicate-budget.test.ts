import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkDuplicates } from './duplicate-budget.ts';

const arrival = (
  deliveryId: string,
  at: number,
  answer: number | undefined = 200,
  answeredAt: number | undefined = at + 1,
) => ({
  path: '/events',
  deliveryId,
  body: '',
  at,
  answeredAt,
  answer,
});
const crashAt = (at: number, ...pending: readonly string[]) => ({ at, pending: new Set(pending), fates: new Map() });

test('a delivery may be duplicated if it was in flight or uncommitted at a kill', () => {
  const arrivals = [
    arrival('1', 9_990),
    arrival('2', 9_991, 500),
    arrival('3', 9_992, 200, 10_005),
    arrival('1', 10_010),
  ];
  const seen = checkDuplicates(arrivals, [crashAt(10_000, '1', '2', '3')]);
  assert.deepEqual(seen, { again: 1, inFlight: 1, unwritten: 1, unwrittenLate: 0, givenUp: 0, broken: [] });
  const none = checkDuplicates(arrivals.slice(0, 3), [crashAt(10_000, '2')]);
  assert.deepEqual(none, { again: 0, inFlight: 0, unwritten: 0, unwrittenLate: 0, givenUp: 0, broken: [] });
});

test('a response after the kill counts as in flight, also if its connection broke', () => {
  const arrivals = [
    arrival('1', 9_700, 200, 9_800),
    arrival('2', 9_990, 200, 9_998),
    arrival('3', 9_991, undefined, 9_999),
  ];
  const dead = { ...crashAt(10_000, '1', '2', '3'), killedAt: 9_995 };
  const seen = checkDuplicates(arrivals, [dead]);
  assert.deepEqual(seen, { again: 0, inFlight: 2, unwritten: 1, unwrittenLate: 1, givenUp: 0, broken: [] });
});

test('a duplicate without a kill is reported', () => {
  const { broken } = checkDuplicates([arrival('1', 10), arrival('1', 20)], [crashAt(15)]);
  assert.deepEqual(broken, ['C20 1 duplicates; 0 were in flight or uncommitted, and 0 timed out after a pause']);
});

test('a result long before the kill must be committed, and each hook has a maximum of duplicates', () => {
  const forgotten = checkDuplicates([arrival('4', 10)], [crashAt(10_000, '4')]);
  assert.deepEqual(forgotten.broken, ['C20 answered long before, and not committed: 4']);
  assert.deepEqual(
    checkDuplicates([arrival('4', 10)], [crashAt(20), crashAt(10_000, '4')]).broken,
    [],
    'of an earlier process',
  );
  const ids = Array.from({ length: 137 }, (_, index) => String(index));
  const many = (pending: readonly string[]) =>
    checkDuplicates(
      ids.map((id) => arrival(id, 9_990)),
      [crashAt(10_000, ...pending)],
    ).broken;
  assert.deepEqual(many(ids.slice(1)), []);
  assert.deepEqual(many(ids), ['C20 more than can be in flight or uncommitted: /events, 137']);
});

test('after a pause only deliveries without a response may be repeated', () => {
  const pause = { from: 100, stoppedAt: 101, to: 200 };
  const during = checkDuplicates([arrival('1', 99, 200, 150), arrival('1', 210)], [], [pause]);
  assert.equal(during.broken.length, 1);
  const after = checkDuplicates([arrival('1', 99, 200, 205), arrival('1', 210)], [], [pause]);
  assert.deepEqual([after.givenUp, after.broken], [1, []]);
});
