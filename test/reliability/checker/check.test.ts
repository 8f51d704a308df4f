import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from './check.ts';
import { checkDuplicates } from './duplicate-budget.ts';
import type { Arrival, Call, Crash, History } from './history.ts';

const at = (id: number) => `http://127.0.0.1/v2/events/${id}`;
const created = (id: number, askedAt: number, more: Partial<Call> = {}): Call =>
  ({
    did: 'occur',
    kind: 'new_event',
    userId: '1',
    record: at(id),
    word: `w${id}`,
    askedAt,
    answeredAt: askedAt + 1,
    ...more,
  }) as Call;
const delivered = (id: number, moment: number, more: Partial<Arrival> = {}): Arrival => ({
  path: '/a',
  deliveryId: String(id),
  body: JSON.stringify({ resource_url: at(id) }),
  at: moment,
  answeredAt: moment + 1,
  answer: 200,
  fetched: 200,
  ...more,
});
const subscribed: Call = {
  did: 'subscribe',
  path: '/a',
  kind: 'new_event',
  userId: '1',
  askedAt: 0,
  answeredAt: 1,
};
const occurrence = (id: number) => ({ kind: 'new_event', userId: '1', record: at(id) });
const hook = { path: '/a', kind: 'new_event', userId: '1', endedReason: null };
const crash = (moment: number, pending: readonly string[], fate: 0 | 1 | 2 = 0): Crash => ({
  at: moment,
  pending: new Set(pending),
  fates: new Map([['/a', fate]]),
});

/** The history of a run with two events, both acknowledged, stored and delivered. */
const consistent: History = {
  calls: [subscribed, created(1, 10), created(2, 20)],
  arrivals: [delivered(1, 12), delivered(2, 22)],
  database: {
    records: new Map([
      [at(1), 'w1'],
      [at(2), 'w2'],
    ]),
    occurrences: [occurrence(1), occurrence(2)],
    hooks: [hook],
    pending: 0,
  },
  crashes: [],
  waitsMs: [60, 7_200],
  settlesWithinMs: 50,
};
const rulesBroken = (change: Partial<History>): string[] => check({ ...consistent, ...change }).map(({ what }) => what);
const failing = (id: number, moment: number, answer: number | undefined = 500) => delivered(id, moment, { answer });
const withHook = (change: Partial<typeof hook> | { endedReason: string }): History['database'] => ({
  ...consistent.database,
  hooks: [{ ...hook, ...change }],
});

test('a consistent history has no faults, also with a failure, a crash or a lost response', () => {
  assert.deepEqual(check(consistent), []);
  assert.deepEqual(rulesBroken({ arrivals: [failing(1, 12), delivered(1, 100), delivered(2, 102)] }), []);
  const over = [delivered(1, 12), delivered(2, 22, { answer: undefined, answeredAt: 60 }), delivered(2, 102)];
  assert.deepEqual(rulesBroken({ arrivals: over, crashes: [crash(50, ['2'])] }), []);
  const unanswered = created(2, 20, { record: undefined, answeredAt: undefined });
  assert.deepEqual(rulesBroken({ calls: [subscribed, created(1, 10), unanswered] }), []);
});

test('an acknowledged record or deletion that the database does not contain is reported as lost', () => {
  const { database } = consistent;
  const one = new Map([[at(1), 'w1']]);
  assert.deepEqual(
    rulesBroken({
      database: { ...database, records: one, occurrences: [occurrence(1)] },
      arrivals: [delivered(1, 12)],
    }),
    ['acknowledged and lost'],
  );
  const without = { database: { ...database, occurrences: [occurrence(1)] }, arrivals: [delivered(1, 12)] };
  assert.deepEqual(rulesBroken(without), ['acknowledged and lost'], 'a record without its occurrence');
  const same = { calls: [...consistent.calls, created(2, 50, { word: 'w3' })] };
  assert.deepEqual(rulesBroken(same), ['acknowledged and lost', 'without a request'], 'an id that was issued twice');
  const gone: Call = { did: 'delete', record: at(2), askedAt: 30, answeredAt: 31 };
  const ended = { ...occurrence(2), kind: 'deleted_event' };
  const deleted = { ...database, records: one, occurrences: [...database.occurrences, ended] };
  assert.deepEqual(rulesBroken({ database: deleted, calls: [...consistent.calls, gone] }), []);
  assert.deepEqual(
    rulesBroken({ database: { ...database, records: one }, calls: [...consistent.calls, gone] }),
    ['acknowledged and lost'],
    'a deletion without its occurrence',
  );
  assert.deepEqual(rulesBroken({ calls: [...consistent.calls, gone] }), ['acknowledged and lost'], 'a deletion');
});

