import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smokeTest } from '../smoke.ts';
import { checkRaces, hookDeletion } from './delete-during-delivery.ts';

smokeTest(hookDeletion);

test('an attempt or arrival after the end of its hook is reported, but not what was in flight', () => {
  const received = (...moments: number[]) => ({ received: moments.map((at) => ({ path: '/a', at })) });
  const traceOf = (begun: number[], dialled: number[]) => () => ({ begun, dialled });
  const ended = [{ paths: ['/a'], at: 10 }];
  assert.deepEqual(checkRaces(ended, traceOf([1, 8], [2, 9]), received(3, 11)), { broken: [], inFlight: 1 });
  assert.equal(checkRaces(ended, traceOf([1, 11], [2]), received(3)).broken.length, 1);
  assert.equal(checkRaces(ended, traceOf([1, 8], [2, 12]), received(3, 13)).broken.length, 1);
});
