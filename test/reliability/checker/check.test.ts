import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from './check.ts';
import { checkDuplicates } from './duplicate-budget.ts';
import type { Arrival, ClientCall, Crash, History } from './history.ts';

const eventUrl = (id: number) => `http://127.0.0.1/v2/events/${id}`;
const createdCall = (id: number, askedAt: number, more: Partial<ClientCall> = {}): ClientCall =>
  ({
    did: 'occur',
    kind: 'new_event',
    userId: '1',
    record: eventUrl(id),
    word: `w${id}`,
    askedAt,
    answeredAt: askedAt + 1,
    ...more,
  }) as ClientCall;
const arrivalOf = (id: number, moment: number, more: Partial<Arrival> = {}): Arrival => ({
  path: '/a',
  deliveryId: String(id),
  body: JSON.stringify({ resource_url: eventUrl(id) }),
  at: moment,
  answeredAt: moment + 1,
  answer: 200,
  fetched: 200,
  ...more,
});
const subscribeCall: ClientCall = {
  did: 'subscribe',
  path: '/a',
  kind: 'new_event',
  userId: '1',
  askedAt: 0,
  answeredAt: 1,
};
const occurrenceOf = (id: number) => ({ kind: 'new_event', userId: '1', record: eventUrl(id) });
const hook = { path: '/a', kind: 'new_event', userId: '1', endedReason: null };
const crashLeaving = (moment: number, pending: readonly string[], fate: 0 | 1 | 2 = 0): Crash => ({
  at: moment,
  pending: new Set(pending),
  fates: new Map([['/a', fate]]),
});

/** The history of a run with two events, both acknowledged, stored and delivered. */
const consistentHistory: History = {
  calls: [subscribeCall, createdCall(1, 10), createdCall(2, 20)],
  arrivals: [arrivalOf(1, 12), arrivalOf(2, 22)],
  database: {
    records: new Map([
      [eventUrl(1), 'w1'],
      [eventUrl(2), 'w2'],
    ]),
    occurrences: [occurrenceOf(1), occurrenceOf(2)],
    hooks: [hook],
    pending: 0,
  },
  crashes: [],
  waitsMs: [60, 7_200],
  settlesWithinMs: 50,
};
const brokenRules = (change: Partial<History>): string[] =>
  check({ ...consistentHistory, ...change }).map(({ what }) => what);
const failedArrival = (id: number, moment: number, answer: number | undefined = 500) =>
  arrivalOf(id, moment, { answer });
const databaseWithHook = (change: Partial<typeof hook> | { endedReason: string }): History['database'] => ({
  ...consistentHistory.database,
  hooks: [{ ...hook, ...change }],
});

test('a consistent history has no faults, also with a failure, a crash or a lost response', () => {
  assert.deepEqual(check(consistentHistory), []);
  assert.deepEqual(brokenRules({ arrivals: [failedArrival(1, 12), arrivalOf(1, 100), arrivalOf(2, 102)] }), []);
  const over = [arrivalOf(1, 12), arrivalOf(2, 22, { answer: undefined, answeredAt: 60 }), arrivalOf(2, 102)];
  assert.deepEqual(brokenRules({ arrivals: over, crashes: [crashLeaving(50, ['2'])] }), []);
  const unanswered = createdCall(2, 20, { record: undefined, answeredAt: undefined });
  assert.deepEqual(brokenRules({ calls: [subscribeCall, createdCall(1, 10), unanswered] }), []);
});

test('an acknowledged record or deletion that the database does not contain is reported as lost', () => {
  const { database } = consistentHistory;
  const one = new Map([[eventUrl(1), 'w1']]);
  assert.deepEqual(
    brokenRules({
      database: { ...database, records: one, occurrences: [occurrenceOf(1)] },
      arrivals: [arrivalOf(1, 12)],
    }),
    ['acknowledged and lost'],
  );
  const without = { database: { ...database, occurrences: [occurrenceOf(1)] }, arrivals: [arrivalOf(1, 12)] };
  assert.deepEqual(brokenRules(without), ['acknowledged and lost'], 'a record without its occurrence');
  const same = { calls: [...consistentHistory.calls, createdCall(2, 50, { word: 'w3' })] };
  assert.deepEqual(brokenRules(same), ['acknowledged and lost', 'without a request'], 'an id that was issued twice');
  const gone: ClientCall = { did: 'delete', record: eventUrl(2), askedAt: 30, answeredAt: 31 };
  const ended = { ...occurrenceOf(2), kind: 'deleted_event' };
  const deleted = { ...database, records: one, occurrences: [...database.occurrences, ended] };
  assert.deepEqual(brokenRules({ database: deleted, calls: [...consistentHistory.calls, gone] }), []);
  assert.deepEqual(
    brokenRules({ database: { ...database, records: one }, calls: [...consistentHistory.calls, gone] }),
    ['acknowledged and lost'],
    'a deletion without its occurrence',
  );
  assert.deepEqual(brokenRules({ calls: [...consistentHistory.calls, gone] }), ['acknowledged and lost'], 'a deletion');
});

test('an occurrence that a live hook did not receive is reported, and so are pending deliveries at the end', () => {
  assert.deepEqual(brokenRules({ arrivals: [arrivalOf(1, 12)] }), ['pending and not delivered']);
  assert.deepEqual(brokenRules({ database: { ...consistentHistory.database, pending: 1 } }), [
    'still pending at the end',
  ]);
  const cutOff = createdCall(2, 20, { record: undefined, answeredAt: undefined });
  assert.deepEqual(brokenRules({ calls: [subscribeCall, createdCall(1, 10), cutOff], arrivals: [arrivalOf(1, 12)] }), [
    'pending and not delivered',
  ]);
  const late: ClientCall = { ...subscribeCall, askedAt: 15, answeredAt: 16 };
  const calls = [late, createdCall(1, 10), createdCall(2, 20)];
  assert.deepEqual(
    brokenRules({ calls, arrivals: [arrivalOf(2, 22)] }),
    [],
    'an occurrence from before the hook is not delivered',
  );
  assert.deepEqual(brokenRules({ calls }), ['delivered to the wrong hook']);
});

