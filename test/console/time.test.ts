import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import {
  dayOrEmpty,
  daysBetween,
  describeDueDate,
  formatDayAndTime,
  formatDayRange,
  plusDays,
  replaceDay,
  timeOrEmpty,
  today,
} from '../../console/src/app/calendar-dates.ts';
import {
  DURATION_FORMAT_HINT,
  explainBareNumber,
  formatHoursAndMinutes,
  mondayOf,
  parseDuration,
  validateDuration,
} from '../../console/src/screens/time/durations.ts';
import { startConsole } from '../kit/network/browser.ts';
import type { ApiUser } from '../kit/service/service.ts';
import { openScreen } from './pages.ts';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });

/** Accepted spellings of each duration, by its number of seconds. */
const DURATION_SPELLINGS: Readonly<Record<number, readonly string[]>> = {
  45: ['45s', '45 sec', '0:00:45'],
  300: ['0:05', ':05', '5m', '00:05', '5 minutes'],
  1500: ['25', '25m', '0:25:00'],
  1800: ['0:30', ':30', '30', '0.5', '.5', ',5', '0,5h', '30 min', '30min'],
  3600: ['1', '1h', '1:00', '60', '60m', '1 hour', '1.0', '01:00'],
  3690: ['1:01:30', '1h 1m 30s', '61m 30s'],
  5400: [
    ...[
      '1:30',
      '01:30',
      '1.5',
      '1,5',
      '1.50',
      '1.5h',
      '1,5 h',
      '1h30',
      '1h 30',
      '1h30m',
      '1h 30m',
      '1H 30M',
      '1 h 30 min',
    ],
    ...['1hr 30min', '1 hour 30 minutes', '1h30mins', '90', '90m', '90 m', '90min', '90 mins', '90 minutes', ' 1:30 '],
  ],
  7200: ['2', '2h', '2 hrs', '2 hours', '120', '120m', '2:00'],
  86400: ['24', '24h', '24:00', '1440', '1440m'],
};

const INVALID_SPELLINGS = [
  '',
  ' ',
  'soon',
  'h',
  'm',
  ':',
  '.',
  '1:75',
  '1:5',
  '-1',
  '1 30',
  '1h 75',
  '1.5h 30m',
  '30 45s',
  '1h 30 20s',
];

test('readSeconds accepts the common spellings of a duration', () => {
  const spellings = Object.entries(DURATION_SPELLINGS).flatMap(([seconds, texts]) =>
    texts.map((text) => ({ seconds, text })),
  );
  assert.ok(spellings.length >= 60);
  for (const { seconds, text } of spellings) {
    assert.equal(parseDuration(text), Number(seconds), text);
    assert.equal(validateDuration(text), undefined, text);
  }
  for (const text of INVALID_SPELLINGS) assert.equal(validateDuration(text), DURATION_FORMAT_HINT, text);
});

test('a whole number is hours up to 24 and minutes above, with a hint; zero and more than 24 hours are rejected', () => {
  assert.deepEqual(['8', '24', '25', '90'].map(parseDuration), [8 * 3_600, 24 * 3_600, 25 * 60, 90 * 60]);
  assert.equal(explainBareNumber('15'), '15 hours. For minutes, write 15m.');
  assert.equal(explainBareNumber('90'), '90 minutes (1:30)');
  for (const clear of ['1:30', '1.5', '90m', '', 'x', '2000']) assert.equal(explainBareNumber(clear), undefined, clear);
  for (const long of ['24:01', '25h', '1441', '96:00', '24.5', '99999']) {
    assert.equal(validateDuration(long), 'A day has 24 hours. Enter at most 24:00.', long);
  }
  for (const none of ['0', '0:00', '0m', '0.0']) assert.equal(validateDuration(none), 'Enter a time above zero.', none);
});

test('a duration is formatted as hours and minutes, below a minute with seconds', () => {
  const shown = [0, 1, 59, 60, 3_660, 360_000].map(formatHoursAndMinutes);
  for (let seconds = 1; seconds <= 86_400; seconds += seconds < 60 ? 1 : 60) {
    assert.equal(parseDuration(formatHoursAndMinutes(seconds)), seconds, 'a formatted duration can be parsed');
  }
  assert.deepEqual(shown, ['0:00', '0:00:01', '0:00:59', '0:01', '1:01', '100:00']);
});

