import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shares } from './shares.ts';

type Lane = { readonly accountId: number; readonly host: string; readonly name: string };

test('C22 an account has its share of the slots, and its lanes wait for room in turn', () => {
  const shares = new Shares<Lane>({ account: 2, host: 100 });
  const lane = (name: string) => ({ accountId: 1, host: 'one', name });
  const called = () => shares.call(first).map(({ name }) => name);
  const first = lane('first');
  shares.take(first);
  assert.ok(shares.admits(lane('a')));
  shares.take(first);
  const [b, c] = [lane('b'), lane('c')];
  assert.ok(!shares.admits(b));
  assert.ok(!shares.admits(c));
  assert.ok(shares.admits({ accountId: 2, host: 'one', name: 'another account' }));
  assert.deepEqual(called(), [], 'there is no room yet');
  shares.giveBack(first);
  assert.deepEqual(called(), ['b']);
  assert.ok(!shares.admits(lane('d')), 'the room is kept for whoever was called');
  assert.deepEqual(called(), []);
  assert.ok(shares.admits(b));
  // It has no use for it after all.
  assert.deepEqual(called(), ['c']);
  shares.giveBack(first);
  assert.deepEqual(called(), ['d']);
  assert.deepEqual(called(), []);
});

test('C22 room is for whoever has it at both ends: the account’s and the host’s; accounts at one host have a turn each', () => {
  const shares = new Shares<Lane>({ account: 2, host: 3 });
  const lane = (accountId: number, host: string, name: string) => ({ accountId, host, name });
  const [first, second] = [lane(1, 'full', 'first'), lane(2, 'full', 'second')];
  for (const one of [first, first, second]) {
    assert.ok(shares.admits(one));
    shares.take(one);
  }
  const others = [lane(1, 'free', 'at its share'), lane(2, 'full', 'x1'), lane(2, 'full', 'x2'), lane(3, 'full', 'y1')];
  assert.deepEqual(
    others.map((one) => shares.admits(one)),
    [false, false, false, false],
  );
  const called = (beside: Lane) => shares.call(beside).map(({ name }) => name);
  shares.giveBack(first);
  assert.deepEqual(called(first), ['at its share', 'x1'], 'one beside it in its account, one at its host');
  shares.giveBack(first);
  assert.deepEqual(called(first), ['y1'], 'another account before the second one of the same');
  shares.giveBack(second);
  assert.deepEqual(called(second), ['x2']);
});

test('C22 however many wait at both ends, one that ends looks at few of them, and every lane gets its turn', () => {
  const [accounts, lanesOfEach, share] = [3, 2_000, { account: 50, host: 100 }];
  const shares = new Shares<Lane>(share);
  const turns = new Map<Lane, number>();
  const ready = new Set<Lane>();
  for (let number = 0; number < accounts * lanesOfEach; number += 1)
    turns.set({ accountId: number % accounts, host: 'one', name: `${number}` }, 0);
  const inFlight: Lane[] = [];
  let looks = 0;
  const begin = () => {
    for (const lane of ready) {
      ready.delete(lane);
      looks += 1;
      if (!shares.admits(lane)) continue;
      shares.take(lane);
      turns.set(lane, (turns.get(lane) ?? 0) + 1);
      inFlight.push(lane);
      ready.add(lane);
    }
  };
  for (const lane of turns.keys()) ready.add(lane);
  begin();
  assert.equal(inFlight.length, share.host);
  looks = 0;
  const ended = accounts * lanesOfEach * 2;
  for (let count = 0; count < ended; count += 1) {
    const lane = inFlight.shift();
    assert.ok(lane !== undefined);
    shares.giveBack(lane);
    for (const next of shares.call(lane)) ready.add(next);
    ready.add(lane);
    begin();
    assert.ok(inFlight.length <= share.host);
  }
  assert.equal(inFlight.length, share.host, 'no room is lost');
  assert.ok(looks <= ended * 4, `${looks} looks for ${ended} that ended`);
  const counts = [...turns.values()];
  assert.ok(
    Math.min(...counts) >= 1 && Math.max(...counts) <= 5,
    `${Math.min(...counts)} to ${Math.max(...counts)} turns`,
  );
});
