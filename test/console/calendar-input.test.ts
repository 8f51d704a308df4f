import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { compareEntries, fitEntriesIntoRows, type LayoutEntry } from '../../console/src/screens/calendar/layout.ts';
import { parseQuickAddLine } from '../../console/src/screens/calendar/quick-add/quick-add.ts';
import { computeRepeatDays, toDayOffsets } from '../../console/src/screens/calendar/repeat.ts';
import {
  dayFromNumber,
  dayNumberOf,
  dayRangeOf,
  type EventDates,
  formToEventDates,
  isDay,
  moveDates,
  plusDays,
  plusMonths,
  plusSeconds,
  plusViewPeriods,
  resizeDates,
  timeSpanOf,
  toEventDates,
  toFormDates,
  visibleDaysFor,
  weekdayOf,
} from '../../console/src/screens/calendar/time-math.ts';

const projects = ['Node', 'Node 27', 'Web site', 'Überarbeitung', '2026 plan'].map((project_name, index) => ({
  project_id: String(index + 1),
  project_name,
}));

/** Parses a line on Monday, April 20, 2026, and formats the result as `name | days | times | project`. */
function parseToText(line: string, today = '2026-04-20', isMonthFirst = false): string {
  const { name, days, times, project } = parseQuickAddLine(line, { today, projects, isMonthFirst });
  const parts = [
    name,
    days === undefined ? '' : days.start === days.due ? days.start : `${days.start}..${days.due}`,
    times === undefined ? '' : `${times.start}-${times.due}`,
    project?.project_name ?? '',
  ];
  return parts.join(' | ').replace(/( \| )+$/, '');
}