test('mondayOf returns the Monday of a week, also across years', () => {
  assert.deepEqual(['2027-03-01', '2027-03-07', '2027-01-01', '2024-02-29'].map(mondayOf), [
    '2027-03-01',
    '2027-03-01',
    '2026-12-28',
    '2024-02-26',
  ]);
});

test('time entries are created, totaled by task and day, edited inline, and deleted', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'projects' });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  const monday = mondayOf(today());
  const day = (ahead: number) => plusDays(monday, ahead).replaceAll('-', '');
  await owner.carillon.timeEntries.create(task_id, { seconds: 5_400, date: day(0) });
  await owner.carillon.timeEntries.create(task_id, { seconds: 600, date: day(1), description: 'Polished' });
  await owner.carillon.timeEntries.create(task_id, { seconds: 60, date: day(7) });
  await openScreen(page, 'time');
  const sheet = page.getByRole('region', { name: 'Time sheet' });
  const cells = async (name: string | RegExp) => sheet.getByRole('row', { name }).locator('td').allInnerTexts();
  await sheet.getByText('1:40').first().waitFor();
  assert.deepEqual(await cells(/^Cast/), ['1:30', '0:10', '–', '–', '–', '–', '–', '1:40']);

  const form = page.getByRole('form', { name: 'Enter time' });
  await form.getByLabel('Time').fill('later');
  await button(page, 'Enter').click();
  await form.getByText(DURATION_FORMAT_HINT).waitFor();
  await form.getByLabel('Day').fill(plusDays(monday, 2));
  await form.getByLabel('Time').fill('45m');
  await form.getByLabel('Description').fill('Tuned');
  await button(page, 'Enter').click();
  await sheet.getByText('2:25').first().waitFor();
  assert.deepEqual(await cells(/^All/), ['1:30', '0:10', '0:45', '–', '–', '–', '–', '2:25']);

  await page.getByRole('button', { name: 'Change Time of 0:10 on Cast' }).click();
  await page.getByLabel('Time of 0:10 on Cast').fill('soon');
  await page.keyboard.press('Enter');
  await page.getByText(DURATION_FORMAT_HINT).waitFor();
  await page.getByLabel('Time of 0:10 on Cast').fill('0:20');
  await page.keyboard.press('Enter');
  await sheet.getByText('2:35').first().waitFor();
  await button(page, 'Delete 1:30 on Cast').click();
  await sheet.getByText('1:05').first().waitFor();
  assert.equal((await owner.carillon.tasks.get(task_id)).tracked_seconds, String(1_200 + 2_700 + 60));

  await button(page, 'The week after').click();
  await sheet.getByText('0:01').first().waitFor();
  await button(page, 'This week').click();
  await sheet.getByText('1:05').first().waitFor();
});

/** Returns the API timestamp of `seconds` ago, in the time zone of the tests (UTC). */
const timestampAgo = (seconds: number) =>
  new Date(Date.now() - seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');

async function createTask({ carillon }: ApiUser): Promise<string> {
  const { project_id } = await carillon.projects.create({ project_name: 'Bells' });
  return (await carillon.tasks.create(project_id, { task_name: 'Cast' })).task_id;
}

test('90 is logged as 1:30, and no entry, edit or change of date makes a day exceed 24 hours', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'projects' });
  const task_id = await createTask(owner);
  const monday = mondayOf(today());
  const day = (ahead: number) => plusDays(monday, ahead).replaceAll('-', '');
  await owner.carillon.timeEntries.create(task_id, { seconds: 20 * 3_600, date: day(0) });
  const { entry_id } = await owner.carillon.timeEntries.create(task_id, { seconds: 5 * 3_600, date: day(1) });
  await openScreen(page, 'time');
  const form = page.getByRole('form', { name: 'Enter time' });
  await form.getByLabel('Day').fill(monday);
  await form.getByLabel('Time').fill('90');
  await form.getByText('90 minutes (1:30)').waitFor();
  await form.getByLabel('Time').press('Enter');
  await page.getByRole('button', { name: 'Change Time of 1:30 on Cast' }).waitFor();
  for (const [input, message] of [
    ['96:00', 'A day has 24 hours. Enter at most 24:00.'],
    ['3h', /^That makes 24:30 on .* A day has 24 hours\.$/],
  ] as const) {
    await form.getByLabel('Time').fill(input);
    await form.getByLabel('Time').press('Enter');
    await form.getByText(message).waitFor();
  }
  await page.getByRole('button', { name: 'Change Time of 1:30 on Cast' }).click();
  await page.getByLabel('Time of 1:30 on Cast').fill('4:01');
  await page.keyboard.press('Enter');
  await page.getByText(/^That makes 24:01 on /).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Change Day of 5:00 on Cast' }).click();
  await page.getByLabel('Day of 5:00 on Cast').fill(monday);
  await page.keyboard.press('Enter');
  await page.getByText(/^That makes 26:30 on /).waitFor();
  const { data } = await owner.carillon.timeEntries.list({ task_id });
  assert.deepEqual(data.map(({ seconds }) => seconds).sort(), ['18000', '5400', '72000']);
  assert.equal((await owner.carillon.timeEntries.get(entry_id)).date, plusDays(monday, 1));
});