test('a notification of a missing or unfetchable record, to the wrong hook, or with a wrong body is reported', () => {
  assert.deepEqual(brokenRules({ arrivals: [...consistentHistory.arrivals, arrivalOf(3, 30)] }), [
    'delivered without a record',
  ]);
  assert.deepEqual(brokenRules({ arrivals: [arrivalOf(1, 12, { fetched: 404 }), arrivalOf(2, 22)] }), [
    'delivered before it could be fetched',
  ]);
  const another = { ...consistentHistory.database, hooks: [hook, { ...hook, path: '/b', userId: '2' }] };
  const there: ClientCall = { ...subscribeCall, path: '/b', userId: '2' };
  const heard = arrivalOf(1, 12, { path: '/b', deliveryId: '9' });
  const wrong = {
    database: another,
    calls: [...consistentHistory.calls, there],
    arrivals: [...consistentHistory.arrivals, heard],
  };
  assert.deepEqual(brokenRules(wrong), ['delivered to the wrong hook']);
  const ofAnother = {
    ...consistentHistory.database,
    occurrences: [occurrenceOf(1), { ...occurrenceOf(2), userId: '2' }],
  };
  const mistaken = { database: ofAnother, arrivals: [arrivalOf(1, 12)] };
  assert.deepEqual(brokenRules(mistaken), ['delivered to the wrong hook'], 'the occurrence has the wrong user');
  const more = arrivalOf(2, 22, { body: `{"resource_url":"${eventUrl(2)}","kind":"new_event"}` });
  assert.ok(brokenRules({ arrivals: [arrivalOf(1, 12), more] }).includes('malformed notification'));
});

test('a duplicate is allowed only after a failure, or after a crash that left the delivery pending', () => {
  assert.deepEqual(brokenRules({ arrivals: [...consistentHistory.arrivals, arrivalOf(2, 30)] }), [
    'unexplained duplicate',
  ]);
  assert.deepEqual(
    brokenRules({ arrivals: [...consistentHistory.arrivals, arrivalOf(2, 30)], crashes: [crashLeaving(25, ['2'])] }),
    [],
  );
  assert.deepEqual(
    brokenRules({ arrivals: [...consistentHistory.arrivals, arrivalOf(2, 30)], crashes: [crashLeaving(25, [])] }),
    ['unexplained duplicate'],
  );
  assert.deepEqual(
    brokenRules({ arrivals: [...consistentHistory.arrivals, arrivalOf(2, 90)], crashes: [crashLeaving(85, ['2'])] }),
    ['unexplained duplicate'],
    'a result so long before the crash is committed',
  );
  const deadSince = (killedAt: number) => ({
    arrivals: [...consistentHistory.arrivals, arrivalOf(2, 90)],
    crashes: [{ ...crashLeaving(85, ['2']), killedAt }],
  });
  assert.deepEqual(brokenRules(deadSince(60)), [], 'killed long before the crash was noticed');
  assert.deepEqual(brokenRules(deadSince(80)), ['unexplained duplicate'], 'killed too late to lose the result');
  const both = [arrivalOf(1, 12), arrivalOf(2, 22, { answeredAt: 40 }), arrivalOf(2, 30, { answeredAt: 41 })];
  assert.deepEqual(brokenRules({ arrivals: both }), ['unexplained duplicate'], 'two attempts in flight');
});

test('a delivery after the response to a DELETE is reported', () => {
  const ended: ClientCall = { did: 'unsubscribe', path: '/a', askedAt: 19, answeredAt: 21 };
  const change = { calls: [...consistentHistory.calls, ended], database: databaseWithHook({ endedReason: 'deleted' }) };
  assert.deepEqual(brokenRules(change), ['delivered after the end of the hook']);
  assert.deepEqual(brokenRules({ ...change, arrivals: [arrivalOf(1, 12), arrivalOf(2, 20)] }), []);
  const again: ClientCall = { did: 'restore', path: '/a', askedAt: 21, answeredAt: 22 };
  assert.deepEqual(brokenRules({ ...change, calls: [...change.calls, again] }), []);
});

