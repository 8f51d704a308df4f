import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { offsets, repeated } from '../../console/src/screens/calendar/repeat.ts';
import {
  type Dated,
  dated,
  datedFrom,
  dayAt,
  dayNumber,
  daysShown,
  drawn,
  filledFrom,
  isDay,
  moved,
  plusDays,
  plusMonths,
  plusSeconds,
  resized,
  stepped,
  weekdayOf,
} from '../../console/src/screens/calendar/time-math.ts';

const DAY_S = 86_400;
const event = (start_date: string, due_date: string): Dated => ({ start_date, due_date });

test('days convert to numbers and back, for 400 years and at both ends of the calendar', () => {
  for (let number = dayNumber('1800-01-01'); number <= dayNumber('2200-01-01'); number += 1) {
    assert.equal(dayNumber(dayAt(number)), number);
    assert.equal(dayAt(number + 1) > dayAt(number), true);
  }
  assert.deepEqual(
    ['0001-01-01', '9999-12-31'].map((day) => dayAt(dayNumber(day))),
    ['0001-01-01', '9999-12-31'],
  );
  assert.deepEqual([plusDays('9999-12-31', 1), plusDays('0001-01-01', -1)], ['9999-12-31', '0001-01-01']);
  assert.deepEqual([weekdayOf('2026-04-20'), weekdayOf('1969-12-28'), weekdayOf('2000-02-29')], [1, 0, 2]);
});

test('adding months clamps to the last day of a shorter month', () => {
  assert.equal(plusMonths('2026-01-31', 1), '2026-02-28');
  assert.equal(plusMonths('2028-01-31', 1), '2028-02-29');
  assert.equal(plusMonths('2026-03-31', -1), '2026-02-28');
  assert.equal(plusMonths('2026-11-30', 14), '2028-01-30');
  assert.equal(plusMonths('9999-12-01', 1), '9999-12-01');
});

test('the month view shows whole weeks, from the first day of the week of the locale', () => {
  assert.deepEqual(daysShown('month', '2026-04-20', 1), { from: '2026-03-30', to: '2026-05-03' });
  assert.deepEqual(daysShown('month', '2026-04-20', 0), { from: '2026-03-29', to: '2026-05-02' });
  assert.deepEqual(daysShown('month', '2027-02-10', 1), { from: '2027-02-01', to: '2027-02-28' });
  assert.deepEqual(daysShown('week', '2026-04-26', 1), { from: '2026-04-20', to: '2026-04-26' });
  assert.deepEqual(daysShown('day', '2026-04-26', 1), { from: '2026-04-26', to: '2026-04-26' });
  assert.deepEqual(daysShown('list', '2026-04-26', 1), { from: '2026-04-01', to: '2026-04-30' });
  assert.equal(stepped('month', '2026-01-31', 1), '2026-02-28');
  assert.equal(stepped('week', '2026-04-20', -1), '2026-04-13');
});

test('isDay accepts only existing days', () => {
  for (const day of ['2026-04-20', '2028-02-29', '0001-01-01', '9999-12-31']) assert.equal(isDay(day), true, day);
  for (const day of ['', '2026-02-29', '2026-13-01', '2026-00-10', '20260420', '2026-4-2', '0000-01-01', 'today']) {
    assert.equal(isDay(day), false, day);
  }
});

/** Events, and the time span displayed for them; `end` is exclusive. */
const timeCases: readonly [event: Dated, start: string, end: string, isAllDay: boolean][] = [
  [event('2026-04-20 00:00:00', '2026-04-24 00:00:00'), '2026-04-20 00:00:00', '2026-04-25 00:00:00', true],
  [event('2026-12-31 00:00:00', '2026-12-31 00:00:00'), '2026-12-31 00:00:00', '2027-01-01 00:00:00', true],
  [event('2026-04-20 14:00:00', '2026-04-20 15:30:00'), '2026-04-20 14:00:00', '2026-04-20 15:30:00', false],
  [event('2026-04-20 22:00:00', '2026-04-20 23:59:59'), '2026-04-20 22:00:00', '2026-04-21 00:00:00', false],
  [event('2026-04-20 00:00:00', '2026-04-20 09:00:00'), '2026-04-20 00:00:00', '2026-04-20 09:00:00', false],
];

test('the last day of an event is inclusive, and an end of 23:59:59 means midnight; in both directions', () => {
  for (const [stored, start, end, isAllDay] of timeCases) {
    assert.deepEqual(drawn(stored), { start, end, isAllDay });
    assert.deepEqual(dated({ start, end, isAllDay }), stored);
    assert.deepEqual(datedFrom(filledFrom(stored)).start_date, stored.start_date);
  }
});

test('a start time without an end time is one hour on the same day, otherwise all-day', () => {
  assert.deepEqual(drawn(event('2026-04-20 14:00:00', '2026-04-20 00:00:00')), {
    start: '2026-04-20 14:00:00',
    end: '2026-04-20 15:00:00',
    isAllDay: false,
  });
  assert.equal(drawn(event('2026-04-20 14:00:00', '2026-04-22 00:00:00')).isAllDay, true);
});

