import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  dayOf,
  daysBetween,
  dueIn,
  plusDays,
  showDay,
  showSpan,
  timeOf,
  today,
  withDay,
} from '../../console/src/app/calendar-dates.ts';

const NONE = '0000-00-00 00:00:00';

test('showDay formats a day, with its time if it has one', () => {
  assert.equal(showDay('2027-04-20 00:00:00'), '20 Apr 2027');
  assert.equal(showDay('2027-04-02 14:30:00'), '2 Apr 2027, 14:30');
  assert.equal(showDay('2027-12-31'), '31 Dec 2027');
  assert.equal(showDay(NONE), '');
});

test('showSpan formats a range; equal ends are shown once, missing ends are omitted', () => {
  assert.equal(showSpan('2027-04-20 00:00:00', '2027-04-24 00:00:00'), '20 Apr 2027 – 24 Apr 2027');
  assert.equal(showSpan('2027-04-20 00:00:00', '2027-04-20 00:00:00'), '20 Apr 2027');
  assert.equal(showSpan('2027-04-20 00:00:00', NONE), '20 Apr 2027');
  assert.equal(showSpan(NONE, '2027-04-20 00:00:00'), 'until 20 Apr 2027');
  assert.equal(showSpan(NONE, NONE), '');
});

test('dayOf and timeOf split a timestamp; missing parts are empty', () => {
  assert.equal(dayOf('2027-04-20 14:30:00'), '2027-04-20');
  assert.equal(timeOf('2027-04-20 14:30:00'), '14:30');
  assert.equal(dayOf(NONE), '');
  assert.equal(timeOf('2027-04-20 00:00:00'), '');
});

test('withDay keeps the time of day; an empty day stays empty', () => {
  assert.equal(withDay('2027-04-20 00:00:00', '2027-05-01'), '20270501');
  assert.equal(withDay('2027-04-20 14:30:15', '2027-05-01'), '2027-05-01 14:30:15');
  assert.equal(withDay(NONE, '2027-05-01'), '20270501');
  assert.equal(withDay('2027-04-20 14:30:00', ''), '');
});

test('days are counted over months, leap days and daylight saving time', () => {
  assert.equal(daysBetween('2028-02-28', '2028-03-01'), 2);
  assert.equal(daysBetween('2027-03-27', '2027-03-29'), 2);
  assert.equal(daysBetween('2027-11-08', '2027-11-06'), -2);
  assert.equal(plusDays('2027-12-31', 1), '2028-01-01');
  assert.equal(plusDays('2027-03-01', -1), '2027-02-28');
});

test('a due date has relative text, and a warning color when it is soon or past', () => {
  const due = (day: string) => dueIn(day, '2027-04-20');
  assert.deepEqual(due('2027-04-20'), { text: 'today', tone: 'warn' });
  assert.deepEqual(due('2027-04-21'), { text: 'tomorrow', tone: 'warn' });
  assert.deepEqual(due('2027-04-23'), { text: 'in 3 days', tone: 'warn' });
  assert.deepEqual(due('2027-04-27'), { text: 'in 7 days', tone: 'warn' });
  assert.deepEqual(due('2027-04-28'), { text: 'in 8 days', tone: 'plain' });
  assert.deepEqual(due('2027-06-19'), { text: 'in 60 days', tone: 'plain' });
  assert.deepEqual(due('2027-06-20'), { text: '', tone: 'plain' });
  assert.deepEqual(due('2027-04-19'), { text: '1 day late', tone: 'bad' });
  assert.deepEqual(due('2027-04-18'), { text: '2 days late', tone: 'bad' });
});

test('today is the local day, until its last minute', () => {
  assert.equal(today(new Date(2027, 3, 20, 23, 59)), '2027-04-20');
  assert.equal(today(new Date(2027, 3, 21, 0, 1)), '2027-04-21');
});
