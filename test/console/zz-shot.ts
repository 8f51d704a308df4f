import { after, test } from 'node:test';
import { consoleOf } from '../harness/browser.ts';

test('shots', async (t) => {
  const { page, owner, open } = await consoleOf(t, { width: 1280, height: 860 });
  const c = owner.carillon;
  const colors = ['#4f46e5', '#ea580c', '', '#0d9488'];
  const names = ['Node 27', 'Website', 'Mobile app', 'Hiring'];
  const ids: string[] = [];
  for (const [i, project_name] of names.entries())
    ids.push((await c.projects.create({ project_name, color: colors[i] ?? '' })).project_id);
  const mk = (event_name: string, start_date: string, due_date: string, p?: number) =>
    c.events.create({ event_name, start_date, due_date, project_id: p === undefined ? '0' : (ids[p] ?? '0') });
  const d = (n: number, time?: string) => `2026-11-${String(n).padStart(2, '0')} ${time ?? '00:00'}:00`;
  await mk('Release v27', d(16), d(20), 0);
  await mk('Code freeze', d(13), d(13), 0);
  await mk('Board meeting', d(12, '14:00'), d(12, '15:30'));
  await mk('Standup', d(19, '09:00'), d(19, '09:15'), 1);
  await mk('Design review', d(19, '11:00'), d(19, '12:30'), 1);
  await mk('Interview: Ada', d(19, '11:30'), d(19, '12:15'), 3);
  await mk('Launch party', d(20, '18:00'), d(20, '23:00'), 2);
  await mk('Offsite', d(5), d(8), 3);
  await mk('Holiday', d(26), d(29));
  await mk('Sprint 12', d(2), d(13), 2);
  await mk('Sprint 13', d(16), d(27), 2);
  for (let i = 0; i < 9; i++)
    await mk(
      `Call ${i}`,
      d(24, `${String(9 + i).padStart(2, '0')}:00`),
      d(24, `${String(9 + i).padStart(2, '0')}:45`),
      i % 4,
    );
  await c.tasks.create(ids[0] ?? '', { task_name: 'Write release notes', due_date: '20261119' });
  const done = await c.tasks.create(ids[1] ?? '', { task_name: 'Freeze dependencies', due_date: '20261112' });
  await c.tasks.complete(done.task_id);
  const shot = async (p: typeof page, name: string) => {
    await p.waitForSelector('[data-shown]:not([data-shown=""])');
    await p.waitForTimeout(300);
    await p.screenshot({ path: `/tmp/cal/${name}.png` });
  };
  await page.reload();
  await page.goto(page.url().replace(/#.*/, '#/calendar?tasks=1'));
  await shot(page, 'month');
  await page.goto(page.url().replace(/#.*/, '#/calendar?view=week&tasks=1'));
  await shot(page, 'week');
  await page.goto(page.url().replace(/#.*/, '#/calendar?view=list&tasks=1'));
  await shot(page, 'list');
  await page.goto(page.url().replace(/#.*/, '#/calendar?view=day&tasks=1&date=2026-11-19'));
  await shot(page, 'day');
  await page.goto(page.url().replace(/#.*/, '#/calendar'));
  await shot(page, 'm2');
  await page.getByRole('button', { name: 'New event' }).click();
  await page.getByLabel('Repeat').selectOption('weekly');
  await shot(page, 'dialog');
  await page.keyboard.press('Escape');
  await page.getByText('more').first().click();
  await shot(page, 'day-dialog');
  await page.keyboard.press('Escape');
  await page.goto(page.url().replace(/#.*/, '#/calendar?date=2027-06-01'));
  await shot(page, 'empty');
  const dark = await open({ colorScheme: 'dark', path: 'calendar?tasks=1' });
  await shot(dark, 'month-dark');
  await dark.getByLabel('Add an event in one line').fill('Release v28 20 Apr – 24 Apr 14:00 #Node 27');
  await shot(dark, 'quick-dark');
  await dark.getByLabel('Add an event in one line').fill('');
  await dark.goto(dark.url().replace(/#.*/, '#/calendar?view=week&tasks=1'));
  await shot(dark, 'week-dark');
  const narrow = await open({ width: 390, height: 780, path: 'calendar?tasks=1' });
  await shot(narrow, 'narrow');
  await narrow.goto(narrow.url().replace(/#.*/, '#/calendar?view=list&tasks=1'));
  await shot(narrow, 'narrow-list');
  await narrow.goto(narrow.url().replace(/#.*/, '#/calendar?view=week&tasks=1'));
  await shot(narrow, 'narrow-week');
});