test('a hook ends at its third failure in a row or its first 401, and for no other reason', () => {
  const wrong = 'hook state differs from the state table';
  const three = [failedArrival(1, 100), failedArrival(1, 200), failedArrival(1, 8_000)];
  const ended = { database: databaseWithHook({ endedReason: 'three_failures' }) };
  assert.deepEqual(brokenRules({ ...ended, arrivals: three }), []);
  assert.deepEqual(brokenRules({ ...ended, arrivals: three.slice(1) }), [wrong], 'ended after two failures');
  assert.ok(brokenRules({ arrivals: three }).includes(wrong), 'live after three failures');
  assert.ok(
    brokenRules({ ...ended, arrivals: [...three, failedArrival(1, 9_000)] }).includes(wrong),
    'an attempt after the third failure',
  );
  const recovered = [
    failedArrival(1, 100),
    failedArrival(1, 200),
    arrivalOf(1, 8_000),
    failedArrival(2, 8_010),
    arrivalOf(2, 8_100),
  ];
  assert.deepEqual(brokenRules({ arrivals: recovered }), []);
  assert.deepEqual(brokenRules({ ...ended, arrivals: recovered }), [wrong], 'a 200 resets the count');
  assert.deepEqual(
    brokenRules({ database: databaseWithHook({ endedReason: 'answered_401' }), arrivals: [failedArrival(1, 12, 401)] }),
    [],
  );
  assert.deepEqual(
    brokenRules({ ...ended, arrivals: [failedArrival(1, 100), failedArrival(1, 120), failedArrival(1, 8_000)] }),
    [wrong],
    'a retry during the backoff',
  );
  const earned = arrivalOf(3, 90);
  const burst = [
    earned,
    failedArrival(1, 100),
    arrivalOf(2, 100.5, { answer: 500, answeredAt: 130 }),
    arrivalOf(1, 200),
    arrivalOf(2, 202),
  ];
  const ofThree = {
    calls: [...consistentHistory.calls, createdCall(3, 10)],
    database: {
      ...consistentHistory.database,
      records: new Map([...consistentHistory.database.records, [eventUrl(3), 'w3']]),
      occurrences: [...consistentHistory.database.occurrences, occurrenceOf(3)],
    },
  };
  assert.deepEqual(brokenRules({ ...ofThree, arrivals: burst }), [], 'attempts in flight at a failure are part of it');
  const other = [failedArrival(1, 12), arrivalOf(2, 100), arrivalOf(1, 102)];
  assert.deepEqual(brokenRules({ arrivals: other }), [wrong], 'another delivery is sent before the retry');
});

test('an attempt that a crash cuts off is no failure', () => {
  const cut = arrivalOf(1, 12, { answer: undefined, answeredAt: 40 });
  const change = { arrivals: [cut, arrivalOf(1, 50), arrivalOf(2, 52)], crashes: [crashLeaving(20, ['1', '2'])] };
  assert.deepEqual(brokenRules(change), []);
  const counted = { ...change, crashes: [crashLeaving(20, ['1', '2'], 1)] };
  assert.deepEqual(brokenRules(counted), ['hook state differs from the state table'], 'the failure was counted');
  const elsewhere = { ...crashLeaving(20, ['1', '2']), fates: new Map([['/b', 0]]) };
  const other = { ...change, crashes: [elsewhere] };
  assert.deepEqual(
    brokenRules(other),
    ['hook state differs from the state table'],
    'a crash of a process that delivers for another hook',
  );
});

test('a missing response during a pause is no failure, and a response during a pause is known at its end', () => {
  const pauses = [{ from: 100, stoppedAt: 102, to: 200 }];
  const unanswered = (moment: number, end: number) => arrivalOf(1, moment, { answer: undefined, answeredAt: end });
  const then = (...arrivals: Arrival[]) =>
    brokenRules({ pauses, maxResultDelayMs: 5, arrivals: [...arrivals, arrivalOf(2, 400)] });
  const [during, twice] = [unanswered(99, 150), [failedArrival(1, 270), failedArrival(1, 350)]];
  const all = [during, ...twice];
  assert.deepEqual(
    brokenRules({ pauses, waitsMs: [60, 70], arrivals: [...all, arrivalOf(1, 430), arrivalOf(2, 440)] }),
    [],
  );
  const ended = { ...databaseWithHook({ endedReason: 'three_failures' }), pending: 0 };
  assert.deepEqual(brokenRules({ pauses, waitsMs: [60, 70], database: ended, arrivals: all }), [
    'hook state differs from the state table',
  ]);
  assert.deepEqual(then(during, arrivalOf(1, 210)), [], 'retried before a backoff could be over');
  assert.deepEqual(
    then(unanswered(90, 95), arrivalOf(1, 210)),
    [],
    'ended so shortly before the pause that its result may be unknown',
  );
  assert.deepEqual(then(unanswered(80, 90), arrivalOf(1, 110)), ['hook state differs from the state table']);
  assert.deepEqual(then(arrivalOf(1, 99, { answeredAt: 150 }), arrivalOf(1, 210)), ['unexplained duplicate']);
  assert.deepEqual(then(arrivalOf(1, 99, { answeredAt: 210 }), arrivalOf(1, 220)), [], 'timed out before the response');
  const burst = [failedArrival(1, 99, 500), arrivalOf(2, 203, { answer: 500 })];
  assert.deepEqual(
    brokenRules({ pauses, maxResultDelayMs: 5, arrivals: [...burst, arrivalOf(1, 300), arrivalOf(2, 302)] }),
    [],
    'known only after the pause',
  );
});

test('a kill soon after a failure may lose it, however late the kill is noticed', () => {
  const arrivals = [failedArrival(1, 12), arrivalOf(1, 92), arrivalOf(2, 94)];
  const deadSince = (killedAt: number) => ({ arrivals, crashes: [{ ...crashLeaving(90, ['1', '2']), killedAt }] });
  assert.deepEqual(brokenRules(deadSince(40)), []);
  assert.deepEqual(
    brokenRules(deadSince(80)),
    ['hook state differs from the state table'],
    'killed long after the failure',
  );
});

test('a failure that a crash lost counts when it is repeated, however soon', () => {
  const arrivals = [
    failedArrival(1, 10),
    arrivalOf(2, 12),
    failedArrival(1, 60),
    failedArrival(1, 200),
    arrivalOf(1, 6_000),
  ];
  const over = (fate: 1 | 2) => ({ crashes: [crashLeaving(20, ['1']), crashLeaving(5_000, ['1'], fate)] });
  const change = { arrivals, maxResultDelayMs: 80, waitsMs: [] };
  assert.deepEqual(brokenRules({ ...change, ...over(2) }), []);
  assert.deepEqual(brokenRules({ ...change, ...over(1) }), ['hook state differs from the state table']);
});

