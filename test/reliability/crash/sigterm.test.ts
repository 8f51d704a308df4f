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

test('a stop that is slow, or says that it went wrong, and a request that nobody answered are named', () => {
  assert.deepEqual(exitFaults(0, 10_000), []);
  assert.deepEqual(exitFaults(1, 10_001), ['exit code 1', 'a stop took 10001 ms']);
  assert.deepEqual(exitFaults(null, 0), ['exit code null']);
  const well = { acknowledged: 9, unanswered: [], refused: 0, others: [] };
  const unanswered = [sent(900)];
  assert.deepEqual(unansweredFaults(well), []);
  assert.equal(unansweredFaults({ ...well, unanswered, refused: 1, others: ['500 {}'] }).length, 3);
});

test('only what was sent as an idle connection was closed, and came to nothing, was never taken', () => {
  assert.equal(wasTooLate(sent(1_250), after), true);
  assert.equal(wasTooLate(sent(1_250, false), after), false, 'its connection was its own');
  assert.equal(wasTooLate(sent(1_250), done), false, 'it was done');
  assert.equal(wasTooLate(sent(1_049), after), false, 'no connection was closed by then');
  assert.equal(wasTooLate(sent(900), after), false, 'nobody was stopping');
});

test('only whoever connected during a stop behind all who were answered, and came to nothing, was never accepted', () => {
  const overtakenBy = (askedAt: number) => ({ ...after, newcomerAt: new Map([['http://carillon', askedAt]]) });
  assert.equal(wasNeverAccepted(sent(1_002, false), overtakenBy(1_001)), true);
  assert.equal(wasNeverAccepted(sent(1_002, false), overtakenBy(1_003)), false, 'a later one was accepted');
  assert.equal(wasNeverAccepted(sent(1_002), after), false, 'its connection was accepted long before');
  assert.equal(wasNeverAccepted(sent(1_002, false), done), false, 'it was done');
  assert.equal(wasNeverAccepted(sent(999, false), after), false, 'who is there before a stop is accepted');
});
