import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quick } from './quick.ts';
import { stops, unanswerable, wrongWith } from './stops.ts';

quick(stops);

test('a stop that is slow, or says that it went wrong, and a request that nobody answered are named', () => {
  assert.deepEqual(wrongWith(0, 10_000), []);
  assert.deepEqual(wrongWith(1, 10_001), ['exit code 1', 'a stop took 10001 ms']);
  assert.deepEqual(wrongWith(null, 0), ['exit code null']);
  const well = { acknowledged: 9, unanswered: 0, refused: 0, others: [] };
  assert.deepEqual(unanswerable(well), []);
  assert.equal(unanswerable({ ...well, unanswered: 1, refused: 1, others: ['500 {}'] }).length, 3);
});