test('a day that an API client made longer than 24 hours can be corrected entry by entry', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'projects' });
  const task_id = await createTask(owner);
  const date = today().replaceAll('-', '');
  for (const hours of [96, 30]) await owner.carillon.timeEntries.create(task_id, { seconds: hours * 3_600, date });
  await openScreen(page, 'time');
  await page.getByRole('button', { name: 'Change Time of 96:00 on Cast' }).click();
  await page.getByLabel('Time of 96:00 on Cast').fill('8');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Change Time of 8:00 on Cast' }).waitFor();
});

test('a timer keeps running across screens, and stopping it creates a time entry', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'projects' });
  const task_id = await createTask(owner);
  await openScreen(page, 'time');
  await button(page, 'Start').click();
  await page.getByRole('timer').waitFor();
  const [started] = (await owner.carillon.timeEntries.list({ task_id, running: '1' })).data;
  assert.ok(started !== undefined);
  // Backdate the start of the timer.
  const date_started = timestampAgo(125);
  await owner.carillon.timeEntries.update(started.entry_id, {
    date_started,
    date: date_started.slice(0, 10).replaceAll('-', ''),
  });
  await openScreen(page, 'tasks');
  await openScreen(page, 'time');
  await page.getByText(/^0:02:\d\d$/).waitFor();
  await button(page, 'Stop').click();
  await button(page, 'Start').waitFor();
  const [entry] = (await owner.carillon.timeEntries.list({ task_id })).data;
  assert.ok(entry !== undefined && Number(entry.seconds) >= 125);
  assert.ok(entry.date_stopped > entry.date_started);
  assert.equal(entry.date, date_started.slice(0, 10));
});

test('a timer stopped within a minute is discarded, with Undo', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'projects' });
  const task_id = await createTask(owner);
  await openScreen(page, 'time');
  await button(page, 'Start').click();
  await button(page, 'Stop').click();
  await page.getByText('Timer discarded: it ran for less than a minute.').waitFor();
  await button(page, 'Start').waitFor();
  assert.deepEqual((await owner.carillon.timeEntries.list({ task_id })).data, []);
  await button(page, 'Undo').click();
  await page.getByRole('timer').waitFor();
  assert.equal((await owner.carillon.timeEntries.list({ task_id, running: '1' })).data.length, 1);
});

test('a timer that ran over the weekend asks for the time worked', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'projects' });
  const task_id = await createTask(owner);
  const date_started = timestampAgo(60 * 3_600);
  const { entry_id } = await owner.carillon.timeEntries.create(task_id, { seconds: 0, date_started });
  await openScreen(page, 'time');
  await button(page, 'Stop').click();
  const form = page.getByRole('form', { name: 'Correct the time' });
  await form.getByText(/^That makes 60:00 on .* A day has 24 hours\.$/).waitFor();
  assert.equal((await owner.carillon.timeEntries.get(entry_id)).seconds, '0', 'nothing is logged before');
  await form.getByLabel('Time worked').fill('7:30');
  await button(page, 'Save').click();
  await button(page, 'Start').waitFor();
  const { seconds, date_stopped } = await owner.carillon.timeEntries.get(entry_id);
  assert.equal(seconds, String(7.5 * 3_600));
  assert.ok(date_stopped > date_started);
});