test('a failing hook has one attempt in flight, a healthy one up to eight, and a retry is not late', () => {
  const wrong = 'hook state differs from the state table';
  const retried = failedArrival(1, 12);
  const beside = [retried, arrivalOf(1, 100, { answeredAt: 130 }), arrivalOf(2, 110, { answeredAt: 131 })];
  assert.deepEqual(
    brokenRules({ arrivals: beside }),
    [wrong, wrong],
    'two in flight while it fails, the second of another delivery',
  );
  const many = (before: number, atOnce: number) => ({
    calls: [subscribeCall, ...Array.from({ length: before + atOnce }, (_, id) => createdCall(id, 10))],
    arrivals: Array.from({ length: before + atOnce }, (_, id) =>
      id < before
        ? arrivalOf(id, 20 + id, { answeredAt: 20.5 + id })
        : arrivalOf(id, 60 + id / 100, { answeredAt: 70 }),
    ),
    database: {
      ...consistentHistory.database,
      records: new Map(Array.from({ length: before + atOnce }, (_, id) => [eventUrl(id), `w${id}`])),
      occurrences: Array.from({ length: before + atOnce }, (_, id) => occurrenceOf(id)),
    },
  });
  assert.deepEqual(brokenRules(many(7, 8)), []);
  assert.deepEqual(brokenRules(many(9, 9)), [wrong]);
  assert.deepEqual(brokenRules(many(2, 4)), [wrong], 'more in flight than its 200s allow');
  const late = [retried, arrivalOf(1, 90), arrivalOf(2, 92)];
  assert.deepEqual(brokenRules({ arrivals: late, calmFrom: 0 }), [wrong], 'later than the maximum jitter');
  assert.deepEqual(brokenRules({ arrivals: late, calmFrom: 50 }), [], 'while faults may delay the retry');
  const patient = [failedArrival(1, 12, 429), arrivalOf(1, 88.5), arrivalOf(2, 92)].map((one) => ({
    ...one,
    retryAfterMs: 75,
  }));
  assert.deepEqual(brokenRules({ arrivals: patient, calmFrom: 0 }), []);
  const hurried = [{ ...failedArrival(1, 12, 429), retryAfterMs: 100 }, arrivalOf(1, 90), arrivalOf(2, 92)];
  assert.deepEqual(brokenRules({ arrivals: hurried }), [wrong], 'before Retry-After');
  const wallOf = (moment: number) => (moment > 50 ? moment - 3_600 : moment);
  assert.deepEqual(
    brokenRules({ arrivals: [retried, arrivalOf(1, 3_700), arrivalOf(2, 3_702)], toWallTime: wallOf }),
    [],
  );
  assert.deepEqual(brokenRules({ arrivals: late, toWallTime: wallOf }), [wrong], 'the wall clock was set back');
});

test('while it is uncertain whether a failure counted, each attempt must fit one of both states', () => {
  const wrong = 'hook state differs from the state table';
  const ids = [0, 1, 2, 3, 4, 5, 6, 7];
  const again: ClientCall = { did: 'restore', path: '/a', askedAt: 15, answeredAt: 16 };
  const once: ClientCall = { did: 'redeliver', deliveryId: '0', askedAt: 30, answeredAt: 30.5 };
  const concurrent = [arrivalOf(1, 30, { answeredAt: 40 }), arrivalOf(2, 30.1, { answeredAt: 40.1 })];
  // This failure is a scheduled attempt after the restore, or the redelivery. Only the service knows whether it
  // counts.
  const doubtful = arrivalOf(0, 31, { answer: 500, answeredAt: 35 });
  const atOnce = ids.slice(4).map((id) => arrivalOf(id, 50 + id / 100, { answeredAt: 60 }));
  const sent = (...arrivals: Arrival[]) =>
    brokenRules({
      calls: [subscribeCall, ...ids.map((id) => createdCall(id, 17)), again, once],
      arrivals: [arrivalOf(0, 20), doubtful, ...arrivals, ...atOnce],
      database: {
        ...consistentHistory.database,
        records: new Map(ids.map((id) => [eventUrl(id), `w${id}`])),
        occurrences: ids.map(occurrenceOf),
      },
    });
  assert.deepEqual(sent(...concurrent, arrivalOf(3, 40.5)), [], 'no failure: five in flight are allowed');
  const failed = concurrent.map((one) => ({ ...one, answer: 500 }));
  assert.ok(sent(...failed, arrivalOf(3, 40.5)).includes(wrong), 'four in flight after two 200s');
  assert.deepEqual(sent(...concurrent, arrivalOf(3, 36)), [wrong], 'three in flight, where one or two are allowed');
});

test('a failure that started before an uncertain one may count itself', () => {
  const again: ClientCall = { did: 'restore', path: '/a', askedAt: 15, answeredAt: 16 };
  const once: ClientCall = { did: 'redeliver', deliveryId: '0', askedAt: 30, answeredAt: 30.5 };
  // The first failure is a scheduled attempt of the restored hook, or the redelivery. The 200 starts after that
  // failure, and finishes before the second failure, which was in flight at the same time.
  const doubtful = arrivalOf(0, 31, { answer: 500, answeredAt: 35 });
  const heard = arrivalOf(1, 36, { answeredAt: 38 });
  const beside = arrivalOf(2, 29, { answer: 500, answeredAt: 40 });
  const ids = [0, 1, 2];
  const standsAt = (fate: 0 | 1 | 2, ...arrivals: Arrival[]) =>
    brokenRules({
      calls: [subscribeCall, again, ...ids.map((id) => createdCall(id, 17)), once],
      arrivals: [arrivalOf(0, 20), ...arrivals, arrivalOf(2, 120)],
      crashes: [crashLeaving(100, ['2'], fate)],
      database: {
        ...consistentHistory.database,
        records: new Map(ids.map((id) => [eventUrl(id), `w${id}`])),
        occurrences: ids.map(occurrenceOf),
      },
    });
  const wrong = ['hook state differs from the state table'];
  for (const fate of [0, 1] as const) assert.deepEqual(standsAt(fate, doubtful, heard, beside), []);
  assert.deepEqual(standsAt(2, doubtful, heard, beside), wrong, 'never both failures');
  assert.deepEqual(standsAt(1, doubtful, heard), wrong, 'the 200 since has reset it');
  assert.deepEqual(standsAt(0, { ...doubtful, answer: 200 }, heard, beside), wrong, 'nothing is uncertain');
});

