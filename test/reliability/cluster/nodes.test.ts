import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedStores } from '../../kit/service/stores.ts';
import { smokeTest } from '../smoke.ts';
import { findSlowTakeovers, nodes, scheduleLosses } from './nodes.ts';

if (sharedStores.length > 0) smokeTest(nodes, sharedStores);

test('every kind of loss is scheduled, and a takeover that is too slow is reported', () => {
  assert.deepEqual(scheduleLosses(6).toSorted(), [
    'killed',
    'killed',
    'partitioned',
    'partitioned in a transaction',
    'paused',
    'paused for seconds',
  ]);
  const waited = (killed: number, still: number, isAlone = true) =>
    findSlowTakeovers(new Map([['killed', [1_200, killed]] as const, ['paused', [still]] as const]), isAlone);
  assert.deepEqual(waited(2_000, 15_000), []);
  assert.equal(waited(2_001, 15_000).length, 1);
  assert.equal(waited(1_300, 15_001).length, 1);
  assert.deepEqual([waited(4_000, 1, false).length, waited(4_001, 1, false).length], [0, 1]);
});
