import assert from 'node:assert/strict';
import { test } from 'node:test';
import { behaviours, findBehaviour } from '../../../packages/chaos-receiver/src/behaviours.ts';
import { checkAttempt, checkHealthy, checkMemory, checkVisit } from './hostile-receivers.ts';

const hang = findBehaviour('hang') ?? assert.fail();
const last = findBehaviour('401') ?? assert.fail();

test('R9 a wrong or late outcome of an attempt is reported', () => {
  assert.ok(behaviours.length >= 60);
  assert.deepEqual(checkAttempt(hang, { outcome: 'timeout', result: 'wait', ms: 4_010 }), []);
  assert.deepEqual(checkAttempt(hang, { outcome: 'timeout', result: 'wait', ms: 5_001 }), [
    'hang: ended after 5001 ms',
  ]);
  assert.deepEqual(checkAttempt(hang, { outcome: '200', result: 'delivered', ms: 10 }), [
    'hang: seen as 200, not timeout',
    'hang: delivered, not wait',
  ]);
  assert.deepEqual(checkAttempt(last, { outcome: '401', result: 'wait', ms: 10 }), ['401: wait, not ended']);
});

test('R9 a delayed healthy target is reported', () => {
  assert.deepEqual(checkHealthy([3, 3, 4], [3, 4, 900], 0.5), []);
  assert.deepEqual(checkHealthy([3, 3, 4], [3, 251, 900], 0.5), [
    'the healthy target was reached after 251 ms at p50, not 250',
  ]);
  assert.deepEqual(checkHealthy([3, 3, 4], [3, 4, 900], 0.95), [
    'the healthy target was reached after 900 ms at p95, not 250',
  ]);
  assert.deepEqual(checkHealthy([40, 50, 60], [3, 300, 900], 0.5), []);
  assert.deepEqual(checkHealthy([3], [3, Number.POSITIVE_INFINITY], 0.5), ['the healthy target received nothing']);
});

test('R9 a followed redirect, an open connection and growing memory are reported', () => {
  const visit = { behaviour: 'hang', request: { method: 'POST', path: '/hang?round=0' }, ms: 4_010, bytesWritten: 0 };
  const followed = { method: 'GET', path: '/200?followed' };
  assert.deepEqual(checkVisit(hang, visit), []);
  assert.deepEqual(checkVisit(hang, { ...visit, request: followed }), ['hang: requested GET /200?followed']);
  assert.deepEqual(checkVisit(hang, { ...visit, ms: 6_100 }), ['hang: the connection was open for 6100 ms']);
  assert.deepEqual(checkVisit(hang, { ...visit, bytesWritten: 2 ** 30 }), ['hang: 1073741824 bytes were read']);
  const flat = Array.from({ length: 9 }, () => ({ liveMiB: 60, residentMiB: 200 }));
  assert.deepEqual(checkMemory(flat, 210), []);
  assert.deepEqual(checkMemory(flat, 500), ['300 MiB of additional resident memory']);
  const [once = assert.fail()] = flat;
  assert.deepEqual(checkMemory([once, { liveMiB: 120, residentMiB: 240 }], 240), [
    'the memory in use grew by 60.0 MiB',
  ]);
  assert.deepEqual(checkMemory([...flat, { liveMiB: 77, residentMiB: 300 }], 300), [
    'the memory in use grew by 17.0 MiB',
    'the resident memory grew by 100.0 MiB',
  ]);
});
