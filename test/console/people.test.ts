import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { startConsole } from '../kit/network/browser.ts';
import { openScreen } from './pages.ts';

test('a role is changed, and restored by Undo', async (t) => {
  const { service, owner, page } = await startConsole(t, { path: 'people' });
  const member = await service.createUser(owner, 'member');
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
  const { page } = await startConsole(t, { path: 'people' });
  await page.getByRole('button', { name: 'What to do with Account Owner' }).click();
  await page.getByRole('menuitem', { name: 'Change…' }).click();
  assert.equal(await page.getByLabel('Role').isDisabled(), true);
  await page.getByText('The last owner stays one.').waitFor();
});

test('an admin cannot change or create an owner', async (t) => {
  const { service, owner, open } = await startConsole(t);
  const admin = await service.createUser(owner, 'admin');
  const page = await open({ as: admin, path: 'people' });
  await page.getByRole('listitem').filter({ hasText: 'Account Owner' }).getByText('above you').waitFor();
  assert.equal(await page.getByRole('button', { name: 'What to do with Account Owner' }).count(), 0);
  await page.getByRole('button', { name: 'Add somebody' }).click();
  assert.deepEqual(await page.getByLabel('Role').locator('option').allTextContents(), ['Member', 'Admin']);
});

test('deleting a user shows the consequences and applies them', async (t) => {
  const { service, owner, page } = await startConsole(t, { path: 'people' });
  const member = await service.createUser(owner, 'member');
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
  const { service, owner, page, open } = await startConsole(t, { path: 'people' });
  const member = await service.createUser(owner, 'member');
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
  const { page, owner } = await startConsole(t, { path: 'people' });
  await page.getByRole('button', { name: 'Add somebody' }).click();
  await page.getByLabel('Email').fill(`owner@${owner.domain}`);
  await page.getByRole('button', { name: 'Add, and make a link' }).click();
  await page.getByRole('alert').filter({ hasText: 'Another user of the account has this email.' }).waitFor();
  assert.equal((await owner.carillon.users.list()).data.length, 1);
});

test('the color theme is chosen by the user and stored in the browser', async (t) => {
  const { page } = await startConsole(t, { path: 'you' });
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
  const { service, owner, open } = await startConsole(t);
  const page = await open({ as: await service.createUser(owner, 'member'), path: 'people' });
  await page.getByText(/^Who belongs to the account is for its admins/).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Add somebody' }).count(), 0);
});

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const undo = (page: Page) => page.locator('.toast').last().getByRole('button', { name: 'Undo' }).click();

test('a team is assigned to a task, and removed by Undo', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'tasks' });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  await owner.carillon.teams.create({ team_name: 'Ringers', users: [owner.userId] });
  await openScreen(page, `tasks/${task_id}`);
  await page.getByRole('button', { name: 'Assigned to Cast: nobody' }).click();
  await page.getByLabel('Ringers').check();
  await button(page, 'Save').click();
  await page.getByRole('button', { name: 'Assigned to Cast: Ringers' }).waitFor();
  const teamsOf = async () => (await owner.carillon.tasks.get(task_id)).teams.map(({ team_name }) => team_name);
  assert.deepEqual(await teamsOf(), ['Ringers']);
  await undo(page);
  await page.getByRole('button', { name: 'Assigned to Cast: nobody' }).waitFor();
  assert.deepEqual(await teamsOf(), []);
});

