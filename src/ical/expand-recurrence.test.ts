import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc, ICAL } from '../../test/kit/packages.ts';
import { expandRule } from './expand-recurrence.ts';
import { parseRule } from './rule.ts';

const FROM_MS = Date.UTC(2026, 0);
const TO_MS = Date.UTC(2029, 0) - 1;

type Expansion = { readonly times: readonly string[]; readonly steps: number };

/** Expands a rule within three years. Returns its first times and the number of steps used. */
function expandText(text: string, start: string, { most = 60, maxSteps = Number.POSITIVE_INFINITY } = {}): Expansion {
  const rule = parseRule(text);
  assert.ok(rule !== undefined, text);
  let steps = 0;
  const trySpendSteps = (count: number) => {
    steps += count;
    return steps <= maxSteps;
  };
  const range = {
    seriesStartMs: Date.parse(`${start}Z`),
    untilMs: rule.until?.wallMs,
    fromMs: FROM_MS,
    toMs: TO_MS,
    trySpendSteps,
  };
  const times: string[] = [];
  for (const atMs of expandRule(rule, range)) {
    times.push(new Date(atMs).toISOString().slice(0, 16));
    if (times.length >= most) break;
  }
  return { times, steps };
}

test('X9 rules are expanded by RFC 5545, with week numbers, negative positions and BYSETPOS', () => {
  const rules: [string, string, string[]][] = [
    [
      'FREQ=MONTHLY;BYDAY=-1FR;COUNT=3',
      '2027-01-29T09:00',
      ['2027-01-29T09:00', '2027-02-26T09:00', '2027-03-26T09:00'],
    ],
    ['FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=2', '2028-01-31T09:00', ['2028-01-31T09:00', '2028-02-29T09:00']],
    ['FREQ=MONTHLY;BYMONTHDAY=31;COUNT=2', '2027-01-31T09:00', ['2027-01-31T09:00', '2027-03-31T09:00']],
    ['FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=2', '2026-02-13T09:00', ['2026-02-13T09:00', '2026-03-13T09:00']],
    [
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=2',
      '2027-01-29T09:00',
      ['2027-01-29T09:00', '2027-02-26T09:00'],
    ],
    ['FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO', '2020-12-28T09:00', ['2026-12-28T09:00']],
    ['FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO', '2026-01-05T09:00', ['2027-01-04T09:00', '2028-01-03T09:00']],
    ['FREQ=YEARLY;BYYEARDAY=-1,366', '2027-12-31T09:00', ['2027-12-31T09:00', '2028-12-31T09:00']],
    ['FREQ=YEARLY;BYDAY=20MO', '2026-05-18T09:00', ['2026-05-18T09:00', '2027-05-17T09:00', '2028-05-15T09:00']],
    [
      'FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,SU;COUNT=3',
      '2027-01-05T09:00',
      ['2027-01-05T09:00', '2027-01-17T09:00', '2027-01-19T09:00'],
    ],
    [
      'FREQ=WEEKLY;INTERVAL=2;WKST=MO;BYDAY=TU,SU;COUNT=3',
      '2027-01-05T09:00',
      ['2027-01-05T09:00', '2027-01-10T09:00', '2027-01-19T09:00'],
    ],
    [
      'FREQ=HOURLY;INTERVAL=5;COUNT=3',
      '2027-01-05T22:30',
      ['2027-01-05T22:30', '2027-01-06T03:30', '2027-01-06T08:30'],
    ],
    [
      'FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30;BYSETPOS=2,-1;COUNT=3',
      '2027-01-05T09:00',
      ['2027-01-05T09:30', '2027-01-05T17:30', '2027-01-06T09:30'],
    ],
    ['FREQ=YEARLY', '2024-02-29T09:00', ['2028-02-29T09:00']],
  ];
  for (const [text, start, times] of rules) {
    const { times: found } = expandText(text, start);
    assert.deepEqual(found, times, text);
  }
});

test('X9 rules of moderate cost have the same times as in another parser', () => {
  const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;
  const start = fc
    .date({ min: new Date('2026-01-01T00:00:00Z'), max: new Date('2027-12-31T00:00:00Z'), noInvalidDate: true })
    .map((date) => `${date.toISOString().slice(0, 10)}T09:00`);
  const interval = fc.integer({ min: 1, max: 5 });
  const rule = fc.oneof(
    fc.record({ every: interval }).map(({ every }) => `FREQ=DAILY;INTERVAL=${every}`),
    fc
      .tuple(interval, fc.subarray([...weekdays], { minLength: 1 }))
      .map(([every, days]) => `FREQ=WEEKLY;INTERVAL=${every};BYDAY=${days.join()}`),
    fc
      .tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom(...weekdays))
      .map(([nth, day]) => `FREQ=MONTHLY;BYDAY=${nth}${day}`),
    fc.integer({ min: 1, max: 28 }).map((day) => `FREQ=MONTHLY;BYMONTHDAY=${day}`),
    fc.integer({ min: 1, max: 12 }).map((month) => `FREQ=YEARLY;BYMONTH=${month};BYDAY=1MO`),
  );
  fc.assert(
    fc.property(rule, start, fc.integer({ min: 1, max: 30 }), (text, begin, count) => {
      const counted = `${text};COUNT=${count}`;
      const iterator = ICAL.Recur.fromString(counted).iterator(ICAL.Time.fromDateTimeString(`${begin}:00`));
      const theirs: string[] = [];
      for (let time = iterator.next(); time; time = iterator.next()) theirs.push(time.toString().slice(0, 16));
      assert.deepEqual(
        expandText(counted, begin).times,
        theirs.filter((time) => Date.parse(`${time}Z`) <= TO_MS),
      );
    }),
    { numRuns: 300 },
  );
});

test('X9 the work for any rule is bounded, mostly in proportion to the number of days', () => {
  const all = (most: number) => Array.from({ length: most }, (_, index) => index).join();
  const bombs: [string, string, number][] = [
    ['FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30', '2027-01-01T09:00', 200],
    ['FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30;BYHOUR=3', '1970-01-01T09:00', 200],
    ['FREQ=DAILY;INTERVAL=999999999', '1970-01-01T09:00', 10],
    ['FREQ=MONTHLY;INTERVAL=1200;BYDAY=5MO', '1900-02-05T09:00', 10],
    ['FREQ=YEARLY;INTERVAL=1000000000;BYWEEKNO=53', '2027-01-01T09:00', 400],
    ['FREQ=SECONDLY;INTERVAL=604800', '1970-01-01T00:00', 3_000],
    ['FREQ=SECONDLY', '1970-01-01T00:00', 200],
    ['FREQ=DAILY', '0001-01-01T00:00', 200],
  ];
  for (const [text, start, most] of bombs) {
    const { steps } = expandText(text, start);
    assert.ok(steps <= most, `${text}: ${steps}`);
  }
  // The expansion of a rule that has no times stops when its budget is used up.
  for (const text of [
    'FREQ=SECONDLY;INTERVAL=2;BYSECOND=1,3,5,7,9,11,13,15,17,19',
    'FREQ=SECONDLY;COUNT=1000000000',
    `FREQ=YEARLY;BYHOUR=${all(24)};BYMINUTE=${all(60)};BYSECOND=${all(60)};BYDAY=MO;BYSETPOS=366`,
  ]) {
    const { times, steps } = expandText(text, '1970-01-01T00:00', { maxSteps: 10_000 });
    assert.deepEqual([times, steps], [[], 10_001], text);
  }
});