test('an occurrence that a live hook did not receive is reported, and so are pending deliveries at the end', () => {
  assert.deepEqual(rulesBroken({ arrivals: [delivered(1, 12)] }), ['pending and not delivered']);
  assert.deepEqual(rulesBroken({ database: { ...consistent.database, pending: 1 } }), ['still pending at the end']);
  const cutOff = created(2, 20, { record: undefined, answeredAt: undefined });
  assert.deepEqual(rulesBroken({ calls: [subscribed, created(1, 10), cutOff], arrivals: [delivered(1, 12)] }), [
    'pending and not delivered',
  ]);
  const late: Call = { ...subscribed, askedAt: 15, answeredAt: 16 };
  const calls = [late, created(1, 10), created(2, 20)];
  assert.deepEqual(
    rulesBroken({ calls, arrivals: [delivered(2, 22)] }),
    [],
    'an occurrence from before the hook is not delivered',
  );
  assert.deepEqual(rulesBroken({ calls }), ['delivered to the wrong hook']);
});

test('a notification of a missing or unfetchable record, to the wrong hook, or with a wrong body is reported', () => {
  assert.deepEqual(rulesBroken({ arrivals: [...consistent.arrivals, delivered(3, 30)] }), [
    'delivered without a record',
  ]);
  assert.deepEqual(rulesBroken({ arrivals: [delivered(1, 12, { fetched: 404 }), delivered(2, 22)] }), [
    'delivered before it could be fetched',
  ]);
  const another = { ...consistent.database, hooks: [hook, { ...hook, path: '/b', userId: '2' }] };
  const there: Call = { ...subscribed, path: '/b', userId: '2' };
  const heard = delivered(1, 12, { path: '/b', deliveryId: '9' });
  const wrong = { database: another, calls: [...consistent.calls, there], arrivals: [...consistent.arrivals, heard] };
  assert.deepEqual(rulesBroken(wrong), ['delivered to the wrong hook']);
  const ofAnother = { ...consistent.database, occurrences: [occurrence(1), { ...occurrence(2), userId: '2' }] };
  const mistaken = { database: ofAnother, arrivals: [delivered(1, 12)] };
  assert.deepEqual(rulesBroken(mistaken), ['delivered to the wrong hook'], 'the occurrence has the wrong user');
  const more = delivered(2, 22, { body: `{"resource_url":"${at(2)}","kind":"new_event"}` });
  assert.ok(rulesBroken({ arrivals: [delivered(1, 12), more] }).includes('malformed notification'));
});

test('a duplicate is allowed only after a failure, or after a crash that left the delivery pending', () => {
  assert.deepEqual(rulesBroken({ arrivals: [...consistent.arrivals, delivered(2, 30)] }), ['unexplained duplicate']);
  assert.deepEqual(
    rulesBroken({ arrivals: [...consistent.arrivals, delivered(2, 30)], crashes: [crash(25, ['2'])] }),
    [],
  );
  assert.deepEqual(rulesBroken({ arrivals: [...consistent.arrivals, delivered(2, 30)], crashes: [crash(25, [])] }), [
    'unexplained duplicate',
  ]);
  assert.deepEqual(
    rulesBroken({ arrivals: [...consistent.arrivals, delivered(2, 90)], crashes: [crash(85, ['2'])] }),
    ['unexplained duplicate'],
    'a result so long before the crash is committed',
  );
  const deadSince = (killedAt: number) => ({
    arrivals: [...consistent.arrivals, delivered(2, 90)],
    crashes: [{ ...crash(85, ['2']), killedAt }],
  });
  assert.deepEqual(rulesBroken(deadSince(60)), [], 'killed long before the crash was noticed');
  assert.deepEqual(rulesBroken(deadSince(80)), ['unexplained duplicate'], 'killed too late to lose the result');
  const both = [delivered(1, 12), delivered(2, 22, { answeredAt: 40 }), delivered(2, 30, { answeredAt: 41 })];
  assert.deepEqual(rulesBroken({ arrivals: both }), ['unexplained duplicate'], 'two attempts in flight');
});