test('a team is created by quick-add, renamed, colored, filled with people, and deleted after confirmation', async (t) => {
  const { service, page, owner } = await startConsole(t);
  const member = await service.createUser(owner, 'member');
  await openScreen(page, 'teams');
  await page.getByText('No teams yet').waitFor();
  await page.getByLabel('Add a team').fill('Ringer');
  await page.keyboard.press('Enter');
  await button(page, 'Change Name of Ringer: Ringer').click();
  await page.getByLabel('Name of Ringer').fill('Ringers');
  await page.keyboard.press('Enter');
  await button(page, 'Change Name of Ringers: Ringers').waitFor();
  await page.getByRole('button', { name: 'Change Colour of Ringers' }).click();
  await page.getByLabel('Colour of Ringers').selectOption('Green');
  await page.keyboard.press('Enter');
  // The layout moves when the field closes: wait before the next click.
  await page.getByLabel('Colour of Ringers').waitFor({ state: 'hidden' });
  await button(page, 'In Ringers: nobody').click();
  assert.equal(
    await page.getByRole('dialog').getByRole('heading', { name: 'Teams' }).count(),
    0,
    'no team is in a team',
  );
  await page.getByLabel('Test member').check();
  await button(page, 'Save').click();
  await button(page, 'In Ringers: Test member').waitFor();
  const [team = assert.fail()] = (await owner.carillon.teams.list()).data;
  assert.deepEqual([team.team_name, team.users.map(({ user_id }) => user_id)], ['Ringers', [member.userId]]);
  assert.match(team.color, /^#/);

  await button(page, 'More for Ringers').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByText('What it is assigned to stays, without it').waitFor();
  await button(page, 'Delete').click();
  await page.getByText('No teams yet').waitFor();
  assert.equal((await owner.carillon.teams.list()).paging.total_records, 0);
});

test('a member sees the teams and their people, and no actions', async (t) => {
  const { service, owner, open } = await startConsole(t);
  const member = await service.createUser(owner, 'member');
  await owner.carillon.teams.create({ team_name: 'Ringers', users: [member.userId] });
  const page = await open({ as: member, path: 'teams' });
  await page.getByRole('row', { name: 'Ringers Test member' }).waitFor();
  assert.equal(await page.getByLabel('Add a team').count(), 0);
  assert.equal(await page.getByRole('button', { name: /Ringers/ }).count(), 0);
});

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name }) });

test('a contact is added to a client, edited inline, filtered by client, deleted and restored by Undo', async (t) => {
  const { page, owner } = await startConsole(t);
  const { client_id } = await owner.carillon.clients.create({ client_name: 'Foundry' });
  await owner.carillon.contacts.create({ contact_name: 'Tower desk' });
  await openScreen(page, `clients/${client_id}`);
  const contacts = page.getByRole('region', { name: 'Contacts', exact: true });
  await contacts.getByText('No contacts here').waitFor();
  await page.getByLabel('Add a contact').fill('Front desk');
  await page.keyboard.press('Enter');
  await rowOf(page, 'Front desk').getByRole('button', { name: 'Change Email of Front desk' }).click();
  await page.getByLabel('Email of Front desk').fill('no address');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Email must be an e-mail address of at most 254 characters.').waitFor();
  await page.getByLabel('Email of Front desk').fill('desk@foundry.test');
  await page.keyboard.press('Enter');
  await button(page, 'Change Email of Front desk: desk@foundry.test').waitFor();

  await openScreen(page, 'contacts');
  await rowOf(page, 'Tower desk').waitFor();
  await page.getByLabel('Client', { exact: true }).selectOption('Foundry');
  await rowOf(page, 'Tower desk').waitFor({ state: 'detached' });
  assert.match(page.url(), new RegExp(`#/contacts\\?client=${client_id}$`));
  await button(page, 'More for Front desk').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await rowOf(page, 'Front desk').waitFor({ state: 'detached' });
  assert.equal((await owner.carillon.contacts.list({ client_id })).paging.total_records, 0);
  await page.locator('.toast').last().getByRole('button', { name: 'Undo' }).click();
  await rowOf(page, 'Front desk').getByText('desk@foundry.test').waitFor();

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
  const { page, owner } = await startConsole(t);
  const { client_id } = await owner.carillon.clients.create({ client_name: 'Foundry' });
  for (const contact_name of ['Front desk', 'Press']) await owner.carillon.contacts.create({ contact_name, client_id });
  await openScreen(page, `clients/${client_id}`);
  await button(page, 'Delete').click();
  await page.getByRole('dialog').getByText('Its 2 contacts stay, without a client.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.locator('.toasts').getByText('“Foundry” deleted.').waitFor();
  await openScreen(page, 'contacts');
  await rowOf(page, 'Press').getByText('None').last().waitFor();
});
