import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { plusDays, today } from '../../console/src/days.ts';
import { mondayOf, readSeconds, showSeconds } from '../../console/src/screens/time/durations.ts';
import { consoleOf } from '../harness/browser.ts';
import { visit } from './pages.ts';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });

test('a time is read as people write it, and shown as hours and minutes', () => {
  const written = {
    '1:30': 5_400,
    '0:05': 300,
    '1.5': 5_400,
    '1,25': 4_500,
    '2': 7_200,
    '90m': 5_400,
    '1h 30m': 5_400,
  };
  for (const [text, seconds] of Object.entries(written)) assert.equal(readSeconds(text), seconds, text);
  for (const text of ['', ' ', 'soon', '1:75', '-1', '1h30', 'm']) assert.equal(readSeconds(text), undefined, text);
  assert.deepEqual([0, 59, 60, 3_660, 360_000].map(showSeconds), ['0:00', '0:00', '0:01', '1:01', '100:00']);
});

test('a week begins on a Monday, in every year', () => {
  assert.deepEqual(['2027-03-01', '2027-03-07', '2027-01-01', '2024-02-29'].map(mondayOf), [
    '2027-03-01',
    '2027-03-01',
    '2026-12-28',
    '2024-02-26',
  ]);
});

test('time is entered, summed by task and day, changed where it stands, and deleted', async (t) => {
  const { page, owner } = await consoleOf(t, { path: 'projects' });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  const monday = mondayOf(today());
  const day = (ahead: number) => plusDays(monday, ahead).replaceAll('-', '');
  await owner.carillon.timeEntries.create(task_id, { seconds: 5_400, date: day(0) });
  await owner.carillon.timeEntries.create(task_id, { seconds: 600, date: day(1), description: 'Polished' });
  await owner.carillon.timeEntries.create(task_id, { seconds: 60, date: day(7) });
  await visit(page, 'time');
  const sheet = page.getByRole('region', { name: 'Time sheet' });
  const cells = async (name: string | RegExp) => sheet.getByRole('row', { name }).locator('td').allInnerTexts();
  await sheet.getByText('1:40').first().waitFor();
  assert.deepEqual(await cells(/^Cast/), ['1:30', '0:10', '–', '–', '–', '–', '–', '1:40']);

  const form = page.getByRole('form', { name: 'Enter time' });
  await form.getByLabel('Time').fill('later');
  await button(page, 'Enter').click();
  await form.getByText('Write it as 1:30, 1.5 or 90m.').waitFor();
  await form.getByLabel('Day').fill(plusDays(monday, 2));
  await form.getByLabel('Time').fill('45m');
  await form.getByLabel('Description').fill('Tuned');
  await button(page, 'Enter').click();
  await sheet.getByText('2:25').first().waitFor();
  assert.deepEqual(await cells(/^All/), ['1:30', '0:10', '0:45', '–', '–', '–', '–', '2:25']);

  await page.getByRole('button', { name: 'Change Time of 0:10 on Cast' }).click();
  await page.getByLabel('Time of 0:10 on Cast').fill('soon');
  await page.keyboard.press('Enter');
  await page.getByText('Write it as 1:30, 1.5 or 90m.').waitFor();
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

test('a timer runs until it is stopped, whatever page is looked at meanwhile, and enters what it came to', async (t) => {
  const { page, owner } = await consoleOf(t, { path: 'projects' });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  await visit(page, 'time');
  await button(page, 'Start').click();
  await page.getByRole('timer').waitFor();
  await visit(page, 'tasks');
  await visit(page, 'time');
  await page.getByText('0:00:02').waitFor();
  await button(page, 'Stop').click();
  await button(page, 'Start').waitFor();
  const [entry] = (await owner.carillon.timeEntries.list({ task_id })).data;
  assert.ok(entry !== undefined && Number(entry.seconds) >= 2);
  assert.ok(entry.date_stopped > entry.date_started);
  assert.equal(entry.date, today());
});
