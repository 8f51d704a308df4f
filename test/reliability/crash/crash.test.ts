import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '../checker/history.ts';
import { smokeTest } from '../smoke.ts';
import type { Unanswered } from '../workload/observers.ts';
import { inconsistencies, missingOrUnexpected } from './backup-checks.ts';
import { backups } from './backups.ts';
import { kills } from './kill.ts';
import { removal } from './retry-limit.ts';
import { exitFaults, stops, unansweredFaults, wasNeverAccepted, wasTooLate } from './sigterm.ts';
import { injection } from './syscall-faults.ts';

smokeTest(kills);

smokeTest(removal);

smokeTest(injection);

smokeTest(backups);

const at = (id: number) => `http://carillon/v2/events/${id}`;
const made = (id: number, askedAt: number): Call => ({
  did: 'occur',
  kind: 'new_event',
  userId: '1',
  record: at(id),
  word: `w${id}`,
  askedAt,
  answeredAt: askedAt + 1,
});
const fact = (kind: string, id: number) => ({ kind, userId: '1', record: at(id) });
const records = new Map([[at(1), 'w1']]);

test('a record without its occurrence, an occurrence without its record, and a deleted record are reported', () => {
  assert.deepEqual(inconsistencies({ records, occurrences: [fact('new_event', 1)] }), []);
  assert.deepEqual(
    inconsistencies({ records: new Map(), occurrences: [fact('new_event', 1), fact('deleted_event', 1)] }),
    [],
  );
  assert.equal(inconsistencies({ records, occurrences: [] }).length, 1);
  assert.equal(inconsistencies({ records: new Map(), occurrences: [fact('new_event', 1)] }).length, 1);
  assert.equal(inconsistencies({ records, occurrences: [fact('new_event', 1), fact('deleted_event', 1)] }).length, 1);
});

test('a backup contains what was acknowledged before it, and nothing that was requested after it', () => {
  const times = { beganAt: 100, endedAt: 200 };
  assert.deepEqual(missingOrUnexpected({ records }, [made(1, 10), made(2, 99.5), made(3, 150)], times), []);
  assert.equal(missingOrUnexpected({ records }, [made(1, 10), made(2, 20)], times).length, 1);
  assert.equal(missingOrUnexpected({ records }, [made(1, 300)], times).length, 1);
  const gone: Call = { did: 'delete', record: at(1), askedAt: 20, answeredAt: 30 };
  assert.deepEqual(missingOrUnexpected({ records: new Map() }, [made(1, 10), gone], times), []);
  assert.equal(missingOrUnexpected({ records }, [made(1, 10), gone], times).length, 1);
});

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
