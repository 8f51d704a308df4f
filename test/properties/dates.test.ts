import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  endOfDayMs,
  isDueBeforeStart,
  parseCalendarTime,
  parseCompactDay,
  startOfDayMs,
} from '../../src/http/fields/dates.ts';

const twoDigits = (value: number) => String(value).padStart(2, '0');
const fourDigits = (value: number) => String(value).padStart(4, '0');

/** A year, month and day of a date that may not exist. */
const anyDate = fc.tuple(
  fc.integer({ min: 0, max: 9999 }),
  fc.integer({ min: 0, max: 13 }),
  fc.integer({ min: 0, max: 32 }),
);
const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map(twoDigits).join(':'));
const realDay = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const realTime = fc.tuple(realDay, clock).map(([day, time]) => `${day} ${time}`);
const realSpan = fc.tuple(realTime, realTime);

/** Whether the runtime's calendar has the day: a day that does not exist rolls over to another day. */
function isRealDay(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return year > 0 && date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

test('C9 yyyymmdd is accepted exactly if the day exists', () => {
  fc.assert(
    fc.property(anyDate, ([year, month, day]) => {
      const [y, m, d] = [fourDigits(year), twoDigits(month), twoDigits(day)];
      const wanted = isRealDay(year, month, day) ? `${y}-${m}-${d}` : undefined;
      assert.equal(parseCompactDay(`${y}${m}${d}`), wanted);
      assert.equal(parseCalendarTime(`${y}${m}${d}`), wanted && `${wanted} 00:00:00`);
      assert.equal(parseCalendarTime(`${y}-${m}-${d} 12:34:56`), wanted && `${wanted} 12:34:56`);
    }),
    { numRuns: 2_000 },
  );
});

test('C9 a date from a response can be written back: a calendar time is parsed to itself', () => {
  fc.assert(fc.property(realTime, (time) => assert.equal(parseCalendarTime(time), time)));
});

test('C9 text in neither format is not a date', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 24 }), (text) => {
      fc.pre(!/^\d{8}$/.test(text) && !/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/.test(text));
      assert.equal(parseCalendarTime(text), undefined);
      assert.equal(parseCompactDay(text), undefined);
    }),
  );
});

test('C25 a day contains exactly its own timestamps', () => {
  fc.assert(
    fc.property(realDay, (day) => {
      const [begins, ends] = [startOfDayMs(day), endOfDayMs(day)];
      assert.equal(ends - begins, 86_399_999);
      for (const timestamp of [begins, ends]) assert.equal(new Date(timestamp).toISOString().slice(0, 10), day);
    }),
  );
});

test('C26 no span is before itself, and of two different days exactly one order is rejected', () => {
  fc.assert(
    fc.property(realSpan, ([one, other]) => {
      assert.equal(isDueBeforeStart(one, one), false);
      const days = [one.slice(0, 10), other.slice(0, 10)];
      if (days[0] !== days[1]) assert.notEqual(isDueBeforeStart(one, other), isDueBeforeStart(other, one));
      // A due date without a time includes every start on that day.
      assert.equal(isDueBeforeStart(one, `${days[0]} 00:00:00`), false);
    }),
  );
});