test('a delivery after the response to a DELETE is reported', () => {
  const ended: Call = { did: 'unsubscribe', path: '/a', askedAt: 19, answeredAt: 21 };
  const change = { calls: [...consistent.calls, ended], database: withHook({ endedReason: 'deleted' }) };
  assert.deepEqual(rulesBroken(change), ['delivered after the end of the hook']);
  assert.deepEqual(rulesBroken({ ...change, arrivals: [delivered(1, 12), delivered(2, 20)] }), []);
  const again: Call = { did: 'restore', path: '/a', askedAt: 21, answeredAt: 22 };
  assert.deepEqual(rulesBroken({ ...change, calls: [...change.calls, again] }), []);
});

test('a hook ends at its third failure in a row or its first 401, and for no other reason', () => {
  const wrong = 'hook state differs from the state table';
  const three = [failing(1, 100), failing(1, 200), failing(1, 8_000)];
  const ended = { database: withHook({ endedReason: 'three_failures' }) };
  assert.deepEqual(rulesBroken({ ...ended, arrivals: three }), []);
  assert.deepEqual(rulesBroken({ ...ended, arrivals: three.slice(1) }), [wrong], 'ended after two failures');
  assert.ok(rulesBroken({ arrivals: three }).includes(wrong), 'live after three failures');
  assert.ok(
    rulesBroken({ ...ended, arrivals: [...three, failing(1, 9_000)] }).includes(wrong),
    'an attempt after the third failure',
  );
  const recovered = [failing(1, 100), failing(1, 200), delivered(1, 8_000), failing(2, 8_010), delivered(2, 8_100)];
  assert.deepEqual(rulesBroken({ arrivals: recovered }), []);
  assert.deepEqual(rulesBroken({ ...ended, arrivals: recovered }), [wrong], 'a 200 resets the count');
  assert.deepEqual(
    rulesBroken({ database: withHook({ endedReason: 'answered_401' }), arrivals: [failing(1, 12, 401)] }),
    [],
  );
  assert.deepEqual(
    rulesBroken({ ...ended, arrivals: [failing(1, 100), failing(1, 120), failing(1, 8_000)] }),
    [wrong],
    'a retry during the backoff',
  );
  const earned = delivered(3, 90);
  const burst = [
    earned,
    failing(1, 100),
    delivered(2, 100.5, { answer: 500, answeredAt: 130 }),
    delivered(1, 200),
    delivered(2, 202),
  ];
  const ofThree = {
    calls: [...consistent.calls, created(3, 10)],
    database: {
      ...consistent.database,
      records: new Map([...consistent.database.records, [at(3), 'w3']]),
      occurrences: [...consistent.database.occurrences, occurrence(3)],
    },
  };
  assert.deepEqual(rulesBroken({ ...ofThree, arrivals: burst }), [], 'attempts in flight at a failure are part of it');
  const other = [failing(1, 12), delivered(2, 100), delivered(1, 102)];
  assert.deepEqual(rulesBroken({ arrivals: other }), [wrong], 'another delivery is sent before the retry');
});

test('an attempt that a crash cuts off is no failure', () => {
  const cut = delivered(1, 12, { answer: undefined, answeredAt: 40 });
  const change = { arrivals: [cut, delivered(1, 50), delivered(2, 52)], crashes: [crash(20, ['1', '2'])] };
  assert.deepEqual(rulesBroken(change), []);
  const counted = { ...change, crashes: [crash(20, ['1', '2'], 1)] };
  assert.deepEqual(rulesBroken(counted), ['hook state differs from the state table'], 'the failure was counted');
  const elsewhere = { ...crash(20, ['1', '2']), fates: new Map([['/b', 0]]) };
  const other = { ...change, crashes: [elsewhere] };
  assert.deepEqual(
    rulesBroken(other),
    ['hook state differs from the state table'],
    'a crash of a process that delivers for another hook',
  );
});

