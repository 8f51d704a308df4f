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
  const b = shares.nextWaiting(first);
  assert.equal(b?.name, 'b');
  assert.ok(!shares.admits(lane('d')), 'the room is kept for whoever was called');
  assert.equal(shares.nextWaiting(first), undefined);
  assert.ok(b !== undefined && shares.admits(b));
  // It has no use for it after all.
  const c = shares.nextWaiting(b);
  assert.equal(c?.name, 'c');
  shares.giveBack(first);
  assert.equal(shares.nextWaiting(first)?.name, 'd');
  assert.equal(shares.nextWaiting(first), undefined);
});