const NO_DATE = '0000-00-00 00:00:00';

test('showDay formats a day, with its time if it has one', () => {
  assert.equal(formatDayAndTime('2027-04-20 00:00:00'), '20 Apr 2027');
  assert.equal(formatDayAndTime('2027-04-02 14:30:00'), '2 Apr 2027, 14:30');
  assert.equal(formatDayAndTime('2027-12-31'), '31 Dec 2027');
  assert.equal(formatDayAndTime(NO_DATE), '');
});

test('showSpan formats a range; equal ends are shown once, missing ends are omitted', () => {
  assert.equal(formatDayRange('2027-04-20 00:00:00', '2027-04-24 00:00:00'), '20 Apr 2027 – 24 Apr 2027');
  assert.equal(formatDayRange('2027-04-20 00:00:00', '2027-04-20 00:00:00'), '20 Apr 2027');
  assert.equal(formatDayRange('2027-04-20 00:00:00', NO_DATE), '20 Apr 2027');
  assert.equal(formatDayRange(NO_DATE, '2027-04-20 00:00:00'), 'until 20 Apr 2027');
  assert.equal(formatDayRange(NO_DATE, NO_DATE), '');
});

test('dayOf and timeOf split a timestamp; missing parts are empty', () => {
  assert.equal(dayOrEmpty('2027-04-20 14:30:00'), '2027-04-20');
  assert.equal(timeOrEmpty('2027-04-20 14:30:00'), '14:30');
  assert.equal(dayOrEmpty(NO_DATE), '');
  assert.equal(timeOrEmpty('2027-04-20 00:00:00'), '');
});

test('withDay keeps the time of day; an empty day stays empty', () => {
  assert.equal(replaceDay('2027-04-20 00:00:00', '2027-05-01'), '20270501');
  assert.equal(replaceDay('2027-04-20 14:30:15', '2027-05-01'), '2027-05-01 14:30:15');
  assert.equal(replaceDay(NO_DATE, '2027-05-01'), '20270501');
  assert.equal(replaceDay('2027-04-20 14:30:00', ''), '');
});

test('days are counted over months, leap days and daylight saving time', () => {
  assert.equal(daysBetween('2028-02-28', '2028-03-01'), 2);
  assert.equal(daysBetween('2027-03-27', '2027-03-29'), 2);
  assert.equal(daysBetween('2027-11-08', '2027-11-06'), -2);
  assert.equal(plusDays('2027-12-31', 1), '2028-01-01');
  assert.equal(plusDays('2027-03-01', -1), '2027-02-28');
});

test('a due date has relative text, and a warning color when it is soon or past', () => {
  const dueIn20April = (day: string) => describeDueDate(day, '2027-04-20');
  assert.deepEqual(dueIn20April('2027-04-20'), { text: 'today', tone: 'warn' });
  assert.deepEqual(dueIn20April('2027-04-21'), { text: 'tomorrow', tone: 'warn' });
  assert.deepEqual(dueIn20April('2027-04-23'), { text: 'in 3 days', tone: 'warn' });
  assert.deepEqual(dueIn20April('2027-04-27'), { text: 'in 7 days', tone: 'warn' });
  assert.deepEqual(dueIn20April('2027-04-28'), { text: 'in 8 days', tone: 'plain' });
  assert.deepEqual(dueIn20April('2027-06-19'), { text: 'in 60 days', tone: 'plain' });
  assert.deepEqual(dueIn20April('2027-06-20'), { text: '', tone: 'plain' });
  assert.deepEqual(dueIn20April('2027-04-19'), { text: '1 day late', tone: 'bad' });
  assert.deepEqual(dueIn20April('2027-04-18'), { text: '2 days late', tone: 'bad' });
});

test('today is the local day, until its last minute', () => {
  assert.equal(today(new Date(2027, 3, 20, 23, 59)), '2027-04-20');
  assert.equal(today(new Date(2027, 3, 21, 0, 1)), '2027-04-21');
});