test('a missing response during a pause is no failure, and a response during a pause is known at its end', () => {
  const pauses = [{ from: 100, stoppedAt: 102, to: 200 }];
  const unanswered = (moment: number, end: number) => delivered(1, moment, { answer: undefined, answeredAt: end });
  const then = (...arrivals: Arrival[]) =>
    rulesBroken({ pauses, maxResultDelayMs: 5, arrivals: [...arrivals, delivered(2, 400)] });
  const [during, twice] = [unanswered(99, 150), [failing(1, 270), failing(1, 350)]];
  const all = [during, ...twice];
  assert.deepEqual(
    rulesBroken({ pauses, waitsMs: [60, 70], arrivals: [...all, delivered(1, 430), delivered(2, 440)] }),
    [],
  );
  const ended = { ...withHook({ endedReason: 'three_failures' }), pending: 0 };
  assert.deepEqual(rulesBroken({ pauses, waitsMs: [60, 70], database: ended, arrivals: all }), [
    'hook state differs from the state table',
  ]);
  assert.deepEqual(then(during, delivered(1, 210)), [], 'retried before a backoff could be over');
  assert.deepEqual(
    then(unanswered(90, 95), delivered(1, 210)),
    [],
    'ended so shortly before the pause that its result may be unknown',
  );
  assert.deepEqual(then(unanswered(80, 90), delivered(1, 110)), ['hook state differs from the state table']);
  assert.deepEqual(then(delivered(1, 99, { answeredAt: 150 }), delivered(1, 210)), ['unexplained duplicate']);
  assert.deepEqual(then(delivered(1, 99, { answeredAt: 210 }), delivered(1, 220)), [], 'timed out before the response');
  const burst = [failing(1, 99, 500), delivered(2, 203, { answer: 500 })];
  assert.deepEqual(
    rulesBroken({ pauses, maxResultDelayMs: 5, arrivals: [...burst, delivered(1, 300), delivered(2, 302)] }),
    [],
    'known only after the pause',
  );
});

test('a kill soon after a failure may lose it, however late the kill is noticed', () => {
  const arrivals = [failing(1, 12), delivered(1, 92), delivered(2, 94)];
  const deadSince = (killedAt: number) => ({ arrivals, crashes: [{ ...crash(90, ['1', '2']), killedAt }] });
  assert.deepEqual(rulesBroken(deadSince(40)), []);
  assert.deepEqual(
    rulesBroken(deadSince(80)),
    ['hook state differs from the state table'],
    'killed long after the failure',
  );
});

test('a failure that a crash lost counts when it is repeated, however soon', () => {
  const arrivals = [failing(1, 10), delivered(2, 12), failing(1, 60), failing(1, 200), delivered(1, 6_000)];
  const over = (fate: 1 | 2) => ({ crashes: [crash(20, ['1']), crash(5_000, ['1'], fate)] });
  const change = { arrivals, maxResultDelayMs: 80, waitsMs: [] };
  assert.deepEqual(rulesBroken({ ...change, ...over(2) }), []);
  assert.deepEqual(rulesBroken({ ...change, ...over(1) }), ['hook state differs from the state table']);
});

