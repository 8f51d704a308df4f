import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startBrowser } from './chromium.ts';
import { atEnd, type Cleanup } from './cleanup.ts';
import type { Person, Setup, TestService } from './service.ts';
import { sqlite } from './stores.ts';

/** A console window to open: user, path and browser settings. */
export type Window = {
  /** The signed-in user; the owner when left out, no session when null. */
  readonly as?: Person | null;
  /** Signs in with PASSPHRASE, set through a link, which is slow. Without it the window starts with a session. */
  readonly hasPassphrase?: true;
  /** The path after `#/`. */
  readonly path?: string;
  readonly timezoneId?: string;
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** Console errors that the test expects. */
  readonly expects?: RegExp;
};

export type Console = {
  readonly service: TestService;
  readonly owner: Person;
  readonly page: Page;
  /** Opens another window with its own cookies. */
  open(window?: Window): Promise<Page>;
};

let started: Promise<Browser> | undefined;

/** Returns the browser, which all tests of a file share. */
function browser(): Promise<Browser> {
  started ??= startBrowser();
  return started;
}

// Registered at file level: inside startBrowser() the hook would belong to the first test that needs a browser.
after(async () => (await started)?.close());

/**
 * Collects the errors and foreign requests of a page. openConsole() asserts at the end of the test that there
 * are none.
 */
function watch(context: BrowserContext, base: string): string[] {
  const errors: string[] = [];
  context.on('weberror', (error) => errors.push(`error: ${error.error().message}`));
  context.on('console', (message) => {
    // A rejected request is a valid result that the page displays.
    const isRejectedRequest = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isRejectedRequest) errors.push(`console: ${message.text()}`);
  });
  context.on('request', (request) => {
    if (!request.url().startsWith(base) && !/^(data|blob):/.test(request.url())) errors.push(`call: ${request.url()}`);
  });
  return errors;
}

/** Starts a service with one account and opens its console in a browser. */
export async function consoleOf(t: Cleanup, window: Window = {}, setup: Setup = {}): Promise<Console> {
  const service = await sqlite.testService(t, setup);
  const owner = await service.account('acme.test');
  const open = (one: Window = {}) => openConsole(t, service, { as: owner, ...one });
  return { service, owner, open, page: await open(window) };
}

/** Opens the console of a service in a new window. */
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
  const errors = watch(context, service.baseUrl);
  atEnd(t, async () => {
    // Requests that are aborted because the page closes are not errors.
    for (const routed of [context, ...context.pages()]) await routed.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
    const unexpected = errors.filter((error) => window.expects?.test(error) !== true);
    assert.deepEqual(unexpected, [], 'nothing goes wrong in the page');
  });
  if (window.as !== null && window.as !== undefined) {
    await (window.hasPassphrase ? welcome : enter)(context, service, window.as);
  }
  const page = await context.newPage();
  await page.goto(`${service.baseUrl}/#/${path}`);
  return page;
}

/** Adds a session cookie to the window. */
async function enter(context: BrowserContext, service: TestService, person: Person): Promise<void> {
  const { headers } = await service.signIn(person);
  const [name = '', value = ''] = headers.cookie?.split('=') ?? [];
  await context.addCookies([{ name, value, url: service.baseUrl, httpOnly: true, sameSite: 'Strict' }]);
}

/** The passphrase of every user who has one in these tests. */
export const PASSPHRASE = 'correct horse battery staple';

/** Sets the passphrase of a user through a one-time link, which also signs in this window. */
async function welcome(context: BrowserContext, service: TestService, person: Person): Promise<void> {
  const token = new URL(await service.link(person)).hash.replace('#/welcome/', '');
  const response = await context.request.post(`${service.baseUrl}/console/welcome`, {
    headers: { origin: service.baseUrl, 'sec-fetch-site': 'same-origin' },
    data: { token, passphrase: PASSPHRASE },
  });
  assert.equal(response.status(), 200, await response.text());
}
