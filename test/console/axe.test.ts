import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { axeFindings, consoleOf, openConsole, type Window } from '../kit/network/browser.ts';
import { type Example, NOW, startExample } from './example.ts';
import { screenNames, shown, visit } from './pages.ts';

/**
 * Two of the four combinations: color scheme and width have never influenced each other, and all four take
 * twice as long.
 */
const looks: readonly (readonly [name: string, Window])[] = [
  ['light and wide', { colorScheme: 'light', width: 1280, height: 860 }],
  ['dark and narrow', { colorScheme: 'dark', width: 390, height: 844 }],
];

/** Dialogs and menus: the screen, and how to open them. */
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

/** Paths of the first record of each resource. */
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

/** Each screen takes up to a second. */
const timeout = 300_000;

test('axe reports no violation on any screen of an account in use, in light and dark, wide and narrow', {
  timeout,
}, async (t) => {
  const example = await startExample(t);
  for (const [name, window] of looks) {
    await t.test(name, { timeout }, async (t) => {
      const page = await openConsole(t, example.service, { as: example.owner, ...window });
      await page.clock.setFixedTime(NOW);
      await shown(page);
      const found: string[] = [];
      for (const path of [...screenNames, ...(await recordPaths(example))]) {
        await visit(page, path);
        found.push(...(await axeFindings(page, path)));
      }
      for (const [screen, open] of overlays) {
        await visit(page, screen);
        await open(page);
        found.push(...(await axeFindings(page, `${screen}: ${open}`)));
        await page.reload();
      }
      assert.deepEqual(found, []);
    });
  }
});

test('axe reports no violation on the screens of an empty account and before sign-in', {
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
