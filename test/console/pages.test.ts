import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { CarillonError } from '../../packages/sdk/src/index.ts';
import { runCurl, runSdkLine } from '../kit/api/routes.ts';
import { createTestClock } from '../kit/clock.ts';
import { type ConsoleWindow, findAxeViolations, openConsole, startConsole } from '../kit/network/browser.ts';
import { sqlite } from '../kit/service/stores.ts';
import { type Example, NOW, startExample } from './example.ts';
import { fillLargeAccount, type LargeAccount } from './large-account.ts';
import { openScreen, screenNames, waitUntilShown } from './pages.ts';

/**
 * Two of the four combinations of color scheme and width are tested: all four take twice as long, and the two
 * properties have never influenced each other.
 */
const looks: readonly (readonly [name: string, ConsoleWindow])[] = [
  ['light and wide', { colorScheme: 'light', width: 1280, height: 860 }],
  ['dark and narrow', { colorScheme: 'dark', width: 390, height: 844 }],
];

/** Dialogs, menus and other states: the screen, and a function that opens the dialog, menu or state on it. */
const overlays: readonly (readonly [screen: string, open: (page: Page) => Promise<void>])[] = [
  ['calendar?view=week', () => Promise.resolve()],
  ['calendar?view=day', () => Promise.resolve()],
  ['calendar?view=list', () => Promise.resolve()],
  ['calendar', (page) => openDialog(page, 'New event')],
  ['hooks/new', () => Promise.resolve()],
  ['keys', (page) => openDialog(page, 'API call')],
  ['keys', (page) => openDialog(page, 'Issue a key')],
  ['keys?state=ended', () => Promise.resolve()],
  ['keys', (page) => page.getByRole('button', { name: 'What to do with Release bot' }).click()],
  ['keys', (page) => openMenuItem(page, 'Release bot', 'Rename or narrow…')],
  ['keys', (page) => openMenuItem(page, 'Release bot', 'Revoke…')],
  ['people', (page) => openDialog(page, 'Add somebody')],
  ['people', (page) => openMenuItem(page, 'Build Team', 'Change…')],
  ['people', (page) => openMenuItem(page, 'Build Team', 'New link…')],
  ['people', (page) => openMenuItem(page, 'Build Team', 'Sessions…')],
  ['people', (page) => openMenuItem(page, 'Build Team', 'Delete…')],
];

async function openDialog(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name }).click();
  await page.getByRole('dialog').waitFor();
}

