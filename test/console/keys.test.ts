import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { apiKey, Carillon } from '../../packages/sdk/src/index.ts';
import { eventually } from '../kit/eventually.ts';
import { startConsole } from '../kit/network/browser.ts';

/** Submits the open dialog and returns the issued key. */
async function issueKey(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Issue the key' }).click();
  return (await page.getByRole('figure', { name: 'The key', exact: true }).locator('pre').textContent()) ?? '';
}

test('an issued key has the chosen user, permissions and lifetime', async (t) => {
  const { service, owner, page } = await startConsole(t, { path: 'keys' });
  const member = await service.createUser(owner, 'member');
  await page.reload();
  await page.getByRole('button', { name: 'Issue a key' }).click();
  await page.getByLabel('What it is for').fill('Release bot');
  await page.getByLabel('Whose key', { exact: true }).selectOption(member.userId);
  await page.getByLabel('It works for').selectOption('other');
  await page.getByLabel('How long').fill('12h');
  // A key never has more permissions than its user, and members cannot change users.
  assert.equal(await page.getByLabel('Change People').isDisabled(), true);
  await page.getByRole('button', { name: 'None' }).click();
  assert.equal(await page.getByRole('button', { name: 'Issue the key' }).isDisabled(), true);
  await page.getByLabel('Read Events').check();
  await page.getByLabel('Change Events').check();
  const key = await issueKey(page);

  const bot = new Carillon({ baseUrl: service.baseUrl, auth: apiKey({ domain: owner.domain, key }) });
  assert.equal((await bot.user.get()).user_id, member.userId);
  await bot.events.create({ event_name: 'By the bot', start_date: '20270101', due_date: '20270101' });
  await assert.rejects(bot.tasks.list(), { code: 'not_permitted' });
  const issued = (await owner.carillon.keys.list()).data.find(({ label }) => label === 'Release bot');
  assert.deepEqual(issued?.permissions, ['events:read', 'events:write']);
  assert.notEqual(issued?.expires, '0000-00-00 00:00:00');
});

test('an invalid lifetime is shown at its field, and entered values are kept', async (t) => {
  const { page } = await startConsole(t, { path: 'keys' });
  await page.getByRole('button', { name: 'Issue a key' }).click();
  await page.getByLabel('What it is for').fill('Release bot');
  await page.getByLabel('It works for').selectOption('other');
  await page.getByLabel('How long').fill('soon');
  await page.getByRole('button', { name: 'Issue the key' }).click();
  await page.getByRole('alert').filter({ hasText: 'It must be a duration' }).waitFor();
  assert.equal(await page.getByLabel('What it is for').inputValue(), 'Release bot');
});

test('the key is shown once with a working call, can be copied, and is not stored in the browser', async (t) => {
  const { page } = await startConsole(t, { path: 'keys' });
  await page.getByRole('button', { name: 'Issue a key' }).click();
  const key = await issueKey(page);
  assert.match(key, /^carillon_/);
  await page.getByText('It is shown this once').waitFor();
  const curl = (await page.getByRole('figure', { name: 'A call with the key' }).locator('pre').textContent()) ?? '';
  assert.ok(curl.includes(key) && curl.includes('domain: acme.test') && curl.includes('/v2/user'));
  await page.getByRole('figure', { name: 'The key', exact: true }).getByRole('button', { name: 'Copy' }).click();
  await page.getByText('Copied.').waitFor();
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), key);
  // An accidental click on the backdrop does not close the dialog.
  await page.mouse.click(5, 5);
  await page.getByRole('button', { name: 'I have copied it' }).click();

  assert.ok(!(await page.content()).includes(key));
  const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
  assert.ok(!String(stored).includes('carillon_'), String(stored));
  assert.deepEqual(await page.evaluate('indexedDB.databases()'), []);
  await page.reload();
  await page.getByRole('listitem').first().waitFor();
  assert.ok(!(await page.content()).includes(key));
});

test('a removed permission is revoked immediately and cannot be added again', async (t) => {
  const { service, owner, page } = await startConsole(t, { path: 'keys' });
  const bot = await service.createKey(owner, { permissions: ['events:read', 'tasks:read'] });
  await page.reload();
  await page.getByRole('button', { name: 'What to do with test' }).click();
  await page.getByRole('menuitem', { name: 'Rename or narrow…' }).click();
  assert.equal(await page.getByLabel('Change Events').isDisabled(), true);
  await page.getByLabel('What it is for').fill('Wall display');
  await page.getByLabel('Read Tasks').uncheck();
  await page.getByRole('button', { name: 'Take 1 permission away' }).click();
  await page.getByText('Narrowed. It is in force already.').waitFor();
  await page.getByRole('listitem').filter({ hasText: 'Wall display' }).getByText('Reads events').waitFor();
  await bot.carillon.events.list();
  await assert.rejects(bot.carillon.tasks.list(), { code: 'not_permitted' });
});

test('a key is revoked immediately after confirmation, and listed as ended', async (t) => {
  const { service, owner, page } = await startConsole(t, { path: 'keys' });
  const bot = await service.createKey(owner, {});
  await page.reload();
  const opener = page.getByRole('button', { name: 'What to do with test' });
  await opener.click();
  await page.getByRole('menuitem', { name: 'Revoke…' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await bot.carillon.user.get();
  await opener.click();
  await page.getByRole('menuitem', { name: 'Revoke…' }).click();
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('Revoked. Whoever calls with it is refused now.').waitFor();
  await assert.rejects(bot.carillon.user.get(), { code: 'unauthorized' });
  await page.getByRole('button', { name: 'Ended' }).click();
  await page.getByRole('listitem').filter({ hasText: 'test' }).getByText('revoked').waitFor();
  assert.match(page.url(), /state=ended/, 'the filter is in the URL');
});

test('a member sees only their own keys, and cannot issue keys to others', async (t) => {
  const { service, owner, open } = await startConsole(t);
  const member = await service.createUser(owner, 'member');
  const page = await open({ as: member, path: 'keys' });
  await page.getByRole('listitem').filter({ hasText: 'test' }).waitFor();
  assert.equal(await page.getByText('first key').count(), 0);
  await page.getByRole('button', { name: 'Issue a key' }).click();
  assert.equal(await page.getByLabel('Whose key', { exact: true }).count(), 0);
});

test('an admin who becomes a member no longer sees the admin screens after a reload', async (t) => {
  const { service, owner, open } = await startConsole(t);
  const admin = await service.createUser(owner, 'admin');
  const page = await open({ as: admin, path: 'people' });
  await page.getByRole('listitem').first().waitFor();
  await owner.carillon.users.update(admin.userId, { role: 'member' });
  await page.reload();
  await eventually(
    () => page.getByRole('link', { name: 'People' }).count(),
    (count) => count === 0,
  );
});
