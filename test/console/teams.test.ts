import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { consoleOf } from '../kit/network/browser.ts';
import { visit } from './pages.ts';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const undo = (page: Page) => page.locator('.toast').last().getByRole('button', { name: 'Undo' }).click();

test('a team is assigned to a task, and removed by Undo', async (t) => {
  const { page, owner } = await consoleOf(t, { path: 'tasks' });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  await owner.carillon.teams.create({ team_name: 'Ringers', users: [owner.userId] });
  await visit(page, `tasks/${task_id}`);
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
  const { service, page, owner } = await consoleOf(t);
  const member = await service.user(owner, 'member');
  await visit(page, 'teams');
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
  const { service, owner, open } = await consoleOf(t);
  const member = await service.user(owner, 'member');
  await owner.carillon.teams.create({ team_name: 'Ringers', users: [member.userId] });
  const page = await open({ as: member, path: 'teams' });
  await page.getByRole('row', { name: 'Ringers Test member' }).waitFor();
  assert.equal(await page.getByLabel('Add a team').count(), 0);
  assert.equal(await page.getByRole('button', { name: /Ringers/ }).count(), 0);
});
