import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FeedEntry } from '../../../packages/sdk/src/index.ts';
import type { ClientCall } from '../checker/history.ts';
import { checkRaces } from '../races/delete-during-delivery.ts';
import type { Unanswered } from '../workload/observers.ts';
import { findInconsistencies, findMissingOrUnexpected } from './backup-checks.ts';
import { exitFaults, unansweredFaults, wasNeverAccepted, wasSentAtIdleClose } from './sigterm.ts';
import { findDifferences } from './team-hooks.ts';

const eventUrl = (id: number) => `http://carillon/v2/events/${id}`;
const createdCall = (id: number, askedAt: number): ClientCall => ({
  did: 'occur',
  kind: 'new_event',
  userId: '1',
  record: eventUrl(id),
  word: `w${id}`,
  askedAt,
  answeredAt: askedAt + 1,
});
const occurrenceOf = (kind: string, id: number) => ({ kind, userId: '1', record: eventUrl(id) });
const records = new Map([[eventUrl(1), 'w1']]);

test('a record without its occurrence, an occurrence without its record, and a deleted record are reported', () => {
  assert.deepEqual(findInconsistencies({ records, occurrences: [occurrenceOf('new_event', 1)] }), []);
  assert.deepEqual(
    findInconsistencies({
      records: new Map(),
      occurrences: [occurrenceOf('new_event', 1), occurrenceOf('deleted_event', 1)],
    }),
    [],
  );
  assert.equal(findInconsistencies({ records, occurrences: [] }).length, 1);
  assert.equal(findInconsistencies({ records: new Map(), occurrences: [occurrenceOf('new_event', 1)] }).length, 1);
  assert.equal(
    findInconsistencies({ records, occurrences: [occurrenceOf('new_event', 1), occurrenceOf('deleted_event', 1)] })
      .length,
    1,
  );
});

test('a backup contains what was acknowledged before it, and nothing that was requested after it', () => {
  const times = { beganAt: 100, endedAt: 200 };
  assert.deepEqual(
    findMissingOrUnexpected({ records }, [createdCall(1, 10), createdCall(2, 99.5), createdCall(3, 150)], times),
    [],
  );
  assert.equal(findMissingOrUnexpected({ records }, [createdCall(1, 10), createdCall(2, 20)], times).length, 1);
  assert.equal(findMissingOrUnexpected({ records }, [createdCall(1, 300)], times).length, 1);
  const gone: ClientCall = { did: 'delete', record: eventUrl(1), askedAt: 20, answeredAt: 30 };
  assert.deepEqual(findMissingOrUnexpected({ records: new Map() }, [createdCall(1, 10), gone], times), []);
  assert.equal(findMissingOrUnexpected({ records }, [createdCall(1, 10), gone], times).length, 1);
});

test('a history that lacks an entry, has one more, or other fields differs from the feed', () => {
  const entry = (cursor: string, kind: FeedEntry['kind'], fields: readonly string[] = []): FeedEntry => ({
    ...{ cursor, kind, fields, resource_url: eventUrl(1), occurred_at: '2027-01-01 00:00:00' },
    ...{ user_id: '1', project_id: '0', previous_project_id: '0' },
  });
  const feed = [entry('1', 'new_event'), entry('2', 'changed_event', ['due_date'])];
  const received = [`1 new_event ${eventUrl(1)} -`, `2 changed_event ${eventUrl(1)} due_date`];
  assert.deepEqual(findDifferences('/a', received, feed), []);
  assert.equal(findDifferences('/a', received.slice(0, 1), feed).length, 1);
  assert.equal(findDifferences('/a', received.slice(1), feed).length, 1);
  assert.equal(findDifferences('/a', [...received, `3 new_event ${eventUrl(2)} -`], feed).length, 1);
  assert.equal(
    findDifferences(
      '/a',
      received.map((line) => line.replace('due_date', 'notes')),
      feed,
    ).length,
    1,
  );
});

const unansweredRequest = (askedAt: number, onReusedConnection = true): Unanswered => ({
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
  const unanswered = [unansweredRequest(900)];
  assert.deepEqual(unansweredFaults(well), []);
  assert.equal(unansweredFaults({ ...well, unanswered, refused: 1, others: ['500 {}'] }).length, 3);
});

test('a lost request is excused only if it was sent while its idle connection was closed and had no effect', () => {
  assert.equal(wasSentAtIdleClose(unansweredRequest(1_250), after), true);
  assert.equal(wasSentAtIdleClose(unansweredRequest(1_250, false), after), false, 'on a new connection');
  assert.equal(wasSentAtIdleClose(unansweredRequest(1_250), done), false, 'it had an effect');
  assert.equal(wasSentAtIdleClose(unansweredRequest(1_049), after), false, 'no connection was closed by then');
  assert.equal(wasSentAtIdleClose(unansweredRequest(900), after), false, 'before any stop');
});

test('a lost connection is excused only if it came last during a stop and had no effect', () => {
  const overtakenBy = (askedAt: number) => ({ ...after, newcomerAt: new Map([['http://carillon', askedAt]]) });
  assert.equal(wasNeverAccepted(unansweredRequest(1_002, false), overtakenBy(1_001)), true);
  assert.equal(
    wasNeverAccepted(unansweredRequest(1_002, false), overtakenBy(1_003)),
    false,
    'a later connection was accepted',
  );
  assert.equal(wasNeverAccepted(unansweredRequest(1_002), after), false, 'on a reused connection');
  assert.equal(wasNeverAccepted(unansweredRequest(1_002, false), done), false, 'it had an effect');
  assert.equal(wasNeverAccepted(unansweredRequest(999, false), after), false, 'connected before the stop');
});

test('an attempt or arrival after the end of its hook is reported, but not what was in flight', () => {
  const received = (...moments: number[]) => ({ received: moments.map((at) => ({ path: '/a', at })) });
  const traceOf = (begun: number[], dialled: number[]) => () => ({ begun, dialled });
  const ended = [{ paths: ['/a'], at: 10 }];
  assert.deepEqual(checkRaces(ended, traceOf([1, 8], [2, 9]), received(3, 11)), { broken: [], inFlight: 1 });
  assert.equal(checkRaces(ended, traceOf([1, 11], [2]), received(3)).broken.length, 1);
  assert.equal(checkRaces(ended, traceOf([1, 8], [2, 12]), received(3, 13)).broken.length, 1);
});
