import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Started, startProcess } from '../demo/started.ts';
import { startBrowser } from '../test/harness/chromium.ts';
import { DAY_MS, dayOf, fillWithEvents } from './events.ts';
import { latencies } from './measured.ts';
import { keepStudy } from './results.ts';
import { signIn } from './signed-in.ts';

// How long somebody waits for a month of the calendar, in a real browser: from the click on "Next month" until its
// events are painted, in a small account and in one of a million events.
const { values } = parseArgs({ options: { samples: { type: 'string', default: '24' } } });
const SAMPLES = Number(values.samples);

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof startBrowser>>['newPage']>>;

/** How many events, spread evenly over so many years around today. */
const accounts = [
  { events: 1_000, years: 5 },
  { events: 1_000_000, years: 50 },
];
async function measure(page: Page, act: () => Promise<unknown>): Promise<[number, number]> {
  await page.evaluate('begin()');
  await act();
  return (await page.evaluate('painted')) as [number, number];
}

async function opened(
  service: Started,
  owner: { database: string; domain: string; key: string },
): Promise<{ page: Page; close: () => Promise<void> }> {
  const browser = await startBrowser();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB' });
  await signIn(context, service, owner);
  const page = await context.newPage();
  await page.addInitScript({ path: fileURLToPath(new URL('painted.js', import.meta.url)) });
  await page.goto(`${service.baseUrl}/#/calendar`);
  return { page, close: () => browser.close() };
}

const results: Record<string, object> = {};
for (const account of accounts) {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
  const database = `sqlite:${join(folder, 'carillon.db')}`;
  const first = await startProcess({ CARILLON_DATABASE: database, CARILLON_PORT: '0' });
  const domain = first.domain ?? '';
  await first.stop('SIGTERM');
  await fillWithEvents(database, account);
  const service = await startProcess({ CARILLON_DATABASE: database, CARILLON_PORT: '0' });
  const headers = { domain, key: first.key ?? '' };
  const { page, close } = await opened(service, { database, domain, key: headers.key });
  const next = page.getByRole('button', { name: 'Next month' });
  await page.waitForSelector('.calendar[data-shown^="month"]');
  const month = dayOf(Date.now()).slice(0, 7).replace('-', '');
  const inMonth = await totalOf(service.baseUrl, headers, `start_from=${month}01&start_to=${month}28`);
  // Somebody looks at a month before they go on; the next one has come meanwhile.
  const nexts: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    await page.waitForTimeout(700);
    nexts.push((await measure(page, () => next.click()))[1]);
  }
  // Somebody goes to a month that nobody has asked for.
  const jumps: [number, number][] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    // Steps of five months never meet a neighbour of the one before, which has come by now.
    const monthsBack = 1 + ((sample * 5) % (account.years * 6));
    const date = dayOf(Date.now() - monthsBack * 30.44 * DAY_MS);
    jumps.push(await measure(page, () => page.evaluate(`location.assign('#/calendar?date=${date}')`)));
    await page.waitForTimeout(700);
  }
  const came = {
    eventsInMonth: inMonth,
    nextMonthMs: latencies(nexts),
    unaskedFirstMs: latencies(jumps.map(([firstMs]) => firstMs)),
    unaskedWholeMs: latencies(jumps.map(([, wholeMs]) => wholeMs)),
  };
  results[`${account.events} events over ${account.years} years`] = came;
  process.stdout.write(
    `${account.events} events, ${inMonth} in 28 days: next month p50 ${came.nextMonthMs.p50} ms, p95 ${came.nextMonthMs.p95}; ` +
      `unasked: first events p50 ${came.unaskedFirstMs.p50}, p95 ${came.unaskedFirstMs.p95}; whole p50 ${came.unaskedWholeMs.p50}, p95 ${came.unaskedWholeMs.p95}\n`,
  );
  await close();
  await service.stop('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}
keepStudy('month-paint', results);

async function totalOf(baseUrl: string, headers: Record<string, string>, filters: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/v2/events?limit=1&${filters}`, { headers });
  return ((await answer.json()) as { paging: { total_records: number } }).paging.total_records;
}
