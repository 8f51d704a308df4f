import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kills, toldAgain } from './kills.ts';
import { quick } from './quick.ts';

quick(kills);

test('what a life had told and its end found owed may come again; what was answered long before that may not', () => {
  const heard = (deliveryId: string, at: number, answer: number | undefined = 200) => ({
    path: '/events',
    deliveryId,
    body: '',
    from: '',
    at,
    answeredAt: at + 1,
    answer,
  });
  const crash = (at: number, ...owed: readonly string[]) => ({ at, owed: new Set(owed), fates: new Map() });
  const lives = [heard('1', 9_990), heard('2', 9_991, 500), heard('3', 9_992), heard('1', 10_010)];
  const none: readonly string[] = [];
  const well = { forgotten: none, tooMany: none };
  assert.deepEqual(toldAgain(lives, [crash(10_000, '1', '2', '3')]), { inFlight: 2, again: 1, ...well });
  assert.deepEqual(toldAgain(lives, [crash(10_000, '2')]), { inFlight: 0, again: 0, ...well });
  assert.deepEqual(toldAgain([heard('4', 10)], [crash(10_000, '4')]).forgotten, ['4']);
  assert.deepEqual(toldAgain([heard('4', 10)], [crash(20), crash(10_000, '4')]).forgotten, none, 'of an earlier life');
  const ids = Array.from({ length: 41 }, (_, index) => String(index));
  const many = (owed: readonly string[]) =>
    toldAgain(
      ids.map((id) => heard(id, 9_990)),
      [crash(10_000, ...owed)],
    ).tooMany;
  assert.deepEqual([many(ids.slice(1)), many(ids)], [none, ['/events, 41']]);
});