test('an entered end at midnight is the end of the day, never an all-day event', () => {
  const filled = { startDay: '2026-04-20', startTime: '22:00', dueTime: '00:00' };
  const wanted = event('2026-04-20 22:00:00', '2026-04-20 23:59:59');
  assert.deepEqual(datedFrom({ ...filled, dueDay: '2026-04-21' }), wanted);
  assert.deepEqual(datedFrom({ ...filled, dueDay: '2026-04-20' }), wanted);
});

test('an event moved by days keeps its times exactly', () => {
  const stored = event('2026-04-20 14:15:16', '2026-04-22 00:00:00');
  assert.deepEqual(moved(stored, 8 * DAY_S), event('2026-04-28 14:15:16', '2026-04-30 00:00:00'));
  assert.deepEqual(moved(moved(stored, 8 * DAY_S), -8 * DAY_S), stored);
});

test('an event moved by hours keeps an end at midnight', () => {
  const stored = event('2026-04-20 22:00:00', '2026-04-20 23:00:00');
  const later = moved(stored, 3_600);
  assert.deepEqual(later, event('2026-04-20 23:00:00', '2026-04-20 23:59:59'));
  assert.deepEqual(moved(later, 3_600), event('2026-04-21 00:00:00', '2026-04-21 01:00:00'));
  assert.deepEqual(moved(moved(later, 3_600), -7_200), stored);
});

test('an event without an end that is moved by hours still has none, unless it would become all-day', () => {
  const stored = event('2026-04-20 22:00:00', '2026-04-20 00:00:00');
  assert.deepEqual(moved(stored, 3_600), event('2026-04-20 23:00:00', '2026-04-20 00:00:00'));
  assert.deepEqual(moved(stored, 7_200), event('2026-04-21 00:00:00', '2026-04-21 01:00:00'));
});

test('an event is resized at either end, by days and by minutes', () => {
  const days = event('2026-04-20 00:00:00', '2026-04-24 00:00:00');
  assert.deepEqual(resized(days, { start: 0, end: DAY_S }), event('2026-04-20 00:00:00', '2026-04-25 00:00:00'));
  assert.deepEqual(resized(days, { start: -DAY_S, end: 0 }), event('2026-04-19 00:00:00', '2026-04-24 00:00:00'));
  const hours = event('2026-04-20 14:00:00', '2026-04-20 15:00:00');
  assert.deepEqual(resized(hours, { start: 0, end: 900 }), event('2026-04-20 14:00:00', '2026-04-20 15:15:00'));
  assert.deepEqual(resized(hours, { start: 0, end: 9 * 3_600 }), event('2026-04-20 14:00:00', '2026-04-20 23:59:59'));
});

test('daylight saving time neither skips nor repeats an hour, in any time zone', () => {
  const code = `
    const { moved, plusSeconds, drawn } = await import('./console/src/screens/calendar/time-math.ts');
    const out = [];
    for (const day of ['2026-03-08', '2026-03-29', '2026-04-05', '2026-09-27', '2026-10-25', '2026-11-01'])
      for (const hour of ['00:30:00', '01:30:00', '02:30:00', '03:30:00'])
        out.push(plusSeconds(day + ' ' + hour, 3600), plusSeconds(day + ' ' + hour, -86400),
          JSON.stringify(moved({ start_date: day + ' ' + hour, due_date: day + ' 05:00:00' }, 1800)),
          JSON.stringify(drawn({ start_date: day + ' 00:00:00', due_date: day + ' 00:00:00' })));
    process.stdout.write(out.join('\\n'));`;
  const [utc, ...others] = ['UTC', 'America/New_York', 'Pacific/Auckland', 'Europe/Berlin', 'America/Sao_Paulo'].map(
    (TZ) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', code], {
        env: { ...process.env, TZ },
        encoding: 'utf8',
      }),
  );
  assert.match(String(utc), /2026-03-08 03:30:00/);
  for (const other of others) assert.equal(other, utc);
  assert.equal(plusSeconds('2026-03-08 02:30:00', 3_600), '2026-03-08 03:30:00');
});

test('an event repeats daily, weekly, every two weeks or monthly, including the last day; short months are clamped', () => {
  assert.deepEqual(repeated('2026-04-20', 'daily', '2026-04-22'), ['2026-04-20', '2026-04-21', '2026-04-22']);
  assert.deepEqual(repeated('2026-04-20', 'weekly', '2026-05-04'), ['2026-04-20', '2026-04-27', '2026-05-04']);
  assert.deepEqual(repeated('2026-04-20', 'fortnightly', '2026-05-17'), ['2026-04-20', '2026-05-04']);
  assert.deepEqual(repeated('2026-01-31', 'monthly', '2026-04-30'), [
    '2026-01-31',
    '2026-02-28',
    '2026-03-31',
    '2026-04-30',
  ]);
  assert.deepEqual(repeated('2026-04-20', 'daily', '2026-04-19'), []);
  assert.equal(repeated('2026-04-20', 'daily', '2030-01-01').length, 201, 'one more than allowed');
  assert.deepEqual(offsets(['2026-01-31', '2026-02-28']), [0, 28]);
});
