import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { testClock } from '../kit/clock.ts';
import { openConsole } from '../kit/network/browser.ts';
import { sqlite } from '../kit/service/stores.ts';
import { NOW } from './example.ts';
import { fillLargeAccount, type LargeAccount } from './large-account.ts';
import { screenNames, shown, visit } from './pages.ts';

const measure = readFileSync(new URL('layout-faults.js', import.meta.url), 'utf8');

/** Desktop, small laptop, phone. */
const WINDOWS = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 390, height: 844 },
] as const;

/** Every screen, every view of the calendar, and one page of each resource. */
const pathsOf = ({ undated, busy, task }: LargeAccount) => [
  ...screenNames,
  ...['week', 'day', 'list'].map((view) => `calendar?view=${view}`),
  `projects/${undated}`,
  `projects/${busy}`,
  `tasks/${task}`,
  'clients/2',
  'contacts/2',
  'hooks/2',
  'hooks/new',
];

/** Dialogs: the screen, and the button that opens it. */
const DIALOGS = [
  ['calendar', 'New event'],
  ['keys', 'Issue a key'],
  ['people', 'Add somebody'],
  ['projects', 'API call'],
] as const;

/** A few faults per page are enough to find the cause. */
const MAX_FAULTS_PER_PAGE = 5;

async function atEachWidth(page: Page, look: (width: number) => Promise<void>): Promise<void> {
  for (const window of WINDOWS) {
    await page.setViewportSize(window);
    // The calendar grid renders again one frame after its resize event.
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    await look(window.width);
  }
  await page.setViewportSize(WINDOWS[0]);
}

async function faultsOn(page: Page, where: string): Promise<readonly string[]> {
  if (!(await page.evaluate("'layoutFaults' in globalThis"))) await page.evaluate(measure);
  const found: string[] = [];
  await atEachWidth(page, async (width) => {
    const faults = (await page.evaluate('layoutFaults()')) as readonly string[];
    found.push(...faults.slice(0, MAX_FAULTS_PER_PAGE).map((fault) => `${where} at ${width} px: ${fault}`));
  });
  return found;
}

test('a large account has no layout faults at 1440, 1024 and 390 px', async (t) => {
  const service = await sqlite.testService(t, { ports: { clock: testClock(NOW) } });
  const owner = await service.account('acme.test');
  const account = await fillLargeAccount(service, owner);
  const page = await openConsole(t, service, { as: owner, ...WINDOWS[0] });
  await page.clock.setFixedTime(NOW);
  await page.reload();
  await shown(page);

  await t.test('no screen scrolls the document, overflows the window, or clips or overlaps text', async () => {
    const found: string[] = [];
    for (const path of pathsOf(account)) {
      await visit(page, path);
      found.push(...(await faultsOn(page, path)));
    }
    assert.deepEqual(found, []);
  });

  await t.test('no dialog scrolls the document, overflows the window, or clips or overlaps text', async () => {
    const found: string[] = [];
    for (const [path, button] of DIALOGS) {
      await visit(page, path);
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('dialog').waitFor();
      found.push(...(await faultsOn(page, `${path}: ${button}`)));
      await page.keyboard.press('Escape');
    }
    assert.deepEqual(found, []);
  });

  await t.test('start and end of an event have one row each, with day and time', async () => {
    await visit(page, 'calendar');
    await page.getByRole('button', { name: 'New event' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('All day').uncheck();
    const boxOf = async (label: string) => {
      const box = await dialog.getByLabel(label, { exact: true }).boundingBox();
      assert.ok(box !== null, label);
      return box;
    };
    await atEachWidth(page, async (width) => {
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
    await atEachWidth(page, async (width) => {
      await visit(page, 'keys');
      await visit(page, `calendar?view=week&date=${day}`);
      const early = await page.locator('.board .ec-event', { hasText: 'Early' }).boundingBox();
      const head = await page.locator('.board .ec-header').boundingBox();
      assert.ok(early !== null && head !== null);
      assert.ok(early.y >= head.y + head.height, `at ${width} px`);
    });
  });
});