test('a failing hook has one attempt in flight, a healthy one up to eight, and a retry is not late', () => {
  const wrong = 'hook state differs from the state table';
  const retried = failing(1, 12);
  const beside = [retried, delivered(1, 100, { answeredAt: 130 }), delivered(2, 110, { answeredAt: 131 })];
  assert.deepEqual(
    rulesBroken({ arrivals: beside }),
    [wrong, wrong],
    'two in flight while it fails, the second of another delivery',
  );
  const many = (before: number, atOnce: number) => ({
    calls: [subscribed, ...Array.from({ length: before + atOnce }, (_, id) => created(id, 10))],
    arrivals: Array.from({ length: before + atOnce }, (_, id) =>
      id < before
        ? delivered(id, 20 + id, { answeredAt: 20.5 + id })
        : delivered(id, 60 + id / 100, { answeredAt: 70 }),
    ),
    database: {
      ...consistent.database,
      records: new Map(Array.from({ length: before + atOnce }, (_, id) => [at(id), `w${id}`])),
      occurrences: Array.from({ length: before + atOnce }, (_, id) => occurrence(id)),
    },
  });
  assert.deepEqual(rulesBroken(many(7, 8)), []);
  assert.deepEqual(rulesBroken(many(9, 9)), [wrong]);
  assert.deepEqual(rulesBroken(many(2, 4)), [wrong], 'more in flight than its 200s allow');
  const late = [retried, delivered(1, 90), delivered(2, 92)];
  assert.deepEqual(rulesBroken({ arrivals: late, calmFrom: 0 }), [wrong], 'later than the maximum jitter');
  assert.deepEqual(rulesBroken({ arrivals: late, calmFrom: 50 }), [], 'while faults may delay the retry');
  const patient = [failing(1, 12, 429), delivered(1, 88.5), delivered(2, 92)].map((one) => ({
    ...one,
    retryAfterMs: 75,
  }));
  assert.deepEqual(rulesBroken({ arrivals: patient, calmFrom: 0 }), []);
  const hurried = [{ ...failing(1, 12, 429), retryAfterMs: 100 }, delivered(1, 90), delivered(2, 92)];
  assert.deepEqual(rulesBroken({ arrivals: hurried }), [wrong], 'before Retry-After');
  const wallOf = (moment: number) => (moment > 50 ? moment - 3_600 : moment);
  assert.deepEqual(rulesBroken({ arrivals: [retried, delivered(1, 3_700), delivered(2, 3_702)], wallOf }), []);
  assert.deepEqual(rulesBroken({ arrivals: late, wallOf }), [wrong], 'the wall clock was set back');
});

test('while it is uncertain whether a failure counted, each attempt must fit one of both states', () => {
  const wrong = 'hook state differs from the state table';
  const ids = [0, 1, 2, 3, 4, 5, 6, 7];
  const again: Call = { did: 'restore', path: '/a', askedAt: 15, answeredAt: 16 };
  const once: Call = { did: 'redeliver', deliveryId: '0', askedAt: 30, answeredAt: 30.5 };
  const concurrent = [delivered(1, 30, { answeredAt: 40 }), delivered(2, 30.1, { answeredAt: 40.1 })];
  // This failure is a scheduled attempt after the restore, or the redelivery. Only the service knows whether it
  // counts.
  const doubtful = delivered(0, 31, { answer: 500, answeredAt: 35 });
  const atOnce = ids.slice(4).map((id) => delivered(id, 50 + id / 100, { answeredAt: 60 }));
  const sent = (...arrivals: Arrival[]) =>
    rulesBroken({
      calls: [subscribed, ...ids.map((id) => created(id, 17)), again, once],
      arrivals: [delivered(0, 20), doubtful, ...arrivals, ...atOnce],
      database: {
        ...consistent.database,
        records: new Map(ids.map((id) => [at(id), `w${id}`])),
        occurrences: ids.map(occurrence),
      },
    });
  assert.deepEqual(sent(...concurrent, delivered(3, 40.5)), [], 'no failure: five in flight are allowed');
  const failed = concurrent.map((one) => ({ ...one, answer: 500 }));
  assert.ok(sent(...failed, delivered(3, 40.5)).includes(wrong), 'four in flight after two 200s');
  assert.deepEqual(sent(...concurrent, delivered(3, 36)), [wrong], 'three in flight, where one or two are allowed');
});

