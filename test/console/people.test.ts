import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleOf } from '../kit/network/browser.ts';

test('a role is changed, and restored by Undo', async (t) => {
  const { service, owner, page } = await consoleOf(t, { path: 'people' });
  const member = await service.user(owner, 'member');
  await page.reload();
  const row = page.getByRole('listitem').filter({ hasText: 'Test member' });
  await row.getByRole('button').click();
  await page.getByRole('menuitem', { name: 'Change…' }).click();
  await page.getByLabel('Role').selectOption('admin');
  await page.getByText('Also adds people').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText('admin', { exact: true }).waitFor();
  assert.equal((await owner.carillon.users.get(member.userId)).role, 'admin');
  await page.getByRole('button', { name: 'Undo' }).click();
  await row.getByText('member', { exact: true }).waitFor();
  assert.equal((await owner.carillon.users.get(member.userId)).role, 'member');
});

test('the role of the last owner cannot be changed, and the form explains why', async (t) => {
  const { page } = await consoleOf(t, { path: 'people' });
  await page.getByRole('button', { name: 'What to do with Account Owner' }).click();
  await page.getByRole('menuitem', { name: 'Change…' }).click();
  assert.equal(await page.getByLabel('Role').isDisabled(), true);
  await page.getByText('The last owner stays one.').waitFor();
});

test('an admin cannot change or create an owner', async (t) => {
  const { service, owner, open } = await consoleOf(t);
  const admin = await service.user(owner, 'admin');
  const page = await open({ as: admin, path: 'people' });
  await page.getByRole('listitem').filter({ hasText: 'Account Owner' }).getByText('above you').waitFor();
  assert.equal(await page.getByRole('button', { name: 'What to do with Account Owner' }).count(), 0);
  await page.getByRole('button', { name: 'Add somebody' }).click();
  assert.deepEqual(await page.getByLabel('Role').locator('option').allTextContents(), ['Member', 'Admin']);
});

test('deleting a user shows the consequences and applies them', async (t) => {
  const { service, owner, page } = await consoleOf(t, { path: 'people' });
  const member = await service.user(owner, 'member');
  const event = await member.carillon.events.create({
    event_name: 'Theirs',
    start_date: '20270101',
    due_date: '20270101',
  });
  const hook = await member.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/theirs', event: 'new_task' });
  await page.reload();
  await page.getByRole('button', { name: 'What to do with Test member' }).click();
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  await page.getByText('Their keys are revoked').waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Test member is gone, the records are here.').waitFor();
  await assert.rejects(member.carillon.user.get(), { code: 'unauthorized' });
  assert.equal((await owner.carillon.hooks.get(hook.id)).ended_reason, 'user_deleted');
  assert.equal((await owner.carillon.events.get(event.event_id)).event_name, 'Theirs');
});

test('an admin ends the session of another user', async (t) => {
  const { service, owner, page, open } = await consoleOf(t, { path: 'people' });
  const member = await service.user(owner, 'member');
  const theirs = await open({ as: member, path: 'keys' });
  await theirs.getByRole('listitem').first().waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'What to do with Test member' }).click();
  await page.getByRole('menuitem', { name: 'Sessions…' }).click();
  await page.getByRole('button', { name: /^End the session of/ }).click();
  await page.getByText('Not signed in anywhere.').waitFor();
  await theirs.getByRole('link', { name: 'You' }).click();
  await theirs.getByText('Your session has ended').waitFor();
});

test('a user with a taken email address is not created, and the form shows the error', async (t) => {
  const { page, owner } = await consoleOf(t, { path: 'people' });
  await page.getByRole('button', { name: 'Add somebody' }).click();
  await page.getByLabel('Email').fill(`owner@${owner.domain}`);
  await page.getByRole('button', { name: 'Add, and make a link' }).click();
  await page.getByRole('alert').filter({ hasText: 'Another user of the account has this email.' }).waitFor();
  assert.equal((await owner.carillon.users.list()).data.length, 1);
});

test('the color theme is chosen by the user and stored in the browser', async (t) => {
  const { page } = await consoleOf(t, { path: 'you' });
  const scheme = () => page.evaluate('getComputedStyle(document.documentElement).colorScheme');
  await page.getByRole('group', { name: 'Colours' }).getByRole('button', { name: 'Dark' }).click();
  assert.equal(await scheme(), 'dark');
  await page.reload();
  await page.getByRole('heading', { name: 'You', level: 1 }).waitFor();
  assert.equal(await scheme(), 'dark');
  await page.getByRole('button', { name: 'As the system' }).click();
  assert.equal(await scheme(), 'light dark');
});

test('a member who opens the screen by URL sees an explanation and no actions', async (t) => {
  const { service, owner, open } = await consoleOf(t);
  const page = await open({ as: await service.user(owner, 'member'), path: 'people' });
  await page.getByText(/^Who belongs to the account is for its admins/).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Add somebody' }).count(), 0);
});
