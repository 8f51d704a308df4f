import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startBrowser } from './chromium.ts';
import { atEnd, type Cleanup } from './cleanup.ts';
import type { Person, Setup, TestService } from './service.ts';
import { sqlite } from './stores.ts';

/** How a page is opened: by whom, where, and in what kind of window. */
export type Window = {
  /** Who is signed in; the owner when left out, nobody when null. */
  readonly as?: Person | null;
  /** They have signed in by a link, with PASSPHRASE, which takes a moment; else the window has a session from the start. */
  readonly hasPassphrase?: true;
  /** What follows `#/`. */
  readonly path?: string;
  readonly timezoneId?: string;
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** Faults of the page that the test is about. */
  readonly expects?: RegExp;
};

export type Console = {
  readonly service: TestService;
  readonly owner: Person;
  readonly page: Page;
  /** One more window, with cookies of its own. */
  open(window?: Window): Promise<Page>;
};

let started: Promise<Browser> | undefined;

/** One browser for a test file. */
function browser(): Promise<Browser> {
  started ??= startBrowser();
  return started;
}

// Here and not where it is started: there it would end with the test that was the first to need it.
after(async () => (await started)?.close());

/** What went wrong in a page without anybody asking: it must be nothing, and is looked at when the test ends. */
function watch(context: BrowserContext, base: string): string[] {
  const faults: string[] = [];
  context.on('weberror', (error) => faults.push(`error: ${error.error().message}`));
  context.on('console', (message) => {
    // What is refused is no fault of the page: it shows it.
    const isRefusal = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isRefusal) faults.push(`console: ${message.text()}`);
  });
  context.on('request', (request) => {
    if (!request.url().startsWith(base) && !/^(data|blob):/.test(request.url())) faults.push(`call: ${request.url()}`);
  });
  return faults;
}

/** A service with an account, and its console in a real browser, where somebody has signed in. */
export async function consoleOf(t: Cleanup, window: Window = {}, setup: Setup = {}): Promise<Console> {
  const service = await sqlite.testService(t, setup);
  const owner = await service.account('acme.test');
  const open = (one: Window = {}) => openConsole(t, service, { as: owner, ...one });
  return { service, owner, open, page: await open(window) };
}

/** Opens the console of a service in a window of its own. */
export async function openConsole(t: Cleanup, service: TestService, window: Window): Promise<Page> {
  const { path = 'calendar', timezoneId = 'UTC', colorScheme = 'light', width = 1280, height = 860 } = window;
  const context = await (await browser()).newContext({
    timezoneId,
    colorScheme,
    locale: 'en-GB',
    viewport: { width, height },
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(10_000);
  const faults = watch(context, service.baseUrl);
  atEnd(t, async () => {
    // What a page still asks for as it closes is nobody's fault.
    for (const routed of [context, ...context.pages()]) await routed.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
    const unasked = faults.filter((fault) => window.expects?.test(fault) !== true);
    assert.deepEqual(unasked, [], 'nothing goes wrong in the page');
  });
  if (window.as !== null && window.as !== undefined) {
    await (window.hasPassphrase ? welcome : enter)(context, service, window.as);
  }
  const page = await context.newPage();
  await page.goto(`${service.baseUrl}/#/${path}`);
  return page;
}

/** Gives somebody a session in this window. */
async function enter(context: BrowserContext, service: TestService, person: Person): Promise<void> {
  const { headers } = await service.signIn(person);
  const [name = '', value = ''] = headers.cookie?.split('=') ?? [];
  await context.addCookies([{ name, value, url: service.baseUrl, httpOnly: true, sameSite: 'Strict' }]);
}

/** Of everybody who has one here. */
export const PASSPHRASE = 'correct horse battery staple';

/** Gives somebody a passphrase by a one-time link, as an admin would, and a session in this window. */
async function welcome(context: BrowserContext, service: TestService, person: Person): Promise<void> {
  const token = new URL(await service.link(person)).hash.replace('#/welcome/', '');
  const answer = await context.request.post(`${service.baseUrl}/console/welcome`, {
    headers: { origin: service.baseUrl, 'sec-fetch-site': 'same-origin' },
    data: { token, passphrase: PASSPHRASE },
  });
  assert.equal(answer.status(), 200, await answer.text());
}