test('a restored hook starts with no failures, and late results from before change nothing', () => {
  const wrong = 'hook state differs from the state table';
  const ended: ClientCall = { did: 'unsubscribe', path: '/a', askedAt: 19, answeredAt: 21 };
  const again: ClientCall = { did: 'restore', path: '/a', askedAt: 25, answeredAt: 26 };
  const calls = [...consistentHistory.calls, ended, again];
  const late = arrivalOf(2, 15, { answer: 401, answeredAt: 30 });
  const arrivals = [arrivalOf(1, 12), late, arrivalOf(2, 40)];
  assert.deepEqual(brokenRules({ calls, arrivals }), []);
  const fenced = { calls, arrivals, database: databaseWithHook({ endedReason: 'answered_401' }) };
  assert.deepEqual(brokenRules(fenced), [wrong], 'the late response ended the hook');
  const three = [failedArrival(2, 40), failedArrival(2, 200), failedArrival(2, 8_000)];
  const long = { ...again, askedAt: 100, answeredAt: 101 } as ClientCall;
  assert.deepEqual(
    brokenRules({
      calls: [...consistentHistory.calls, ended, long],
      arrivals: [arrivalOf(1, 12), arrivalOf(2, 19), arrivalOf(2, 120)],
    }),
    ['unexplained duplicate'],
    'a delivery so long before the restore is finalized',
  );
  const removed = {
    calls,
    arrivals: [arrivalOf(1, 12), ...three],
    database: databaseWithHook({ endedReason: 'three_failures' }),
  };
  assert.deepEqual(brokenRules(removed), []);
  assert.deepEqual(
    brokenRules({ ...removed, arrivals: [arrivalOf(1, 12), ...three.slice(1)] }),
    [wrong],
    'ended after two failures',
  );
});

test('a delivery with a late 200 from before the end is not retried', () => {
  const ended: ClientCall = { did: 'unsubscribe', path: '/a', askedAt: 19, answeredAt: 21 };
  const again: ClientCall = { did: 'restore', path: '/a', askedAt: 25, answeredAt: 26 };
  const twice = [arrivalOf(1, 15, { answeredAt: 30 }), failedArrival(1, 26.5, 429), arrivalOf(2, 200)];
  const calls = [...consistentHistory.calls, ended, again];
  assert.deepEqual(brokenRules({ calls, arrivals: twice }), []);
  const failed = [arrivalOf(1, 15, { answer: 500, answeredAt: 30 }), ...twice.slice(1), arrivalOf(1, 210)];
  assert.deepEqual(
    brokenRules({ calls, arrivals: failed }),
    ['hook state differs from the state table'],
    'it was not delivered',
  );
});

test('a manual attempt counts no failure and ignores the backoff, and a test is sent only on request', () => {
  const own = 'http://127.0.0.1/v2/hooks/1';
  const database = databaseWithHook({ address: own } as Partial<typeof hook>);
  const asked: ClientCall = { did: 'test', path: '/a', askedAt: 30, answeredAt: 31 };
  const test = arrivalOf(9, 32, { answer: 500, body: JSON.stringify({ resource_url: own }) });
  const arrivals = [failedArrival(1, 12), test, arrivalOf(1, 100), arrivalOf(2, 102)];
  assert.deepEqual(brokenRules({ database, calls: [...consistentHistory.calls, asked], arrivals }), []);
  assert.ok(brokenRules({ database, arrivals }).includes('delivered to the wrong hook'));
  const pending = { calls: [...consistentHistory.calls, asked], arrivals, crashes: [crashLeaving(31, ['1', '9'], 1)] };
  const ended = { ...database, hooks: database.hooks.map((one) => ({ ...one, endedReason: 'three_failures' })) };
  assert.deepEqual(brokenRules({ ...pending, database }), []);
  const wrong = 'hook state differs from the state table';
  assert.deepEqual(brokenRules({ ...pending, database: ended }), [wrong], 'a test stays a test after a crash');
  const once: ClientCall = { did: 'redeliver', deliveryId: '1', askedAt: 30, answeredAt: 31 };
  const more = [...consistentHistory.arrivals, failedArrival(1, 32), failedArrival(1, 34), failedArrival(1, 36)];
  assert.deepEqual(brokenRules({ calls: [...consistentHistory.calls, once, once, once], arrivals: more }), []);
  const refused = {
    calls: [...consistentHistory.calls, once],
    arrivals: [...consistentHistory.arrivals, failedArrival(1, 32, 401)],
  };
  assert.deepEqual(brokenRules({ ...refused, database: databaseWithHook({ endedReason: 'answered_401' }) }), []);
  assert.deepEqual(brokenRules(refused), [wrong], 'a 401 to a manual attempt ends the hook');
  const again = 'unexplained duplicate';
  assert.deepEqual(
    brokenRules({ calls: [...consistentHistory.calls, once, once], arrivals: more }),
    [again],
    'a request is one attempt',
  );
  const cut = { calls: [...consistentHistory.calls, once, once], arrivals: more, crashes: [crashLeaving(35.5, [])] };
  assert.deepEqual(brokenRules(cut), [], 'and is repeated if a crash cuts it off');
  const seenLate = { ...crashLeaving(200, []), killedAt: 35.5 };
  assert.deepEqual(brokenRules({ ...cut, crashes: [seenLate] }), [], 'however late the crash was noticed');
  assert.deepEqual(brokenRules({ ...cut, crashes: [{ ...seenLate, killedAt: 199 }] }), [again], 'but not long after');
  assert.deepEqual(brokenRules({ calls: [...consistentHistory.calls, once] }), ['requested and not delivered']);
  const tests = [...arrivals.slice(0, 2), { ...test, at: 50, answeredAt: 51 }, ...arrivals.slice(2)];
  assert.deepEqual(
    brokenRules({ database, calls: [...consistentHistory.calls, asked], arrivals: tests }),
    [again],
    'a failed test',
  );
  const heard = { ...asked, deliveryId: '9' } as ClientCall;
  assert.deepEqual(brokenRules({ database, calls: [...consistentHistory.calls, heard], arrivals }), []);
  assert.deepEqual(brokenRules({ database, calls: [...consistentHistory.calls, heard] }), [
    'requested and not delivered',
  ]);
});

