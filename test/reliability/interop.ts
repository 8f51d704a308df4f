import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder, startTestService } from '../kit/service/service.ts';
import type { ReliabilityTest, RunParameters, RunResult } from './reliability-test.ts';

/** Reliability test X9 with khal, an independent calendar program (`apt-get install khal`). */
export const khal: ReliabilityTest = {
  id: 'X9',
  name: 'khal',
  title: 'the calendar program khal reads a calendar of Carillon, and Carillon imports a file of khal',
  promise: 'every entry appears at its time',
  unit: 'calendar in each direction',
  quick: undefined,
  full: 1,
  lacks: () => (spawnSync('khal', ['--version']).error === undefined ? undefined : 'khal is not installed'),
  execute,
};

const createConfig = (folder: string) => `[calendars]
[[bells]]
path = ${join(folder, 'bells')}
[locale]
local_timezone = Europe/Zurich
default_timezone = Europe/Zurich
timeformat = %H:%M
dateformat = %Y-%m-%d
longdateformat = %Y-%m-%d
datetimeformat = %Y-%m-%d %H:%M
longdatetimeformat = %Y-%m-%d %H:%M
[sqlite]
path = ${join(folder, 'khal.db')}
`;

async function execute({ context, log }: RunParameters): Promise<RunResult> {
  const folder = createTemporaryFolder(context);
  const config = join(folder, 'khal.conf');
  writeFileSync(config, createConfig(folder));
  const khal = (...args: readonly string[]) =>
    execFileSync('khal', ['-c', config, ...args], {
      encoding: 'utf8',
      env: { ...process.env, HOME: folder, LC_ALL: 'C.UTF-8' },
    });

  /** Lists the entries of a day: times, title, categories. */
  const listEntries = (day: string) =>
    khal(
      'list',
      '--format',
      '{start-style}|{start-time}|{end-time}|{title}|{categories}',
      '--day-format',
      '',
      day,
      '1d',
    )
      .trim()
      .split('\n');

  const carillon = await startTestService(context, `sqlite:${join(folder, 'carillon.db')}`, {});
  const { carillon: client } = await carillon.createAccount('acme.test');
  const year = new Date().getUTCFullYear() + 1;
  const { project_id } = await client.projects.create({ project_name: 'Bells' });
  const create = (event_name: string, start_date: string, due_date: string) =>
    client.events.create({ event_name, start_date, due_date, project_id });
  await create('All day: 予定 😀; a, b\\c', `${year}0330`, `${year}0331`);
  await create('At nine, after the clocks have changed', `${year}-03-31 09:00:00`, `${year}-03-31 10:30:00`);
  await create('To midnight', `${year}-03-31 22:00:00`, `${year}-03-31 23:59:59`);
  await client.tasks.create(project_id, { task_name: 'Due', due_date: `${year}0331` });
  const { url } = await client.calendars.create({ scope: 'account', time_zone: 'Europe/Zurich' });
  const text = await (await fetch(url)).text();
  writeFileSync(join(folder, 'ours.ics'), text);
  khal('import', '--batch', '-a', 'bells', join(folder, 'ours.ics'));
  const shown = listEntries(`${year}-03-31`);
  for (const line of shown) log(line);
  const found = shown.map((line) => line.replace(/^[^|]*\|/, '')).sort();
  assert.deepEqual(
    found,
    [
      '||All day: 予定 😀; a, b\\c|Bells',
      '||Due|Bells',
      '09:00|10:30|At nine, after the clocks have changed|Bells',
      '22:00|00:00|To midnight|Bells',
    ].sort(),
  );
  khal(
    'new',
    '-a',
    'bells',
    `${year}-04-01`,
    '14:00',
    '15:15',
    'Europe/Zurich',
    'Made in khal',
    '--repeat',
    'weekly',
    '--until',
    `${year}-04-16`,
  );
  const [written = ''] = readdirSync(join(folder, 'bells'))
    .map((name) => readFileSync(join(folder, 'bells', name), 'utf8'))
    .filter((ics) => ics.includes('Made in khal'));
  const report = await client.events.import({ ics: written });
  const importedDates = (await client.events.list({ from: `${year}0401` })).data.map(({ start_date, due_date }) => [
    start_date,
    due_date,
  ]);
  assert.equal(report.created, '3');
  assert.deepEqual(importedDates[0], [`${year}-04-01 14:00:00`, `${year}-04-01 15:15:00`]);
  return { counts: { 'entries shown': found.length, 'entries read back': importedDates.length }, broken: [] };
}
