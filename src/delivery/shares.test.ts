import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shares } from './shares.ts';

test('C22 an account has its share of the slots, and its lanes wait for room in turn', () => {
  const shares = new Shares((one: { accountId: number; name: string }) => one.accountId, 2);
  const lane = (name: string) => ({ accountId: 1, name });
  const first = lane('first');
  shares.take(first);
  assert.ok(shares.admits(lane('a')));
  shares.take(first);
  assert.ok(!shares.admits(lane('b')));
  assert.ok(!shares.admits(lane('c')));
  assert.ok(shares.admits({ accountId: 2, name: 'another account' }));
  assert.equal(shares.nextWaiting(first), undefined, 'there is no room yet');
  shares.giveBack(first);
  assert.equal(shares.nextWaiting(first)?.name, 'b');
  assert.equal(shares.nextWaiting(first)?.name, 'c');
  assert.equal(shares.nextWaiting(first), undefined);
});
