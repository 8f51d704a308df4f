import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { consoleOf } from '../kit/network/browser.ts';
import { visit } from './pages.ts';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const row = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name }) });

test('a contact is added to a client, edited inline, filtered by client, deleted and restored by Undo', async (t) => {
  const { page, owner } = await consoleOf(t);
  const { client_id } = await owner.carillon.clients.create({ client_name: 'Foundry' });
  await owner.carillon.contacts.create({ contact_name: 'Tower desk' });
  await visit(page, `clients/${client_id}`);
  const contacts = page.getByRole('region', { name: 'Contacts', exact: true });
  await contacts.getByText('No contacts here').waitFor();
  await page.getByLabel('Add a contact').fill('Front desk');
  await page.keyboard.press('Enter');
  await row(page, 'Front desk').getByRole('button', { name: 'Change Email of Front desk' }).click();
  await page.getByLabel('Email of Front desk').fill('no address');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Email must be an e-mail address of at most 254 characters.').waitFor();
  await page.getByLabel('Email of Front desk').fill('desk@foundry.test');
  await page.keyboard.press('Enter');
  await button(page, 'Change Email of Front desk: desk@foundry.test').waitFor();

  await visit(page, 'contacts');
  await row(page, 'Tower desk').waitFor();
  await page.getByLabel('Client', { exact: true }).selectOption('Foundry');
  await row(page, 'Tower desk').waitFor({ state: 'detached' });
  assert.match(page.url(), new RegExp(`#/contacts\\?client=${client_id}$`));
  await button(page, 'More for Front desk').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await row(page, 'Front desk').waitFor({ state: 'detached' });
  assert.equal((await owner.carillon.contacts.list({ client_id })).paging.total_records, 0);
  await page.locator('.toast').last().getByRole('button', { name: 'Undo' }).click();
  await row(page, 'Front desk').getByText('desk@foundry.test').waitFor();

  await page.getByRole('link', { name: 'Front desk' }).click();
  await page.getByRole('link', { name: 'Contact at a client' }).waitFor();
  await page.getByRole('button', { name: 'Change Client of Front desk: Foundry' }).click();
  await page.getByLabel('Client of Front desk').selectOption('None');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Change Client of Front desk: None' }).waitFor();
  const { data } = await owner.carillon.contacts.list({ client_id: 0 });
  assert.deepEqual(data.map(({ contact_name }) => contact_name).sort(), ['Front desk', 'Tower desk']);
});

test('deleting a client keeps its contacts, and the confirmation shows their number', async (t) => {
  const { page, owner } = await consoleOf(t);
  const { client_id } = await owner.carillon.clients.create({ client_name: 'Foundry' });
  for (const contact_name of ['Front desk', 'Press']) await owner.carillon.contacts.create({ contact_name, client_id });
  await visit(page, `clients/${client_id}`);
  await button(page, 'Delete').click();
  await page.getByRole('dialog').getByText('Its 2 contacts stay, without a client.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.locator('.toasts').getByText('“Foundry” deleted.').waitFor();
  await visit(page, 'contacts');
  await row(page, 'Press').getByText('None').last().waitFor();
});
