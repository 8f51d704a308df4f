import assert from 'node:assert/strict';
import { test } from 'node:test';
import { understand } from '../../console/src/screens/calendar/quick-add.ts';

const projects = ['Node', 'Node 27', 'Web site', 'Überarbeitung', '2026 plan'].map((project_name, index) => ({
  project_id: String(index + 1),
  project_name,
}));

/** Parses a line on Monday, April 20, 2026, and formats the result as `name | days | times | project`. */
function parse(line: string, today = '2026-04-20', isMonthFirst = false): string {
  const { name, days, times, project } = understand(line, { today, projects, isMonthFirst });
  const parts = [
    name,
    days === undefined ? '' : days.start === days.due ? days.start : `${days.start}..${days.due}`,
    times === undefined ? '' : `${times.start}-${times.due}`,
    project?.project_name ?? '',
  ];
  return parts.join(' | ').replace(/( \| )+$/, '');
}

/** Test cases by name: lines with expected results. */
const cases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
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

for (const [name, lines] of Object.entries(cases)) {
  test(`quick add: ${name}`, () => {
    for (const [line, expected] of Object.entries(lines)) assert.equal(parse(line), expected, line);
  });
}

test('quick add: a date with a slash follows the locale unless it is unambiguous', () => {
  assert.equal(parse('x 4/5', undefined, false), 'x | 2026-05-04');
  assert.equal(parse('x 4/5', undefined, true), 'x | 2027-04-05');
  for (const isMonthFirst of [true, false]) {
    assert.equal(parse('x 4/20', undefined, isMonthFirst), 'x | 2026-04-20');
    assert.equal(parse('x 20/4', undefined, isMonthFirst), 'x | 2026-04-20');
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
    const { days } = understand(line, { today: '2026-04-20', projects });
    assert.ok(days === undefined || days.start <= days.due, line);
  }
});
