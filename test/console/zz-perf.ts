import { test } from 'node:test';
import { writeFileSync } from 'node:fs';
import { consoleOf } from '../harness/browser.ts';
import { Inserter } from '../../src/transfer/insert.ts';
test('perf', async (t) => {
  const { page, service } = await consoleOf(t, { width: 1440, height: 900 });
  const ins = new Inserter();
  const rows = Array.from({ length: 12000 }, (_, i) => { const d = new Date(Date.now() + (Math.random() - 0.2) * 200 * 864e5).toISOString().slice(0, 10); const k = Math.random(); const h = 8 + (i % 10); const due = k < 0.7 ? d : new Date(Date.parse(d) + (1 + (i % 6)) * 864e5).toISOString().slice(0, 10); return { event_id: i + 1, account_id: 2, event_name: `Release of version ${i}`, start_date: `${d} ${k < 0.4 ? String(h).padStart(2, '0') + ':00:00' : '00:00:00'}`, due_date: `${due} ${k < 0.4 ? String(h + 1).padStart(2, '0') + ':00:00' : '00:00:00'}`, project_id: 0, date_created: Date.now(), date_modified: null, user_id: 2 }; });
  await service.store.write((tx) => ins.insert(tx.queries, 'events', rows));
  await page.addInitScript({ path: 'bench/painted.js' });
  await page.reload(); await page.waitForSelector('.calendar[data-shown^="month"]'); await page.waitForTimeout(2500);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Profiler.enable'); await cdp.send('Profiler.setSamplingInterval', { interval: 200 });
  for (let i = 0; i < 4; i++) {
    if (i === 3) await cdp.send('Profiler.start');
    await page.evaluate('begin()'); await page.getByRole('button', { name: 'Next month' }).click();
    console.log(await page.evaluate('painted'));
    if (i === 3) { const { profile } = await cdp.send('Profiler.stop'); writeFileSync('/tmp/cal/p.cpuprofile', JSON.stringify(profile)); }
    await page.waitForTimeout(1500);
  }
});
