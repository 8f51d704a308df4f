import { after, test } from 'node:test';
import { consoleOf } from '../harness/browser.ts';

test('dbg', async (t) => {
  const { page, owner } = await consoleOf(t);
  await owner.carillon.events.create({ event_name: 'x', start_date: '20261120', due_date: '20261120' });
  page.on('console', (m) => console.log(m.type(), m.text()));
  page.on('response', (r) => console.log(r.status(), r.url().slice(-110)));
  const go = async (h: string) => {
    console.log('--', h);
    await page.goto(page.url().replace(/#.*/, h));
    await page.waitForTimeout(900);
    console.log(await page.locator('.calendar').getAttribute('data-shown'), await page.locator('.ec-event').count());
  };
  await go('#/calendar?view=day&tasks=1&date=2026-11-19');
  await go('#/calendar');
  await go('#/calendar?view=week');
});