async function openMenuItem(page: Page, owner: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `What to do with ${owner}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
  await page.getByRole('dialog').waitFor();
}

/** Returns the path of the first record of each resource. */
async function recordPaths({ owner: { carillon } }: Example): Promise<readonly string[]> {
  const [project, task, client, contact, hook] = await Promise.all([
    carillon.projects.list({ limit: 1 }),
    carillon.tasks.list({ limit: 1 }),
    carillon.clients.list({ limit: 1 }),
    carillon.contacts.list({ limit: 1 }),
    carillon.hooks.list(),
  ]);
  return [
    `projects/${project.data[0]?.project_id}`,
    `tasks/${task.data[0]?.task_id}`,
    `clients/${client.data[0]?.client_id}`,
    `contacts/${contact.data[0]?.contact_id}`,
    ...hook.data.map(({ id }) => `hooks/${id}`),
  ];
}

let example: Promise<Example> | undefined;

/** Starts the example, or returns it if an earlier test of this file has started it. */
function sharedExample(): Promise<Example> {
  example ??= startExample({ after });
  return example;
}

/** Timeout of an axe test in milliseconds. Each screen takes up to a second. */
const timeout = 300_000;

test('axe reports no violation on any screen of an account in use, in light and dark, wide and narrow', {
  timeout,
}, async (t) => {
  const example = await sharedExample();
  for (const [name, window] of looks) {
    await t.test(name, { timeout }, async (t) => {
      const page = await openConsole(t, example.service, { as: example.owner, ...window });
      await page.clock.setFixedTime(NOW);
      await waitUntilShown(page);
      const found: string[] = [];
      for (const path of [...screenNames, ...(await recordPaths(example))]) {
        await openScreen(page, path);
        found.push(...(await findAxeViolations(page, path)));
      }
      for (const [screen, open] of overlays) {
        await openScreen(page, screen);
        await open(page);
        found.push(...(await findAxeViolations(page, `${screen}: ${open}`)));
        await page.reload();
      }
      assert.deepEqual(found, []);
    });
  }
});

test('axe reports no violation on the screens of an empty account and before sign-in', {
  timeout,
}, async (t) => {
  const { service, owner } = await startConsole(t, { as: null });
  for (const [name, window] of looks) {
    await t.test(name, { timeout }, async (t) => {
      const signedOutPage = await openConsole(t, service, { as: null, ...window });
      await waitUntilShown(signedOutPage);
      const found = [...(await findAxeViolations(signedOutPage, 'signing in'))];
      await openScreen(signedOutPage, 'welcome/leads-nowhere');
      found.push(...(await findAxeViolations(signedOutPage, 'a link that leads nowhere')));
      await openScreen(signedOutPage, new URL(await service.createInvitationLink(owner)).hash.slice(2));
      found.push(...(await findAxeViolations(signedOutPage, 'welcome')));
      const page = await openConsole(t, service, { as: owner, ...window });
      await waitUntilShown(page);
      for (const path of screenNames) {
        await openScreen(page, path);
        found.push(...(await findAxeViolations(page, path)));
      }
      assert.deepEqual(found, []);
    });
  }
});

const layoutFaultsScript = readFileSync(new URL('layout-faults.js', import.meta.url), 'utf8');

/** Window sizes of a desktop, a small laptop and a phone, in pixels. */
const WINDOWS = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 390, height: 844 },
] as const;

/** Returns the paths of every screen, of every view of the calendar, and of one record of each resource. */
const pathsToCheck = ({ undatedProjectId, busyProjectId, taskId }: LargeAccount) => [
  ...screenNames,
  ...['week', 'day', 'list'].map((view) => `calendar?view=${view}`),
  `projects/${undatedProjectId}`,
  `projects/${busyProjectId}`,
  `tasks/${taskId}`,
  'clients/2',
  'contacts/2',
  'hooks/2',
  'hooks/new',
];

/** Dialogs: the screen, and the button that opens the dialog. */
const DIALOGS = [
  ['calendar', 'New event'],
  ['keys', 'Issue a key'],
  ['people', 'Add somebody'],
  ['projects', 'API call'],
] as const;

/** A failed test prints at most this many faults of each page: a few are enough to find the cause. */
const MAX_FAULTS_PER_PAGE = 5;

async function forEachWidth(page: Page, check: (width: number) => Promise<void>): Promise<void> {
  for (const window of WINDOWS) {
    await page.setViewportSize(window);
    // The calendar grid renders again one frame after its resize event.
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    await check(window.width);
  }
  await page.setViewportSize(WINDOWS[0]);
}

async function layoutFaultsOn(page: Page, where: string): Promise<readonly string[]> {
  if (!(await page.evaluate("'layoutFaults' in globalThis"))) await page.evaluate(layoutFaultsScript);
  const found: string[] = [];
  await forEachWidth(page, async (width) => {
    const faults = (await page.evaluate('layoutFaults()')) as readonly string[];
    found.push(...faults.slice(0, MAX_FAULTS_PER_PAGE).map((fault) => `${where} at ${width} px: ${fault}`));
  });
  return found;
}

test('a large account has no layout faults at 1440, 1024 and 390 px', async (t) => {
  const service = await sqlite.testService(t, { deps: { clock: createTestClock(NOW) } });
  const owner = await service.createAccount('acme.test');
  const account = await fillLargeAccount(service, owner);
  const page = await openConsole(t, service, { as: owner, ...WINDOWS[0] });
  await page.clock.setFixedTime(NOW);
  await page.reload();
  await waitUntilShown(page);

  await t.test('no screen scrolls the document, overflows the window, or clips or overlaps text', async () => {
    const found: string[] = [];
    for (const path of pathsToCheck(account)) {
      await openScreen(page, path);
      found.push(...(await layoutFaultsOn(page, path)));
    }
    assert.deepEqual(found, []);
  });

  await t.test('no dialog scrolls the document, overflows the window, or clips or overlaps text', async () => {
    const found: string[] = [];
    for (const [path, button] of DIALOGS) {
      await openScreen(page, path);
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('dialog').waitFor();
      found.push(...(await layoutFaultsOn(page, `${path}: ${button}`)));
      await page.keyboard.press('Escape');
    }
    assert.deepEqual(found, []);
  });

  await t.test('start and end of an event have one row each, with day and time', async () => {
    await openScreen(page, 'calendar');
    await page.getByRole('button', { name: 'New event' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('All day').uncheck();
    const boxOf = async (label: string) => {
      const box = await dialog.getByLabel(label, { exact: true }).boundingBox();
      assert.ok(box !== null, label);
      return box;
    };
    await forEachWidth(page, async (width) => {
      const [from, begins, to, ends] = await Promise.all(['From', 'Begins at', 'To', 'Ends at'].map(boxOf));
      assert.equal(from?.y, begins?.y, `the start at ${width} px`);
      assert.equal(to?.y, ends?.y, `the end at ${width} px`);
      assert.ok((from?.y ?? 0) < (to?.y ?? 0), `two rows at ${width} px`);
    });
    await page.keyboard.press('Escape');
  });

  await t.test('a week opens with the working hours visible, despite many all-day events', async () => {
    const day = '2027-03-10';
    const wholeDay = { start_date: '20270310', due_date: '20270310' };
    await Promise.all([
      ...Array.from({ length: 6 }, (_, index) =>
        owner.carillon.events.create({ event_name: `Fair ${index}`, ...wholeDay }),
      ),
      owner.carillon.events.create({ event_name: 'Early', start_date: `${day} 08:00:00`, due_date: `${day} 09:00:00` }),
    ]);
    await forEachWidth(page, async (width) => {
      await openScreen(page, 'keys');
      await openScreen(page, `calendar?view=week&date=${day}`);
      const early = await page.locator('.board .ec-event', { hasText: 'Early' }).boundingBox();
      const head = await page.locator('.board .ec-header').boundingBox();
      assert.ok(early !== null && head !== null);
      assert.ok(early.y >= head.y + head.height, `at ${width} px`);
    });
  });
});

const BYTES_PER_KB = 1_000;

/** Maximum gzipped size of the JavaScript that the start page, the calendar, loads. */
const MAX_INITIAL_BYTES = 90 * BYTES_PER_KB;

/** Maximum gzipped size of the JavaScript that any other screen loads in addition. */
const MAX_SCREEN_BYTES = 15 * BYTES_PER_KB;

const assetsFolder = new URL('../../console/dist/assets/', import.meta.url);

/** Gzipped size of each script in bytes, by file name. */
const gzippedBytes = new Map(
  readdirSync(assetsFolder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => [name, gzipSync(readFileSync(new URL(name, assetsFolder)), { level: 9 }).length]),
);

const totalBytes = (names: Iterable<string>) =>
  [...names].reduce((total, name) => total + (gzippedBytes.get(name) ?? 0), 0);

test('the start page loads at most 90 KB of gzipped JavaScript; other screens load at most 15 KB more on demand', async (t) => {
  const { service, page } = await startConsole(t);
  await waitUntilShown(page);
  const loaded = new Set<string>();
  page.context().on('request', (request) => {
    assert.ok(request.url().startsWith(service.baseUrl), `nothing comes from elsewhere: ${request.url()}`);
    if (request.resourceType() === 'script') loaded.add(request.url().split('/').at(-1) ?? '');
  });
  await page.reload();
  await waitUntilShown(page);
  const initialScripts = new Set(loaded);
  t.diagnostic(
    `the app with its calendar: ${totalBytes(initialScripts)} bytes in ${initialScripts.size} files; all of it: ${totalBytes(gzippedBytes.keys())}`,
  );
  assert.ok(initialScripts.size > 0 && [...initialScripts].every((name) => gzippedBytes.has(name)));
  assert.ok(totalBytes(initialScripts) <= MAX_INITIAL_BYTES, `${totalBytes(initialScripts)} bytes`);
  for (const path of screenNames.flatMap((name) => [name, `${name}/1`])) {
    const before = totalBytes(loaded);
    await openScreen(page, path);
    const added = totalBytes(loaded) - before;
    assert.ok(added <= MAX_SCREEN_BYTES, `${path} adds ${added} bytes`);
  }
});

/** A displayed API call, as curl and SDK code. */
type DisplayedCall = { readonly says: string; readonly curl: string; readonly sdk: string };

/** Error codes of a write that fails because the test has already made the same call as curl. */
const ALREADY_DONE = new Set(['not_found', 'target_taken', 'email_taken', 'hook_ended']);

const callPaths = [
  'projects?view=all&client=1',
  'projects/1',
  'tasks?view=soon&order=duedate',
  'tasks/1',
  'clients?name=Open',
  'clients/1',
  'contacts?client=1',
  'contacts/1',
  'teams',
  'overview',
  'hooks?state=failing',
  'hooks/1',
  'hooks/new',
  'activity?kind=new_event',
  'activity/5',
  'people',
  'keys',
  'you',
] as const;

async function callsOn(page: Page): Promise<readonly DisplayedCall[]> {
  await page.getByRole('button', { name: 'API call' }).click();
  const dialog = page.getByRole('dialog');
  const code = dialog.locator('pre');
  await code.waitFor();
  const choice = dialog.getByRole('combobox', { name: 'Call' });
  const found: DisplayedCall[] = [];
  for (const index of (await choice.count()) === 0 ? [undefined] : (await choice.locator('option').all()).keys()) {
    if (index !== undefined) await choice.selectOption(String(index));
    await dialog.getByRole('button', { name: 'curl' }).click();
    const curl = await code.innerText();
    await dialog.getByRole('button', { name: 'SDK' }).click();
    const says = (await dialog.getByRole('figure').getAttribute('aria-label')) ?? '';
    found.push({ says, curl, sdk: await code.innerText() });
  }
  await page.keyboard.press('Escape');
  return found;
}

// The last test of the example, because it changes its records.
test('every API call that a screen shows works, as curl and with the SDK', { timeout }, async (t) => {
  const { service, owner } = await sharedExample();
  const page = await openConsole(t, service, { as: owner });
  await page.clock.setFixedTime(NOW);
  await page.reload();
  const displayedCalls: DisplayedCall[] = [];
  for (const path of callPaths) {
    await openScreen(page, path);
    displayedCalls.push(...(await callsOn(page)));
  }
  assert.ok(displayedCalls.length >= 2 * callPaths.length, `${displayedCalls.length} calls`);
  const isReadCall = ({ curl }: DisplayedCall) => !curl.includes('-X ');
  for (const one of displayedCalls.filter(isReadCall)) {
    const response = await runCurl(one.curl, owner);
    assert.equal(response.status, 200, `${one.says}: ${one.curl}`);
    await assert.doesNotReject(runSdkLine(one.sdk, owner.carillon), `${one.says}: ${one.sdk}`);
  }
  // A write succeeds as curl. The same call with the SDK may then fail, because the write was already made.
  for (const one of displayedCalls.filter((each) => !isReadCall(each))) {
    const response = await runCurl(one.curl, owner);
    assert.ok(response.ok, `${one.says}: ${response.status} ${await response.text()}\n${one.curl}`);
    await runSdkLine(one.sdk, owner.carillon).catch((error: unknown) => {
      assert.ok(error instanceof CarillonError && ALREADY_DONE.has(error.code), `${one.says}: ${error}\n${one.sdk}`);
    });
  }
});
