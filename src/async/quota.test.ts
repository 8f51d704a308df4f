import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Quota, type QuotaOwner } from './quota.ts';

const of = (group: string, member: string): QuotaOwner => ({ group, member });

test('a quota has a limit in total, one for each group and one for each member', () => {
  const quota = new Quota({ maxTotal: 10, maxPerGroup: 6, maxPerMember: 4 });
  assert.equal(quota.tryAcquire(of('a', 'a1'), 4), true);
  assert.equal(quota.tryAcquire(of('a', 'a1'), 1), false, 'the member has its share');
  assert.equal(quota.tryAcquire(of('a', 'a2'), 2), true);
  assert.equal(quota.tryAcquire(of('a', 'a3'), 1), false, 'the group has its share');
  assert.equal(quota.tryAcquire(of('b', 'b1'), 4), true);
  assert.equal(quota.tryAcquire(of('c', 'c1'), 1), false, 'nothing is left');
  quota.release(of('a', 'a1'), 4);
  assert.deepEqual([quota.usedAmount, quota.tryAcquire(of('c', 'c1'), 4)], [6, true]);
});

test('an owner without a member has the share of its group; without limits for groups, all that there is', () => {
  const shared = new Quota({ maxTotal: 10, maxPerGroup: 3, maxPerMember: 1 });
  assert.deepEqual([shared.tryAcquire({ group: 'a' }, 3), shared.tryAcquire({ group: 'a' })], [true, false]);
  const plain = new Quota({ maxTotal: 3 });
  assert.deepEqual([plain.tryAcquire(of('a', 'a1'), 3), plain.tryAcquire(of('b', 'b1'))], [true, false]);
});

test('what is in use already is counted beyond the limits, and nobody has room until it is given back', () => {
  const quota = new Quota({ maxTotal: 10, maxPerGroup: 4 });
  quota.addUsage({ group: 'a' }, 12);
  assert.deepEqual([quota.hasCapacity({ group: 'a' }, 0), quota.hasCapacity({ group: 'b' }, 0)], [false, false]);
  quota.release({ group: 'a' }, 8);
  assert.deepEqual([quota.hasCapacity({ group: 'a' }, 0), quota.hasCapacity({ group: 'a' })], [true, false]);
  quota.release({ group: 'a' }, 4);
  assert.equal(quota.usedAmount, 0);
});