test('a failure that started before an uncertain one may count itself', () => {
  const again: Call = { did: 'restore', path: '/a', askedAt: 15, answeredAt: 16 };
  const once: Call = { did: 'redeliver', deliveryId: '0', askedAt: 30, answeredAt: 30.5 };
  // The first failure is a scheduled attempt of the restored hook, or the redelivery. The 200 starts after that
  // failure, and finishes before the second failure, which was in flight at the same time.
  const doubtful = delivered(0, 31, { answer: 500, answeredAt: 35 });
  const heard = delivered(1, 36, { answeredAt: 38 });
  const beside = delivered(2, 29, { answer: 500, answeredAt: 40 });
  const ids = [0, 1, 2];
  const standsAt = (fate: 0 | 1 | 2, ...arrivals: Arrival[]) =>
    rulesBroken({
      calls: [subscribed, again, ...ids.map((id) => created(id, 17)), once],
      arrivals: [delivered(0, 20), ...arrivals, delivered(2, 120)],
      crashes: [crash(100, ['2'], fate)],
      database: {
        ...consistent.database,
        records: new Map(ids.map((id) => [at(id), `w${id}`])),
        occurrences: ids.map(occurrence),
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
  const ended: Call = { did: 'unsubscribe', path: '/a', askedAt: 19, answeredAt: 21 };
  const again: Call = { did: 'restore', path: '/a', askedAt: 25, answeredAt: 26 };
  const calls = [...consistent.calls, ended, again];
  const late = delivered(2, 15, { answer: 401, answeredAt: 30 });
  const arrivals = [delivered(1, 12), late, delivered(2, 40)];
  assert.deepEqual(rulesBroken({ calls, arrivals }), []);
  const fenced = { calls, arrivals, database: withHook({ endedReason: 'answered_401' }) };
  assert.deepEqual(rulesBroken(fenced), [wrong], 'the late response ended the hook');
  const three = [failing(2, 40), failing(2, 200), failing(2, 8_000)];
  const long = { ...again, askedAt: 100, answeredAt: 101 } as Call;
  assert.deepEqual(
    rulesBroken({
      calls: [...consistent.calls, ended, long],
      arrivals: [delivered(1, 12), delivered(2, 19), delivered(2, 120)],
    }),
    ['unexplained duplicate'],
    'a delivery so long before the restore is finalized',
  );
  const removed = {
    calls,
    arrivals: [delivered(1, 12), ...three],
    database: withHook({ endedReason: 'three_failures' }),
  };
  assert.deepEqual(rulesBroken(removed), []);
  assert.deepEqual(
    rulesBroken({ ...removed, arrivals: [delivered(1, 12), ...three.slice(1)] }),
    [wrong],
    'ended after two failures',
  );
});

test('a delivery with a late 200 from before the end is not retried', () => {
  const ended: Call = { did: 'unsubscribe', path: '/a', askedAt: 19, answeredAt: 21 };
  const again: Call = { did: 'restore', path: '/a', askedAt: 25, answeredAt: 26 };
  const twice = [delivered(1, 15, { answeredAt: 30 }), failing(1, 26.5, 429), delivered(2, 200)];
  const calls = [...consistent.calls, ended, again];
  assert.deepEqual(rulesBroken({ calls, arrivals: twice }), []);
  const failed = [delivered(1, 15, { answer: 500, answeredAt: 30 }), ...twice.slice(1), delivered(1, 210)];
  assert.deepEqual(
    rulesBroken({ calls, arrivals: failed }),
    ['hook state differs from the state table'],
    'it was not delivered',
  );
});

test('a manual attempt counts no failure and ignores the backoff, and a test is sent only on request', () => {
  const own = 'http://127.0.0.1/v2/hooks/1';
  const database = withHook({ address: own } as Partial<typeof hook>);
  const asked: Call = { did: 'test', path: '/a', askedAt: 30, answeredAt: 31 };
  const test = delivered(9, 32, { answer: 500, body: JSON.stringify({ resource_url: own }) });
  const arrivals = [failing(1, 12), test, delivered(1, 100), delivered(2, 102)];
  assert.deepEqual(rulesBroken({ database, calls: [...consistent.calls, asked], arrivals }), []);
  assert.ok(rulesBroken({ database, arrivals }).includes('delivered to the wrong hook'));
  const pending = { calls: [...consistent.calls, asked], arrivals, crashes: [crash(31, ['1', '9'], 1)] };
  const ended = { ...database, hooks: database.hooks.map((one) => ({ ...one, endedReason: 'three_failures' })) };
  assert.deepEqual(rulesBroken({ ...pending, database }), []);
  const wrong = 'hook state differs from the state table';
  assert.deepEqual(rulesBroken({ ...pending, database: ended }), [wrong], 'a test stays a test after a crash');
  const once: Call = { did: 'redeliver', deliveryId: '1', askedAt: 30, answeredAt: 31 };
  const more = [...consistent.arrivals, failing(1, 32), failing(1, 34), failing(1, 36)];
  assert.deepEqual(rulesBroken({ calls: [...consistent.calls, once, once, once], arrivals: more }), []);
  const refused = { calls: [...consistent.calls, once], arrivals: [...consistent.arrivals, failing(1, 32, 401)] };
  assert.deepEqual(rulesBroken({ ...refused, database: withHook({ endedReason: 'answered_401' }) }), []);
  assert.deepEqual(rulesBroken(refused), [wrong], 'a 401 to a manual attempt ends the hook');
  const again = 'unexplained duplicate';
  assert.deepEqual(
    rulesBroken({ calls: [...consistent.calls, once, once], arrivals: more }),
    [again],
    'a request is one attempt',
  );
  const cut = { calls: [...consistent.calls, once, once], arrivals: more, crashes: [crash(35.5, [])] };
  assert.deepEqual(rulesBroken(cut), [], 'and is repeated if a crash cuts it off');
  const seenLate = { ...crash(200, []), killedAt: 35.5 };
  assert.deepEqual(rulesBroken({ ...cut, crashes: [seenLate] }), [], 'however late the crash was noticed');
  assert.deepEqual(rulesBroken({ ...cut, crashes: [{ ...seenLate, killedAt: 199 }] }), [again], 'but not long after');
  assert.deepEqual(rulesBroken({ calls: [...consistent.calls, once] }), ['requested and not delivered']);
  const tests = [...arrivals.slice(0, 2), { ...test, at: 50, answeredAt: 51 }, ...arrivals.slice(2)];
  assert.deepEqual(
    rulesBroken({ database, calls: [...consistent.calls, asked], arrivals: tests }),
    [again],
    'a failed test',
  );
  const heard = { ...asked, deliveryId: '9' } as Call;
  assert.deepEqual(rulesBroken({ database, calls: [...consistent.calls, heard], arrivals }), []);
  assert.deepEqual(rulesBroken({ database, calls: [...consistent.calls, heard] }), ['requested and not delivered']);
});

test('every record and occurrence has exactly one request with the same word', () => {
  const stray = 'without a request';
  const { database } = consistent;
  const more = (id: number, word: string) => ({
    records: new Map([...database.records, [at(id), word]]),
    occurrences: [...database.occurrences, occurrence(id)],
  });
  const heard = [...consistent.arrivals, delivered(3, 32)];
  const nobody = { ...database, ...more(3, 'w3') };
  assert.deepEqual(rulesBroken({ database: nobody, arrivals: heard }), [stray, stray], 'without a request');
  const twice = { ...database, ...more(3, 'w2') };
  assert.deepEqual(rulesBroken({ database: twice, arrivals: heard }), [stray, stray], 'one call, two records');
  const cutOff = created(2, 20, { record: undefined, answeredAt: undefined });
  const calls = [subscribed, created(1, 10), cutOff];
  assert.deepEqual(rulesBroken({ calls, database: twice, arrivals: heard }), [stray], 'also if one has no response');
  const other = { ...database, records: new Map([...database.records, [at(2), 'another word']]) };
  assert.deepEqual(rulesBroken({ database: other }), [stray], 'with another word');
  const again = { ...database, occurrences: [...database.occurrences, occurrence(2)] };
  assert.deepEqual(rulesBroken({ database: again }), [stray], 'it occurred once');
  const ended = { ...database, occurrences: [...database.occurrences, { ...occurrence(2), kind: 'deleted_event' }] };
  assert.deepEqual(rulesBroken({ database: ended }), [stray], 'without a deletion');
  const asClient = created(2, 20, { kind: 'new_client', record: undefined, answeredAt: undefined });
  assert.deepEqual(
    rulesBroken({ calls: [subscribed, created(1, 10), asClient] }),
    [stray, stray],
    'as another resource',
  );
  const changed = { ...database, occurrences: [...database.occurrences, { ...occurrence(2), kind: 'changed_event' }] };
  assert.deepEqual(rulesBroken({ database: changed }), [], 'changes are not in the history');
});

test('a subtask that is completed with its task belongs to the user who completed the task', () => {
  const [task, subtask] = ['http://127.0.0.1/v2/tasks/1', 'http://127.0.0.1/v2/subtasks/1'];
  const calls: Call[] = [
    created(1, 1, { kind: 'new_task', record: task, word: 't' }),
    created(1, 2, { kind: 'new_subtask', record: subtask, word: 's', above: task }),
    created(1, 3, { kind: 'completed_task', record: task, word: 't' }),
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
  assert.deepEqual(rulesBroken(plus(own('completed_subtask', subtask))), []);
  assert.deepEqual(rulesBroken(plus(own('completed_subtask', subtask, '2'))), ['delivered to the wrong hook']);
  const alone = plus(own('completed_subtask', subtask));
  assert.deepEqual(
    rulesBroken({ ...alone, calls: calls.slice(0, 2) }),
    ['without a request', 'without a request'],
    'neither was completed',
  );
});

test('a hook exists as requested, and is live or ended as acknowledged', () => {
  const wrong = 'hook differs from its requests';
  const ended: Call = { did: 'unsubscribe', path: '/a', askedAt: 30, answeredAt: 31 };
  const gone: Call = { ...ended, withUser: true };
  const back: Call = { did: 'restore', path: '/a', askedAt: 40, answeredAt: 41 };
  const plus = (...calls: Call[]) => [...consistent.calls, ...calls];
  const none = { database: { ...consistent.database, hooks: [] } };
  assert.ok(rulesBroken(none).includes(wrong), 'it was acknowledged');
  const unsure: Call = { ...subscribed, path: '/b', answeredAt: undefined };
  assert.deepEqual(rulesBroken({ calls: plus(unsure) }), [], 'a request without a response may have had no effect');
  const second = { ...hook, path: '/b' };
  const two = { ...consistent.database, hooks: [hook, second] };
  assert.deepEqual(rulesBroken({ database: two, calls: plus(unsure) }), []);
  assert.deepEqual(rulesBroken({ database: two }), [wrong], 'without a request');
  assert.ok(rulesBroken({ database: withHook({ kind: 'new_client' }) }).includes(wrong), 'of another kind');
  assert.ok(rulesBroken({ database: withHook({ userId: '2' }) }).includes(wrong), 'of another user');
  const deleted = withHook({ endedReason: 'deleted' });
  assert.deepEqual(rulesBroken({ database: deleted, calls: plus(ended) }), []);
  assert.deepEqual(rulesBroken({ database: deleted }), [wrong], 'without a deletion');
  assert.deepEqual(
    rulesBroken({ database: deleted, calls: plus(gone) }),
    [wrong],
    'its user was deleted, not the hook',
  );
  const withUser = withHook({ endedReason: 'user_deleted' });
  assert.deepEqual(rulesBroken({ database: withUser, calls: plus(gone) }), []);
  assert.deepEqual(rulesBroken({ database: withUser, calls: plus(ended) }), [wrong], 'the user was not deleted');
  assert.deepEqual(rulesBroken({ calls: plus(ended) }), [wrong], 'its end was acknowledged');
  assert.deepEqual(rulesBroken({ calls: plus(ended, back) }), []);
  assert.deepEqual(
    rulesBroken({ database: deleted, calls: plus(ended, back) }),
    [wrong],
    'its return was acknowledged',
  );
  const late: Call = { ...ended, answeredAt: 45 };
  assert.deepEqual(rulesBroken({ database: deleted, calls: plus(late, back) }), [], 'the order of both is unknown');
});

test('one occurrence is one delivery for each hook', () => {
  const anew = delivered(2, 50, { deliveryId: '7' });
  assert.deepEqual(rulesBroken({ arrivals: [...consistent.arrivals, anew] }), ['unexplained duplicate']);
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
  assert.deepEqual(seen, { again: 1, inFlight: 1, unwritten: 1, unwrittenLate: 0, givenUp: 0, broken: [] });
  const none = checkDuplicates(arrivals.slice(0, 3), [crashAt(10_000, '2')]);
  assert.deepEqual(none, { again: 0, inFlight: 0, unwritten: 0, unwrittenLate: 0, givenUp: 0, broken: [] });
});

test('a response after the kill counts as in flight, also if its connection broke', () => {
  const arrivals = [
    arrival('1', 9_700, 200, 9_800),
    arrival('2', 9_990, 200, 9_998),
    arrival('3', 9_991, undefined, 9_999),
  ];
  const dead = { ...crashAt(10_000, '1', '2', '3'), killedAt: 9_995 };
  const seen = checkDuplicates(arrivals, [dead]);
  assert.deepEqual(seen, { again: 0, inFlight: 2, unwritten: 1, unwrittenLate: 1, givenUp: 0, broken: [] });
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
  assert.deepEqual([after.givenUp, after.broken], [1, []]);
});
