/// <reference lib="esnext.temporal" />
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isDueBeforeStart } from '../../src/http/fields/dates.ts';
import {
  moveDatesByPeriod,
  type RecordDates,
  type RecurrencePeriod,
} from '../../src/resources/core/recurring-tasks.ts';

const periodDurations: Readonly<Record<RecurrencePeriod, Temporal.DurationLike>> = {
  ...{ D: { days: 1 }, W: { weeks: 1 }, M: { months: 1 }, Q: { months: 3 }, S: { months: 6 }, Y: { years: 1 } },
};
const periodLetters = Object.keys(periodDurations) as RecurrencePeriod[];
const LAST_YEAR = 9999;

const twoDigits = (value: number) => String(value).padStart(2, '0');
const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map(twoDigits).join(':'));
/** Any day; last days of months, in and around leap years and at the end of the calendar, are frequent. */
const day = fc.oneof(
  fc
    .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  fc
    .tuple(
      fc.constantFrom(1, 4, 99, 1899, 1900, 2000, 2027, 2028, 2100, 9998, 9999),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 27, max: 31 }),
    )
    .map(([year, month, date]) =>
      Temporal.PlainDate.from({ year, month, day: date }, { overflow: 'constrain' }).toString(),
    ),
);
const time = fc.tuple(day, fc.oneof(clock, fc.constant('00:00:00'))).map(([date, at]) => `${date} ${at}`);
const dateOrNone = fc.option(time, { freq: 4 });
const orderedDates = fc
  .record({ start_date: dateOrNone, due_date: dateOrNone }, { noNullPrototype: true })
  .filter(({ start_date, due_date }) => !isDueBeforeStart(start_date, due_date));

/** Computes the expected date with Temporal, which clamps to the end of the month; undefined after the last year. */
function expectedDate(period: RecurrencePeriod, date: string): string | undefined {
  const moved = Temporal.PlainDateTime.from(date.replace(' ', 'T')).add(periodDurations[period], {
    overflow: 'constrain',
  });
  if (moved.year > LAST_YEAR) return undefined;
  return `${String(moved.year).padStart(4, '0')}-${twoDigits(moved.month)}-${twoDigits(moved.day)}${date.slice(10)}`;
}

test('C41 the next dates are one period later, clamped to the month, at the same time of day', () => {
  fc.assert(
    fc.property(fc.constantFrom(...periodLetters), time, (period, date) => {
      const expected = expectedDate(period, date) ?? date;
      assert.deepEqual(moveDatesByPeriod(period, { start_date: date, due_date: null }), {
        start_date: expected,
        due_date: null,
      });
      assert.deepEqual(moveDatesByPeriod(period, { start_date: null, due_date: date }), {
        start_date: null,
        due_date: expected,
      });
    }),
    { numRuns: 5_000 },
  );
  assert.deepEqual(moveDatesByPeriod('M', { start_date: null, due_date: null }), { start_date: null, due_date: null });
});

test('C26 C41 the next dates are in order after clamping, and both stay unchanged at the end of the calendar', () => {
  fc.assert(
    fc.property(fc.constantFrom(...periodLetters), orderedDates, (period, dates) => {
      const moved = moveDatesByPeriod(period, dates);
      assert.equal(isDueBeforeStart(moved.start_date, moved.due_date), false);
      const expected = [dates.start_date, dates.due_date].map((date) =>
        date === null ? null : expectedDate(period, date),
      );
      if (expected.includes(undefined)) return assert.deepEqual(moved, dates);
      const [start, due] = expected as (string | null)[];
      assert.equal(moved.start_date, start);
      const meets = isDueBeforeStart(start ?? null, due ?? null);
      assert.equal(moved.due_date, meets ? start : due);
    }),
    { numRuns: 5_000 },
  );
});

test('C41 concrete examples', () => {
  const examples: [RecurrencePeriod, RecordDates['due_date'], string][] = [
    ['M', '2027-01-31 09:00:00', '2027-02-28 09:00:00'],
    ['M', '2028-01-31 00:00:00', '2028-02-29 00:00:00'],
    ['M', '2027-02-28 00:00:00', '2027-03-28 00:00:00'],
    ['Q', '2027-11-30 00:00:00', '2028-02-29 00:00:00'],
    ['S', '2027-08-31 00:00:00', '2028-02-29 00:00:00'],
    ['Y', '2028-02-29 23:59:59', '2029-02-28 23:59:59'],
    ['D', '2027-12-31 00:00:00', '2028-01-01 00:00:00'],
    ['W', '2028-02-25 00:00:00', '2028-03-03 00:00:00'],
  ];
  for (const [period, due_date, expected] of examples)
    assert.equal(moveDatesByPeriod(period, { start_date: null, due_date }).due_date, expected, `${period} ${due_date}`);
  assert.deepEqual(moveDatesByPeriod('M', { start_date: '2027-01-29 15:00:00', due_date: '2027-01-31 10:00:00' }), {
    ...{ start_date: '2027-02-28 15:00:00', due_date: '2027-02-28 15:00:00' },
  });
});