test('every record and occurrence has exactly one request with the same word', () => {
  const stray = 'without a request';
  const { database } = consistentHistory;
  const more = (id: number, word: string) => ({
    records: new Map([...database.records, [eventUrl(id), word]]),
    occurrences: [...database.occurrences, occurrenceOf(id)],
  });
  const heard = [...consistentHistory.arrivals, arrivalOf(3, 32)];
  const nobody = { ...database, ...more(3, 'w3') };
  assert.deepEqual(brokenRules({ database: nobody, arrivals: heard }), [stray, stray], 'without a request');
  const twice = { ...database, ...more(3, 'w2') };
  assert.deepEqual(brokenRules({ database: twice, arrivals: heard }), [stray, stray], 'one call, two records');
  const cutOff = createdCall(2, 20, { record: undefined, answeredAt: undefined });
  const calls = [subscribeCall, createdCall(1, 10), cutOff];
  assert.deepEqual(brokenRules({ calls, database: twice, arrivals: heard }), [stray], 'also if one has no response');
  const other = { ...database, records: new Map([...database.records, [eventUrl(2), 'another word']]) };
  assert.deepEqual(brokenRules({ database: other }), [stray], 'with another word');
  const again = { ...database, occurrences: [...database.occurrences, occurrenceOf(2)] };
  assert.deepEqual(brokenRules({ database: again }), [stray], 'it occurred once');
  const ended = { ...database, occurrences: [...database.occurrences, { ...occurrenceOf(2), kind: 'deleted_event' }] };
  assert.deepEqual(brokenRules({ database: ended }), [stray], 'without a deletion');
  const asClient = createdCall(2, 20, { kind: 'new_client', record: undefined, answeredAt: undefined });
  assert.deepEqual(
    brokenRules({ calls: [subscribeCall, createdCall(1, 10), asClient] }),
    [stray, stray],
    'as another resource',
  );
  const changed = {
    ...database,
    occurrences: [...database.occurrences, { ...occurrenceOf(2), kind: 'changed_event' }],
  };
  assert.deepEqual(brokenRules({ database: changed }), [], 'changes are not in the history');
});

test('a subtask that is completed with its task belongs to the user who completed the task', () => {
  const [task, subtask] = ['http://127.0.0.1/v2/tasks/1', 'http://127.0.0.1/v2/subtasks/1'];
  const calls: ClientCall[] = [
    createdCall(1, 1, { kind: 'new_task', record: task, word: 't' }),
    createdCall(1, 2, { kind: 'new_subtask', record: subtask, word: 's', above: task }),
    createdCall(1, 3, { kind: 'completed_task', record: task, word: 't' }),
  ];
  const own = (kind: string, record: string, userId = '1') => ({ kind, userId, record });
  const occurrences = [own('new_task', task), own('new_subtask', subtask), own('completed_task', task)];
  const plus = (...more: typeof occurrences) => ({
    calls,
    arrivals: [],
    database: {
      records: new Map([
        [task, 't'],
        [subtask, 's'],
      ]),
      occurrences: [...occurrences, ...more],
      hooks: [],
      pending: 0,
    },
  });
  assert.deepEqual(brokenRules(plus(own('completed_subtask', subtask))), []);
  assert.deepEqual(brokenRules(plus(own('completed_subtask', subtask, '2'))), ['delivered to the wrong hook']);
  const alone = plus(own('completed_subtask', subtask));
  assert.deepEqual(
    brokenRules({ ...alone, calls: calls.slice(0, 2) }),
    ['without a request', 'without a request'],
    'neither was completed',
  );
});

