import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shares } from './shares.ts';

test('C22 an account has its share of the slots, and its lanes wait for room in turn', () => {
  const shares = new Shares<{ accountId: number; name: string }>(2);
  const lane = (name: string) => ({ accountId: 1, name });
  shares.take(1);
  assert.ok(shares.admits(lane('a')));
  shares.take(1);
  assert.ok(!shares.admits(lane('b')));
  assert.ok(!shares.admits(lane('c')));
  assert.ok(shares.admits({ accountId: 2, name: 'another account' }));
  assert.equal(shares.nextWaiting(1), undefined, 'there is no room yet');
  shares.giveBack(1);
  assert.equal(shares.nextWaiting(1)?.name, 'b');
  assert.equal(shares.nextWaiting(1)?.name, 'c');
  assert.equal(shares.nextWaiting(1), undefined);
});
