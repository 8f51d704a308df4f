import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smokeTest } from '../smoke.ts';
import type { Unanswered } from '../workload/observers.ts';
import { exitFaults, stops, unansweredFaults, wasNeverAccepted, wasTooLate } from './sigterm.ts';

smokeTest(stops);

const sent = (askedAt: number, onReusedConnection = true): Unanswered => ({
  why: 'read ECONNRESET',
  onReusedConnection,
  at: 'http://carillon',
  call: { did: 'occur', kind: 'new_event', userId: '1', record: undefined, word: 'w1', askedAt, answeredAt: undefined },
});
const after = { stoppedAt: [1_000], newcomerAt: new Map(), database: { records: new Map<string, string>() } };
const done = { ...after, database: { records: new Map([['/v2/events/1', 'w1']]) } };

test('a slow stop, a wrong exit code and an unanswered request are reported', () => {
  assert.deepEqual(exitFaults(0, 10_000), []);
  assert.deepEqual(exitFaults(1, 10_001), ['exit code 1', 'a stop took 10001 ms']);
  assert.deepEqual(exitFaults(null, 0), ['exit code null']);
  const well = { acknowledged: 9, unanswered: [], refused: 0, others: [] };
  const unanswered = [sent(900)];
  assert.deepEqual(unansweredFaults(well), []);
  assert.equal(unansweredFaults({ ...well, unanswered, refused: 1, others: ['500 {}'] }).length, 3);
});

test('a lost request is excused only if it was sent while its idle connection was closed and had no effect', () => {
  assert.equal(wasTooLate(sent(1_250), after), true);
  assert.equal(wasTooLate(sent(1_250, false), after), false, 'on a new connection');
  assert.equal(wasTooLate(sent(1_250), done), false, 'it had an effect');
  assert.equal(wasTooLate(sent(1_049), after), false, 'no connection was closed by then');
  assert.equal(wasTooLate(sent(900), after), false, 'before any stop');
});

test('a lost connection is excused only if it came last during a stop and had no effect', () => {
  const overtakenBy = (askedAt: number) => ({ ...after, newcomerAt: new Map([['http://carillon', askedAt]]) });
  assert.equal(wasNeverAccepted(sent(1_002, false), overtakenBy(1_001)), true);
  assert.equal(wasNeverAccepted(sent(1_002, false), overtakenBy(1_003)), false, 'a later connection was accepted');
  assert.equal(wasNeverAccepted(sent(1_002), after), false, 'on a reused connection');
  assert.equal(wasNeverAccepted(sent(1_002, false), done), false, 'it had an effect');
  assert.equal(wasNeverAccepted(sent(999, false), after), false, 'connected before the stop');
});