/** Test cases by name: quick-add lines, each with the expected result of `parseToText`. */
const quickAddCases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'the example of the specification': {
    'Release v27 20 Apr – 24 Apr #Node 27': 'Release v27 | 2026-04-20..2026-04-24 |  | Node 27',
  },
  'parses a day and a month in either order, abbreviated or not': {
    'x 24 Apr': 'x | 2026-04-24',
    'x Apr 24': 'x | 2026-04-24',
    'x 24 April': 'x | 2026-04-24',
    'x april 24th': 'x | 2026-04-24',
    'x 1st of May': 'x | 2026-05-01',
    'x 3 sept': 'x | 2026-09-03',
    'x Fri 24 Apr': 'x | 2026-04-24',
    'Friday, 24 Apr x': 'x | 2026-04-24',
  },
  'parses years in all formats': {
    'x 24 Apr 2028': 'x | 2028-04-24',
    'x Apr 24, 2028': 'x | 2028-04-24',
    'x 2028-04-24': 'x | 2028-04-24',
    'x 24.4.2028': 'x | 2028-04-24',
    'x 24/4/28': 'x | 2028-04-24',
    'x 1 Jan 2020': 'x | 2020-01-01',
  },
  'resolves a date without a year to the next one that is not in the past': {
    'x 20 Apr': 'x | 2026-04-20',
    'x 19 Apr': 'x | 2027-04-19',
    'x 15 Jan': 'x | 2027-01-15',
    'x 29 Feb': 'x | 2028-02-29',
    'x 28 Dec - 3 Jan': 'x | 2026-12-28..2027-01-03',
    'x 18–24 Apr': 'x | 2026-04-18..2026-04-24',
    'x 10–12 Apr': 'x | 2027-04-10..2027-04-12',
    'x 20 Apr – 24 Apr 2027': 'x | 2027-04-20..2027-04-24',
    'x 28 Dec – 3 Jan 2028': 'x | 2027-12-28..2028-01-03',
  },
  'parses ranges with all separators': {
    'x 20 Apr - 24 Apr': 'x | 2026-04-20..2026-04-24',
    'x 20 Apr—24 Apr': 'x | 2026-04-20..2026-04-24',
    'x 20 Apr to 24 Apr': 'x | 2026-04-20..2026-04-24',
    'x from 20 Apr until 24 Apr': 'x | 2026-04-20..2026-04-24',
    'x 20-24 Apr': 'x | 2026-04-20..2026-04-24',
    'x Apr 20–24': 'x | 2026-04-20..2026-04-24',
    'x 2026-04-20-2026-04-24': 'x | 2026-04-20..2026-04-24',
    'x 20.4. – 24.4.': 'x | 2026-04-20..2026-04-24',
    'x mon–fri': 'x | 2026-04-20..2026-04-24',
    'x today to friday': 'x | 2026-04-20..2026-04-24',
    'x until 24 Apr': 'x | 2026-04-20..2026-04-24',
    'x friday till monday': 'x | 2026-04-24..2026-04-27',
  },
  'parses names of days': {
    'x today': 'x | 2026-04-20',
    'tomorrow x': 'x | 2026-04-21',
    'x on monday': 'x | 2026-04-20',
    'x friday': 'x | 2026-04-24',
    'x this fri': 'x | 2026-04-24',
    'x next friday': 'x | 2026-05-01',
    'x next monday': 'x | 2026-04-27',
    'x in 3 days': 'x | 2026-04-23',
    'x in 2 weeks': 'x | 2026-05-04',
    'x in 1 month': 'x | 2026-05-20',
  },
  'parses times; the default duration is one hour': {
    'x 14:00': 'x |  | 14:00-15:00',
    'x 2pm': 'x |  | 14:00-15:00',
    'x 2:30 pm': 'x |  | 14:30-15:30',
    'x at 9am': 'x |  | 09:00-10:00',
    'x at noon': 'x |  | 12:00-13:00',
    'x 12am': 'x |  | 00:00-01:00',
    'x 14:00-15:30': 'x |  | 14:00-15:30',
    'x from 14:00 to 15:30': 'x |  | 14:00-15:30',
    'x 2-4pm': 'x |  | 14:00-16:00',
    'x 11-1pm': 'x |  | 11:00-13:00',
    'x 2pm–4pm tomorrow': 'x | 2026-04-21 | 14:00-16:00',
    'tomorrow 14:00 x': 'x | 2026-04-21 | 14:00-15:00',
    'x 20 Apr 14:00 – 22 Apr 10:00': 'x | 2026-04-20..2026-04-22 | 14:00-10:00',
    'x 22:00–01:00': 'x | 2026-04-20..2026-04-21 | 22:00-01:00',
    'x 23:30': 'x | 2026-04-20..2026-04-21 | 23:30-00:00',
  },
  'matches a project by its longest name, ignoring case, or by a unique prefix': {
    'x #node 27': 'x |  |  | Node 27',
    'x #Node': 'x |  |  | Node',
    '#NODE 27 x': 'x |  |  | Node 27',
    'x #Node 20 Apr': 'x | 2026-04-20 |  | Node',
    '#web x': 'x |  |  | Web site',
    'x #überarbeitung, y': 'x, y |  |  | Überarbeitung',
    'x #2026 plan': 'x |  |  | 2026 plan',
  },
  'keeps unrecognized text in the name': {
    'x #nope': 'x #nope',
    'Fix #12 of the list': 'Fix #12 of the list',
    'x 31 Feb': 'x 31 Feb',
    'x 40 Apr': 'x 40 Apr',
    'x 2026-13-40': 'x 2026-13-40',
    'x 25:00': 'x 25:00',
    'x 13pm': 'x 13pm',
    'Version 1.2 of 3': 'Version 1.2 of 3',
    'Support 24/7': 'Support 24/7',
    'Marching 20 people': 'Marching 20 people',
    'Yoga mondays': 'Yoga mondays',
    'May I': 'May I',
    'Meet at the bridge': 'Meet at the bridge',
    'C#node': 'C#node',
  },
  'uses the first of two dates or times': {
    'x 20 Apr y 21 Apr': 'x y 21 Apr | 2026-04-20',
    'x 9am 10am': 'x 10am |  | 09:00-10:00',
  },
  'returns an empty name for a line with only a date': { '20 Apr': ' | 2026-04-20', '': '', '   ': '' },
};

for (const [name, lines] of Object.entries(quickAddCases)) {
  test(`quick add: ${name}`, () => {
    for (const [line, expected] of Object.entries(lines)) assert.equal(parseToText(line), expected, line);
  });
}

test('quick add: a date with a slash follows the locale unless it is unambiguous', () => {
  assert.equal(parseToText('x 4/5', undefined, false), 'x | 2026-05-04');
  assert.equal(parseToText('x 4/5', undefined, true), 'x | 2027-04-05');
  for (const isMonthFirst of [true, false]) {
    assert.equal(parseToText('x 4/20', undefined, isMonthFirst), 'x | 2026-04-20');
    assert.equal(parseToText('x 20/4', undefined, isMonthFirst), 'x | 2026-04-20');
  }
});