test('a hook exists as requested, and is live or ended as acknowledged', () => {
  const wrong = 'hook differs from its requests';
  const ended: ClientCall = { did: 'unsubscribe', path: '/a', askedAt: 30, answeredAt: 31 };
  const gone: ClientCall = { ...ended, withUser: true };
  const back: ClientCall = { did: 'restore', path: '/a', askedAt: 40, answeredAt: 41 };
  const plus = (...calls: ClientCall[]) => [...consistentHistory.calls, ...calls];
  const none = { database: { ...consistentHistory.database, hooks: [] } };
  assert.ok(brokenRules(none).includes(wrong), 'it was acknowledged');
  const unsure: ClientCall = { ...subscribeCall, path: '/b', answeredAt: undefined };
  assert.deepEqual(brokenRules({ calls: plus(unsure) }), [], 'a request without a response may have had no effect');
  const second = { ...hook, path: '/b' };
  const two = { ...consistentHistory.database, hooks: [hook, second] };
  assert.deepEqual(brokenRules({ database: two, calls: plus(unsure) }), []);
  assert.deepEqual(brokenRules({ database: two }), [wrong], 'without a request');
  assert.ok(brokenRules({ database: databaseWithHook({ kind: 'new_client' }) }).includes(wrong), 'of another kind');
  assert.ok(brokenRules({ database: databaseWithHook({ userId: '2' }) }).includes(wrong), 'of another user');
  const deleted = databaseWithHook({ endedReason: 'deleted' });
  assert.deepEqual(brokenRules({ database: deleted, calls: plus(ended) }), []);
  assert.deepEqual(brokenRules({ database: deleted }), [wrong], 'without a deletion');
  assert.deepEqual(
    brokenRules({ database: deleted, calls: plus(gone) }),
    [wrong],
    'its user was deleted, not the hook',
  );
  const withUser = databaseWithHook({ endedReason: 'user_deleted' });
  assert.deepEqual(brokenRules({ database: withUser, calls: plus(gone) }), []);
  assert.deepEqual(brokenRules({ database: withUser, calls: plus(ended) }), [wrong], 'the user was not deleted');
  assert.deepEqual(brokenRules({ calls: plus(ended) }), [wrong], 'its end was acknowledged');
  assert.deepEqual(brokenRules({ calls: plus(ended, back) }), []);
  assert.deepEqual(
    brokenRules({ database: deleted, calls: plus(ended, back) }),
    [wrong],
    'its return was acknowledged',
  );
  const late: ClientCall = { ...ended, answeredAt: 45 };
  assert.deepEqual(brokenRules({ database: deleted, calls: plus(late, back) }), [], 'the order of both is unknown');
});

test('one occurrence is one delivery for each hook', () => {
  const anew = arrivalOf(2, 50, { deliveryId: '7' });
  assert.deepEqual(brokenRules({ arrivals: [...consistentHistory.arrivals, anew] }), ['unexplained duplicate']);
});

const arrival = (
  deliveryId: string,
  at: number,
  answer: number | undefined = 200,
  answeredAt: number | undefined = at + 1,
) => ({
  path: '/events',
  deliveryId,
  body: '',
  at,
  answeredAt,
  answer,
});
const crashAt = (at: number, ...pending: readonly string[]) => ({ at, pending: new Set(pending), fates: new Map() });

test('a delivery may be duplicated if it was in flight or uncommitted at a kill', () => {
  const arrivals = [
    arrival('1', 9_990),
    arrival('2', 9_991, 500),
    arrival('3', 9_992, 200, 10_005),
    arrival('1', 10_010),
  ];
  const seen = checkDuplicates(arrivals, [crashAt(10_000, '1', '2', '3')]);
  assert.deepEqual(seen, {
    duplicateCount: 1,
    inFlight: 1,
    uncommitted: 1,
    uncommittedLate: 0,
    timedOutAfterPause: 0,
    broken: [],
  });
  const none = checkDuplicates(arrivals.slice(0, 3), [crashAt(10_000, '2')]);
  assert.deepEqual(none, {
    duplicateCount: 0,
    inFlight: 0,
    uncommitted: 0,
    uncommittedLate: 0,
    timedOutAfterPause: 0,
    broken: [],
  });
});

test('a response after the kill counts as in flight, also if its connection broke', () => {
  const arrivals = [
    arrival('1', 9_700, 200, 9_800),
    arrival('2', 9_990, 200, 9_998),
    arrival('3', 9_991, undefined, 9_999),
  ];
  const dead = { ...crashAt(10_000, '1', '2', '3'), killedAt: 9_995 };
  const seen = checkDuplicates(arrivals, [dead]);
  assert.deepEqual(seen, {
    duplicateCount: 0,
    inFlight: 2,
    uncommitted: 1,
    uncommittedLate: 1,
    timedOutAfterPause: 0,
    broken: [],
  });
});

test('a duplicate without a kill is reported', () => {
  const { broken } = checkDuplicates([arrival('1', 10), arrival('1', 20)], [crashAt(15)]);
  assert.deepEqual(broken, ['C20 1 duplicates; 0 were in flight or uncommitted, and 0 timed out after a pause']);
});

test('a result long before the kill must be committed, and each hook has a maximum of duplicates', () => {
  const forgotten = checkDuplicates([arrival('4', 10)], [crashAt(10_000, '4')]);
  assert.deepEqual(forgotten.broken, ['C20 answered long before, and not committed: 4']);
  assert.deepEqual(
    checkDuplicates([arrival('4', 10)], [crashAt(20), crashAt(10_000, '4')]).broken,
    [],
    'of an earlier process',
  );
  const ids = Array.from({ length: 137 }, (_, index) => String(index));
  const many = (pending: readonly string[]) =>
    checkDuplicates(
      ids.map((id) => arrival(id, 9_990)),
      [crashAt(10_000, ...pending)],
    ).broken;
  assert.deepEqual(many(ids.slice(1)), []);
  assert.deepEqual(many(ids), ['C20 more than can be in flight or uncommitted: /events, 137']);
});

test('after a pause only deliveries without a response may be repeated', () => {
  const pause = { from: 100, stoppedAt: 101, to: 200 };
  const during = checkDuplicates([arrival('1', 99, 200, 150), arrival('1', 210)], [], [pause]);
  assert.equal(during.broken.length, 1);
  const after = checkDuplicates([arrival('1', 99, 200, 205), arrival('1', 210)], [], [pause]);
  assert.deepEqual([after.timedOutAfterPause, after.broken], [1, []]);
});

