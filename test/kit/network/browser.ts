import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { atEnd, type Cleanup } from '../cleanup.ts';
import { closeAtProcessEnd } from '../preload.ts';
import type { ApiUser, ServiceSetup, TestService } from '../service/service.ts';
import { sqlite } from '../service/stores.ts';

/** A console window to open: user, path and browser settings. */
export type ConsoleWindow = {
  /** The signed-in user. The default is the owner; null opens a window without a session. */
  readonly as?: ApiUser | null;
  /** Sets PASSPHRASE for the user through a link, which also signs in, but is slow. The default is a session cookie. */
  readonly hasPassphrase?: true;
  /** The path of the screen, after `#/`. */
  readonly path?: string;
  readonly timezoneId?: string;
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** Console errors that the test expects. */
  readonly expects?: RegExp;
};

export type ConsoleFixture = {
  readonly service: TestService;
  readonly owner: ApiUser;
  readonly page: Page;
  /** Opens another window with its own cookies. */
  open(window?: ConsoleWindow): Promise<Page>;
};

let browserPromise: Promise<Browser> | undefined;

/** Returns the browser, which all tests of a process share. */
function sharedBrowser(): Promise<Browser> {
  browserPromise ??= startBrowser();
  return browserPromise;
}

closeAtProcessEnd(async () => (await browserPromise)?.close());

/**
 * Collects the errors of a page and its requests to other hosts. openConsole() asserts at the end of the test that the
 * list is empty.
 */
function collectErrors(context: BrowserContext, base: string): string[] {
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
export async function startConsole(
  t: Cleanup,
  window: ConsoleWindow = {},
  setup: ServiceSetup = {},
): Promise<ConsoleFixture> {
  const service = await sqlite.testService(t, setup);
  const owner = await service.createAccount('acme.test');
  const open = (one: ConsoleWindow = {}) => openConsole(t, service, { as: owner, ...one });
  return { service, owner, open, page: await open(window) };
}

/** Opens the console of a service in a new window. */
export async function openConsole(t: Cleanup, service: TestService, window: ConsoleWindow): Promise<Page> {
  const { path = 'calendar', timezoneId = 'UTC', colorScheme = 'light', width = 1280, height = 860 } = window;
  const context = await (await sharedBrowser()).newContext({
    timezoneId,
    colorScheme,
    locale: 'en-GB',
    viewport: { width, height },
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(10_000);
  const errors = collectErrors(context, service.baseUrl);
  atEnd(t, async () => {
    // Requests that are aborted because the page closes are not errors.
    for (const routed of [context, ...context.pages()]) await routed.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
    const unexpectedErrors = errors.filter((error) => window.expects?.test(error) !== true);
    assert.deepEqual(unexpectedErrors, [], 'nothing goes wrong in the page');
  });
  if (window.as !== null && window.as !== undefined) {
    await (window.hasPassphrase ? setPassphrase : addSessionCookie)(context, service, window.as);
  }
  const page = await context.newPage();
  await page.goto(`${service.baseUrl}/#/${path}`);
  return page;
}

/** Adds a session cookie to the window. */
async function addSessionCookie(context: BrowserContext, service: TestService, user: ApiUser): Promise<void> {
  const { headers } = await service.signIn(user);
  const [name = '', value = ''] = headers.cookie?.split('=') ?? [];
  await context.addCookies([{ name, value, url: service.baseUrl, httpOnly: true, sameSite: 'Strict' }]);
}

/** The passphrase of every user in these tests that has a passphrase. */
export const PASSPHRASE = 'correct horse battery staple';

/** Sets the passphrase of a user through a one-time link, which also signs in this window. */
async function setPassphrase(context: BrowserContext, service: TestService, user: ApiUser): Promise<void> {
  const token = new URL(await service.createInvitationLink(user)).hash.replace('#/welcome/', '');
  const response = await context.request.post(`${service.baseUrl}/console/welcome`, {
    headers: { origin: service.baseUrl, 'sec-fetch-site': 'same-origin' },
    data: { token, passphrase: PASSPHRASE },
  });
  assert.equal(response.status(), 200, await response.text());
}

/** Common paths of Chromium. The variable TEST_BROWSER replaces them. */
const CHROMIUM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

const require = createRequire(import.meta.url);

type UnpackedChromium = { readonly executablePath: string; readonly libraryFolder: string };

/**
 * Returns the Chromium of the npm package, which is unpacked once per machine. It runs only on Linux; other systems
 * need an installed browser.
 */
async function unpackedChromium(): Promise<UnpackedChromium> {
  const module = require.resolve('@sparticuz/chromium');
  const { version } = require(join(dirname(module), '../package.json')) as { version: string };
  // A test run deletes its temporary folder, but keeps this one.
  const folder = join(process.env.TEST_LASTING_FOLDER ?? tmpdir(), `carillon-chromium-${version}`);
  if (!existsSync(folder)) await unpackChromium(module, folder);
  return { executablePath: join(folder, 'chromium'), libraryFolder: join(folder, 'al2023/lib') };
}

/** Unpacks into a temporary folder and renames it, so that other processes never see a partially unpacked folder. */
async function unpackChromium(module: string, folder: string): Promise<void> {
  const temporaryFolder = `${folder}.${process.pid}`;
  mkdirSync(temporaryFolder, { recursive: true });
  const { TMPDIR } = process.env;
  process.env.TMPDIR = temporaryFolder;
  try {
    const { default: packed, inflate } = await import('@sparticuz/chromium');
    await packed.executablePath();
    await inflate(join(dirname(module), '../bin/al2023.tar.br'));
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
  try {
    renameSync(temporaryFolder, folder);
  } catch (error) {
    // If the folder exists, another process has renamed its own folder first.
    if (!existsSync(folder)) throw error;
    rmSync(temporaryFolder, { recursive: true, force: true });
  }
}

const CHROMIUM_ARGUMENTS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--font-render-hinting=none',
  '--no-first-run',
  // Tests also run as root in containers, where the sandbox does not work. All pages are from this repository.
  '--no-sandbox',
];

/** Starts the installed Chromium, or the Chromium of the npm package. */
async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.TEST_BROWSER ?? CHROMIUM_PATHS.find((path) => existsSync(path));
  if (executablePath !== undefined) return chromium.launch({ executablePath, args: CHROMIUM_ARGUMENTS });
  const { executablePath: unpackedPath, libraryFolder } = await unpackedChromium();
  try {
    return await chromium.launch({ executablePath: unpackedPath, args: CHROMIUM_ARGUMENTS });
  } catch (error) {
    // A minimal system lacks shared libraries that the browser links to. The package contains them.
    if (!String(error).includes('shared libraries')) throw error;
    const env = { ...process.env, LD_LIBRARY_PATH: libraryFolder };
    return chromium.launch({ executablePath: unpackedPath, args: CHROMIUM_ARGUMENTS, env });
  }
}

const axeScript = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type AxeViolation = {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
};

/** Returns the accessibility violations that axe reports for the page, one line each. */
export async function findAxeViolations(page: Page, pageLabel: string): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axeScript);
  const found = (await page.evaluate(`(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => ({
      id, nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })),
    }));
  })()`)) as readonly AxeViolation[];
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${pageLabel}: ${id}: ${html.slice(0, 160)} ${failureSummary}`),
  );
}
