import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { axeFindings } from '../kit/axe.ts';
import { consoleOf, openConsole, type Window } from '../kit/browser.ts';
import { type Example, NOW, startExample } from './example.ts';
import { screenNames, shown, visit } from './pages.ts';

/** Both colour schemes and both widths; that one depends on the other has not been seen, and all four take twice as long. */
const looks: readonly (readonly [name: string, Window])[] = [
  ['light and wide', { colorScheme: 'light', width: 1280, height: 860 }],
  ['dark and narrow', { colorScheme: 'dark', width: 390, height: 844 }],
];

/** Dialogs and menus: on which screen, and what opens them. */
const opened: readonly (readonly [screen: string, open: (page: Page) => Promise<void>])[] = [
  ['calendar?view=week', () => Promise.resolve()],
  ['calendar?view=day', () => Promise.resolve()],
  ['calendar?view=list', () => Promise.resolve()],
  ['calendar', (page) => openDialog(page, 'New event')],
  ['hooks/new', () => Promise.resolve()],
  ['keys', (page) => openDialog(page, 'API call')],
  ['keys', (page) => openDialog(page, 'Issue a key')],
  ['keys?state=ended', () => Promise.resolve()],
  ['keys', (page) => page.getByRole('button', { name: 'What to do with Release bot' }).click()],
  ['keys', (page) => pick(page, 'Release bot', 'Rename or narrow…')],
  ['keys', (page) => pick(page, 'Release bot', 'Revoke…')],
  ['people', (page) => openDialog(page, 'Add somebody')],
  ['people', (page) => pick(page, 'Build Team', 'Change…')],
  ['people', (page) => pick(page, 'Build Team', 'New link…')],
  ['people', (page) => pick(page, 'Build Team', 'Sessions…')],
  ['people', (page) => pick(page, 'Build Team', 'Delete…')],
];

async function openDialog(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name }).click();
  await page.getByRole('dialog').waitFor();
}

async function pick(page: Page, whose: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `What to do with ${whose}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
  await page.getByRole('dialog').waitFor();
}

/** The addresses that the first of everything has. */
async function inDepth({ owner: { carillon } }: Example): Promise<readonly string[]> {
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

/** Each look at each screen takes a good part of a second. */
const timeout = 300_000;

test('axe finds nothing on any screen of an account in use, in light and dark, wide and narrow', {
  timeout,
}, async (t) => {
  const example = await startExample(t);
  for (const [name, window] of looks) {
    await t.test(name, { timeout }, async (t) => {
      const page = await openConsole(t, example.service, { as: example.owner, ...window });
      await page.clock.setFixedTime(NOW);
      await shown(page);
      const found: string[] = [];
      for (const path of [...screenNames, ...(await inDepth(example))]) {
        await visit(page, path);
        found.push(...(await axeFindings(page, path)));
      }
      for (const [screen, open] of opened) {
        await visit(page, screen);
        await open(page);
        found.push(...(await axeFindings(page, `${screen}: ${open}`)));
        await page.reload();
      }
      assert.deepEqual(found, []);
    });
  }
});

test('axe finds nothing on the screens of an account where nothing is yet, nor before one is in', {
  timeout,
}, async (t) => {
  const { service, owner } = await consoleOf(t, { as: null });
  for (const [name, window] of looks) {
    await t.test(name, { timeout }, async (t) => {
      const out = await openConsole(t, service, { as: null, ...window });
      await shown(out);
      const found = [...(await axeFindings(out, 'signing in'))];
      await visit(out, 'welcome/leads-nowhere');
      found.push(...(await axeFindings(out, 'a link that leads nowhere')));
      await visit(out, new URL(await service.link(owner)).hash.slice(2));
      found.push(...(await axeFindings(out, 'welcome')));
      const page = await openConsole(t, service, { as: owner, ...window });
      await shown(page);
      for (const path of screenNames) {
        await visit(page, path);
        found.push(...(await axeFindings(page, path)));
      }
      assert.deepEqual(found, []);
    });
  }
});
