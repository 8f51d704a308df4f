import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '../demo/started.ts';
import { startBrowser } from '../test/harness/chromium.ts';
import { latencies } from './measured.ts';
import { keepStudy } from './results.ts';
import { signIn } from './signed-in.ts';

// How long somebody waits for the console with nothing of it in the cache: until the calendar is drawn and answers a
// key; and for the way in, where nobody is signed in.
const SAMPLES = 20;

const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
const database = `sqlite:${join(folder, 'carillon.db')}`;
const service = await startProcess({ CARILLON_DATABASE: database, CARILLON_PORT: '0' });
const browser = await startBrowser();
const window = { viewport: { width: 1440, height: 900 }, locale: 'en-GB' };
const first = await browser.newContext(window);
await signIn(first, service, { database, domain: service.domain ?? '', key: service.key ?? '' });
const storageState = await first.storageState();

/** Milliseconds from the navigation on until the page has what is waited for, in a window that has never seen it. */
async function arrival(isSignedIn: boolean): Promise<{ interactiveMs: number; bytes: number }> {
  const context = await browser.newContext(isSignedIn ? { ...window, storageState } : window);
  const page = await context.newPage();
  await page.goto(`${service.baseUrl}/#/calendar`, { waitUntil: 'commit' });
  if (isSignedIn) {
    await page.waitForSelector('.calendar[data-shown^="month"]');
    await page.keyboard.press('w');
    await page.waitForSelector('.calendar[data-shown^="week"]');
  } else {
    await page.getByLabel('Email').fill('o');
  }
  const [interactiveMs, bytes] = (await page.evaluate(
    `[performance.now(), performance.getEntriesByType('resource').reduce((sum, one) => sum + one.transferSize, 0)]`,
  )) as [number, number];
  await context.close();
  return { interactiveMs, bytes };
}

const results: Record<string, object> = {};
for (const [name, isSignedIn] of [
  ['the calendar', true],
  ['the way in', false],
] as const) {
  const samples = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) samples.push(await arrival(isSignedIn));
  const interactiveMs = latencies(samples.map((one) => one.interactiveMs));
  const [{ bytes } = { bytes: 0 }] = samples;
  results[name] = { interactiveMs, bytes };
  process.stdout.write(
    `${name}: drawn and answering after p50 ${interactiveMs.p50} ms, p95 ${interactiveMs.p95} ms; ${bytes} bytes\n`,
  );
}
keepStudy('first-paint', results);
await browser.close();
await service.stop('SIGTERM');
rmSync(folder, { recursive: true, force: true });