test('quick add: random text never yields an end before its start', () => {
  const words = [
    '20',
    'Apr',
    '–',
    '24.4.',
    'to',
    '14:00',
    '2pm',
    '#',
    '#Node',
    'next',
    'fri',
    '4/20',
    '-',
    'x',
    '2026-04-20',
  ];
  let state = 7;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % words.length;
  };
  for (let run = 0; run < 3_000; run += 1) {
    const line = Array.from({ length: 7 }, () => words[next()]).join(run % 3 === 0 ? '' : ' ');
    const { days } = parseQuickAddLine(line, { today: '2026-04-20', projects });
    assert.ok(days === undefined || days.start <= days.due, line);
  }
});

const DAY_S = 86_400;
const eventDates = (start_date: string, due_date: string): EventDates => ({ start_date, due_date });

test('days convert to numbers and back, for 400 years and at both ends of the calendar', () => {
  for (let number = dayNumberOf('1800-01-01'); number <= dayNumberOf('2200-01-01'); number += 1) {
    assert.equal(dayNumberOf(dayFromNumber(number)), number);
    assert.equal(dayFromNumber(number + 1) > dayFromNumber(number), true);
  }
  assert.deepEqual(
    ['0001-01-01', '9999-12-31'].map((day) => dayFromNumber(dayNumberOf(day))),
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
  assert.deepEqual(visibleDaysFor('month', '2026-04-20', 1), { from: '2026-03-30', to: '2026-05-03' });
  assert.deepEqual(visibleDaysFor('month', '2026-04-20', 0), { from: '2026-03-29', to: '2026-05-02' });
  assert.deepEqual(visibleDaysFor('month', '2027-02-10', 1), { from: '2027-02-01', to: '2027-02-28' });
  assert.deepEqual(visibleDaysFor('week', '2026-04-26', 1), { from: '2026-04-20', to: '2026-04-26' });
  assert.deepEqual(visibleDaysFor('day', '2026-04-26', 1), { from: '2026-04-26', to: '2026-04-26' });
  assert.deepEqual(visibleDaysFor('list', '2026-04-26', 1), { from: '2026-04-01', to: '2026-04-30' });
  assert.equal(plusViewPeriods('month', '2026-01-31', 1), '2026-02-28');
  assert.equal(plusViewPeriods('week', '2026-04-20', -1), '2026-04-13');
});

test('isDay accepts only existing days', () => {
  for (const day of ['2026-04-20', '2028-02-29', '0001-01-01', '9999-12-31']) assert.equal(isDay(day), true, day);
  for (const day of ['', '2026-02-29', '2026-13-01', '2026-00-10', '20260420', '2026-4-2', '0000-01-01', 'today']) {
    assert.equal(isDay(day), false, day);
  }
});

/** Stored events, each with the time span that the calendar displays; `end` is exclusive. */
const timeCases: readonly [event: EventDates, start: string, end: string, isAllDay: boolean][] = [
  [eventDates('2026-04-20 00:00:00', '2026-04-24 00:00:00'), '2026-04-20 00:00:00', '2026-04-25 00:00:00', true],
  [eventDates('2026-12-31 00:00:00', '2026-12-31 00:00:00'), '2026-12-31 00:00:00', '2027-01-01 00:00:00', true],
  [eventDates('2026-04-20 14:00:00', '2026-04-20 15:30:00'), '2026-04-20 14:00:00', '2026-04-20 15:30:00', false],
  [eventDates('2026-04-20 22:00:00', '2026-04-20 23:59:59'), '2026-04-20 22:00:00', '2026-04-21 00:00:00', false],
  [eventDates('2026-04-20 00:00:00', '2026-04-20 09:00:00'), '2026-04-20 00:00:00', '2026-04-20 09:00:00', false],
];

test('the last day of an event is inclusive, and an end of 23:59:59 means midnight; in both directions', () => {
  for (const [stored, start, end, isAllDay] of timeCases) {
    assert.deepEqual(timeSpanOf(stored), { start, end, isAllDay });
    assert.deepEqual(toEventDates({ start, end, isAllDay }), stored);
    assert.deepEqual(formToEventDates(toFormDates(stored)).start_date, stored.start_date);
  }
});

test('a start time without an end time is one hour on the same day, otherwise all-day', () => {
  assert.deepEqual(timeSpanOf(eventDates('2026-04-20 14:00:00', '2026-04-20 00:00:00')), {
    start: '2026-04-20 14:00:00',
    end: '2026-04-20 15:00:00',
    isAllDay: false,
  });
  assert.equal(timeSpanOf(eventDates('2026-04-20 14:00:00', '2026-04-22 00:00:00')).isAllDay, true);
});

test('an entered end at midnight is the end of the day, never an all-day event', () => {
  const filled = { startDay: '2026-04-20', startTime: '22:00', dueTime: '00:00' };
  const wanted = eventDates('2026-04-20 22:00:00', '2026-04-20 23:59:59');
  assert.deepEqual(formToEventDates({ ...filled, dueDay: '2026-04-21' }), wanted);
  assert.deepEqual(formToEventDates({ ...filled, dueDay: '2026-04-20' }), wanted);
});

test('an event moved by days keeps its times exactly', () => {
  const stored = eventDates('2026-04-20 14:15:16', '2026-04-22 00:00:00');
  assert.deepEqual(moveDates(stored, 8 * DAY_S), eventDates('2026-04-28 14:15:16', '2026-04-30 00:00:00'));
  assert.deepEqual(moveDates(moveDates(stored, 8 * DAY_S), -8 * DAY_S), stored);
});

test('an event moved by hours keeps an end at midnight', () => {
  const stored = eventDates('2026-04-20 22:00:00', '2026-04-20 23:00:00');
  const later = moveDates(stored, 3_600);
  assert.deepEqual(later, eventDates('2026-04-20 23:00:00', '2026-04-20 23:59:59'));
  assert.deepEqual(moveDates(later, 3_600), eventDates('2026-04-21 00:00:00', '2026-04-21 01:00:00'));
  assert.deepEqual(moveDates(moveDates(later, 3_600), -7_200), stored);
});

test('an event without an end that is moved by hours still has none, unless it would become all-day', () => {
  const stored = eventDates('2026-04-20 22:00:00', '2026-04-20 00:00:00');
  assert.deepEqual(moveDates(stored, 3_600), eventDates('2026-04-20 23:00:00', '2026-04-20 00:00:00'));
  assert.deepEqual(moveDates(stored, 7_200), eventDates('2026-04-21 00:00:00', '2026-04-21 01:00:00'));
});

test('an event is resized at either end, by days and by minutes', () => {
  const days = eventDates('2026-04-20 00:00:00', '2026-04-24 00:00:00');
  assert.deepEqual(
    resizeDates(days, { start: 0, end: DAY_S }),
    eventDates('2026-04-20 00:00:00', '2026-04-25 00:00:00'),
  );
  assert.deepEqual(
    resizeDates(days, { start: -DAY_S, end: 0 }),
    eventDates('2026-04-19 00:00:00', '2026-04-24 00:00:00'),
  );
  const hours = eventDates('2026-04-20 14:00:00', '2026-04-20 15:00:00');
  assert.deepEqual(
    resizeDates(hours, { start: 0, end: 900 }),
    eventDates('2026-04-20 14:00:00', '2026-04-20 15:15:00'),
  );
  assert.deepEqual(
    resizeDates(hours, { start: 0, end: 9 * 3_600 }),
    eventDates('2026-04-20 14:00:00', '2026-04-20 23:59:59'),
  );
});

test('daylight saving time neither skips nor repeats an hour, in any time zone', () => {
  const code = `
    const { moveDates, plusSeconds, timeSpanOf } = await import('./console/src/screens/calendar/time-math.ts');
    const out = [];
    for (const day of ['2026-03-08', '2026-03-29', '2026-04-05', '2026-09-27', '2026-10-25', '2026-11-01'])
      for (const hour of ['00:30:00', '01:30:00', '02:30:00', '03:30:00'])
        out.push(plusSeconds(day + ' ' + hour, 3600), plusSeconds(day + ' ' + hour, -86400),
          JSON.stringify(moveDates({ start_date: day + ' ' + hour, due_date: day + ' 05:00:00' }, 1800)),
          JSON.stringify(timeSpanOf({ start_date: day + ' 00:00:00', due_date: day + ' 00:00:00' })));
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
  assert.deepEqual(computeRepeatDays('2026-04-20', 'daily', '2026-04-22'), ['2026-04-20', '2026-04-21', '2026-04-22']);
  assert.deepEqual(computeRepeatDays('2026-04-20', 'weekly', '2026-05-04'), ['2026-04-20', '2026-04-27', '2026-05-04']);
  assert.deepEqual(computeRepeatDays('2026-04-20', 'fortnightly', '2026-05-17'), ['2026-04-20', '2026-05-04']);
  assert.deepEqual(computeRepeatDays('2026-01-31', 'monthly', '2026-04-30'), [
    '2026-01-31',
    '2026-02-28',
    '2026-03-31',
    '2026-04-30',
  ]);
  assert.deepEqual(computeRepeatDays('2026-04-20', 'daily', '2026-04-19'), []);
  assert.equal(computeRepeatDays('2026-04-20', 'daily', '2030-01-01').length, 201, 'one more than allowed');
  assert.deepEqual(toDayOffsets(['2026-01-31', '2026-02-28']), [0, 28]);
});

/** Displayed days of the tests below: four weeks from a Monday. */
const fourWeeks = { from: '2027-02-01', to: '2027-02-28' };

function gridEntry(id: string, start: string, due = start): LayoutEntry {
  const [from = '', clock = '00:00:00'] = start.split(' ');
  const times = timeSpanOf({ start_date: `${from} ${clock}`, due_date: due.length > 10 ? due : `${due} 00:00:00` });
  return { id, title: id, ...times, days: dayRangeOf(times) };
}

const idsOf = (entries: readonly LayoutEntry[]) => entries.map(({ id }) => id);

test('entries that fit are shown without a "more" entry', () => {
  const entries = [gridEntry('a', '2027-02-01'), gridEntry('b', '2027-02-01'), gridEntry('c', '2027-02-01')];
  const { shownEntries, hiddenCountByDay } = fitEntriesIntoRows(entries, fourWeeks, 3);
  assert.deepEqual([idsOf(shownEntries), [...hiddenCountByDay]], [['a', 'b', 'c'], []]);
});

test('with one entry too many, two are hidden to make room for the "more" entry', () => {
  const entries = ['a', 'b', 'c', 'd'].map((id) => gridEntry(id, '2027-02-01'));
  const { shownEntries, hiddenCountByDay } = fitEntriesIntoRows(entries, fourWeeks, 3);
  assert.deepEqual([idsOf(shownEntries), [...hiddenCountByDay]], [['a', 'b'], [['2027-02-01', 2]]]);
});

test('an entry that does not fit on one of its days is hidden on all of them, and counted on each', () => {
  const entries = [
    gridEntry('long', '2027-02-01', '2027-02-03'),
    gridEntry('longer', '2027-02-01', '2027-02-09'),
    ...['a', 'b', 'c'].map((id) => gridEntry(id, '2027-02-02')),
  ].sort(compareEntries);
  const { shownEntries, hiddenCountByDay } = fitEntriesIntoRows(entries, fourWeeks, 2);
  assert.deepEqual(idsOf(shownEntries), ['longer']);
  assert.equal(hiddenCountByDay.get('2027-02-02'), 4);
  assert.equal(hiddenCountByDay.get('2027-02-03'), 1);
  assert.equal(hiddenCountByDay.get('2027-02-09'), undefined);
});

test('all-day entries are sorted before timed ones, longer ones first, in a stable order', () => {
  const entries = [
    gridEntry('noon', '2027-02-01 12:00:00', '2027-02-01 13:00:00'),
    gridEntry('b', '2027-02-01'),
    gridEntry('a', '2027-02-01'),
    gridEntry('long', '2027-02-01', '2027-02-05'),
    gridEntry('before', '2027-01-20', '2027-02-02'),
  ];
  assert.deepEqual(idsOf([...entries].sort(compareEntries)), ['before', 'long', 'a', 'b', 'noon']);
  assert.deepEqual(idsOf([...entries].reverse().sort(compareEntries)), ['before', 'long', 'a', 'b', 'noon']);
});

test('with random entries, no day exceeds its rows, and every entry is shown or counted', () => {
  let state = 3;
  const next = (max: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * max);
  };
  const day = (number: number) => `2027-02-${String(number).padStart(2, '0')}`;
  for (let run = 0; run < 200; run += 1) {
    const entries = Array.from({ length: 60 }, (_, index) => {
      const from = 1 + next(28);
      return gridEntry(`${index}`, day(from), day(Math.min(28, from + next(3) * next(8))));
    }).sort(compareEntries);
    const rows = 1 + next(5);
    const { shownEntries, hiddenCountByDay } = fitEntriesIntoRows(entries, fourWeeks, rows);
    for (let number = 1; number <= 28; number += 1) {
      const on = (some: readonly LayoutEntry[]) =>
        some.filter((one) => one.days.from <= day(number) && one.days.to >= day(number)).length;
      const hidden = hiddenCountByDay.get(day(number)) ?? 0;
      assert.equal(on(shownEntries) + hidden, on(entries), day(number));
      assert.ok(on(shownEntries) + (hidden > 0 ? 1 : 0) <= rows, day(number));
    }
  }
});