/** A history in which a hook for the whole account received three entries of the feed, which two users caused. */
function feedHistory(): History {
  const place = (position: number, projectId = '0', previousProjectId = '0', fields = '') => ({
    ...{ domain: 'acme.test', position, projectId, previousProjectId, fields },
  });
  const teamHook = { ...hook, kind: '*', scope: 'account', projectId: '0', domain: 'acme.test' };
  const about = (cursor: string, kind: string, fields = '-') => ({ about: { cursor, kind, fields } });
  return {
    ...consistentHistory,
    calls: [
      { ...subscribeCall, kind: '*', scope: 'account', positionBefore: 0, positionAfter: 0 } as ClientCall,
      createdCall(1, 10),
      createdCall(2, 20, { userId: '2' }),
    ],
    arrivals: [
      arrivalOf(1, 12, about('1', 'new_event')),
      arrivalOf(2, 22, about('2', 'new_event')),
      arrivalOf(1, 32, { deliveryId: '3', ...about('3', 'changed_event', 'due_date,project_id') }),
    ],
    database: {
      ...consistentHistory.database,
      occurrences: [
        { ...occurrenceOf(1), place: place(1) },
        { ...occurrenceOf(2), userId: '2', place: place(2) },
        { ...occurrenceOf(1), kind: 'changed_event', userId: '2', place: place(3, '5', '0', 'due_date,project_id') },
      ],
      hooks: [teamHook],
    },
  };
}

test('a hook that received anything else than the feed says is reported, for each scope and after each change', () => {
  const base = feedHistory();
  const [, ...others] = base.calls;
  const [first, second, third] = base.arrivals as [Arrival, Arrival, Arrival];
  const rule = 'differs from the feed';
  const count = (change: Partial<History>) => check({ ...base, ...change }).filter(({ what }) => what === rule).length;
  const asHook = (scope: string, projectId = '0', kind = '*') => ({
    calls: [{ ...base.calls[0], scope, projectId, kind } as ClientCall, ...others],
    database: { ...base.database, hooks: base.database.hooks.map((one) => ({ ...one, scope, projectId, kind })) },
  });
  assert.deepEqual(check(base), []);
  assert.equal(count({ arrivals: [first, second] }), 1, 'an entry is missing');
  assert.equal(count({ arrivals: [first, second, third, arrivalOf(9, 40)] }), 1, 'an entry is not in the feed');
  const changedFields = { ...third, about: { cursor: '3', kind: 'changed_event', fields: 'due_date' } };
  assert.equal(count({ arrivals: [first, second, changedFields] }), 1, 'other fields');
  assert.deepEqual([count({ ...asHook('own'), arrivals: [first] }), count(asHook('own'))], [0, 2]);
  assert.deepEqual([count({ ...asHook('project', '5'), arrivals: [third] }), count(asHook('project', '5'))], [0, 2]);
  assert.equal(count({ ...asHook('account', '0', 'new_event'), arrivals: [first, second] }), 0);
  const roleLoss = { did: 'role', userId: '1', isAdmin: false, askedAt: 25, answeredAt: 26 } as const;
  const calls = [...base.calls, { ...roleLoss, positionBefore: 2, positionAfter: 2 }];
  assert.equal(count({ calls }), 1, 'a former admin');
  assert.equal(count({ calls: [...base.calls, { ...roleLoss, positionBefore: 2, positionAfter: 3 }] }), 0, 'meanwhile');
  const change = {
    did: 'change',
    path: '/a',
    askedAt: 25,
    answeredAt: 26,
    positionBefore: 2,
    positionAfter: 2,
  } as const;
  const narrowed = { ...change, subscription: { kind: 'deleted_event' } };
  assert.equal(count({ calls: [...base.calls, narrowed] }), 1, 'a kind that it does not report any more');
});

test('a notification of a disabled hook or to a former target is reported, and a replay that sends nothing', () => {
  const base = feedHistory();
  const rules = (calls: readonly ClientCall[], arrivals = base.arrivals) =>
    check({ ...base, calls: [...base.calls, ...calls], arrivals }).map(({ what }) => what);
  const change = { did: 'change', path: '/a', askedAt: 25, answeredAt: 26 } as const;
  const [first, second, third] = base.arrivals as [Arrival, Arrival, Arrival];
  assert.deepEqual(rules([{ ...change, enabled: false }]), ['delivered against the settings']);
  assert.deepEqual(
    rules([
      { ...change, enabled: false },
      { ...change, enabled: true, askedAt: 28, answeredAt: 29 },
    ]),
    [],
  );
  assert.ok(rules([{ ...change, query: '?2' }]).includes('delivered against the settings'));
  assert.deepEqual(rules([{ ...change, query: '?2' }], [first, second, { ...third, query: '?2' }]), []);
  const replay = { did: 'replay', path: '/a', askedAt: 200, answeredAt: 201 } as const;
  assert.deepEqual(new Set(rules([replay])), new Set(['requested and not delivered']));
  const again = base.arrivals.map((one) => ({ ...one, at: one.at + 200, answeredAt: (one.answeredAt ?? 0) + 200 }));
  assert.deepEqual(rules([replay], [...base.arrivals, ...again]), []);
  const failed = again.map((one) => ({ ...one, answer: 500 }));
  assert.deepEqual(rules([replay], [...base.arrivals, ...failed]), []);
  assert.ok(rules([], [...base.arrivals, ...again]).includes('unexplained duplicate'));
});
