import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../kit/eventually.ts';
import { startConsole } from '../kit/network/browser.ts';
import { openScreen } from './pages.ts';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });

test('a comment and a reply are added to a task, show their author, and are deleted together', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'tasks' });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  await openScreen(page, `tasks/${task_id}`);
  const comments = page.getByRole('region', { name: 'Comments' });
  await button(page, 'Add comment').click();
  await comments.getByText('Write something first.').waitFor();
  await comments.getByLabel('Comment', { exact: true }).fill('Which bell?\nThe big one?');
  await page.keyboard.press('Control+Enter');
  await comments.getByText('Which bell?').first().waitFor();
  await button(page, 'Reply').click();
  await comments.getByLabel('Reply', { exact: true }).fill('The small one.');
  await button(page, 'Send reply').click();
  await comments.getByRole('list').getByText('The small one.').waitFor();
  const [thread] = (await owner.carillon.comments.list({ task_id })).data;
  assert.deepEqual([thread?.comment, thread?.replies[0]?.comment], ['Which bell?\nThe big one?', 'The small one.']);
  const { user_name, email } = await owner.carillon.user.get();
  assert.equal(await comments.getByText(user_name || email, { exact: true }).count(), 2);

  await comments.getByRole('button', { name: /^Delete “Which bell/ }).click();
  await page.getByText('Its reply goes with it. This cannot be taken back.').waitFor();
  await button(page, 'Delete with 1 reply').click();
  await eventually(
    () => comments.getByRole('listitem').count(),
    (count) => count === 0,
  );
  assert.equal((await owner.carillon.comments.list({ task_id })).paging.total_records, 0);
});

test('a comment with many replies shows the first fifty, then all of them; a new reply is visible immediately', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'tasks' });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  const addComment = (comment: string, parent_id = '0') =>
    owner.carillon.comments.create(project_id, { comment, task_id, parent_id });
  const ids = [(await addComment('First')).comment_id, (await addComment('Second')).comment_id];
  for (const id of ids) for (let number = 1; number <= 52; number += 1) await addComment(`Reply ${number}`, id);
  await openScreen(page, `tasks/${task_id}`);
  const comments = page.getByRole('region', { name: 'Comments' });
  const last = comments.getByText('Reply 52', { exact: true });
  await comments.getByText('Reply 50', { exact: true }).last().waitFor();
  assert.equal(await last.count(), 0);
  await button(page, 'Show all 52 replies').first().click();
  await last.waitFor();
  assert.equal(await comments.getByText('Reply 1', { exact: true }).count(), 2);

  await button(page, 'Reply').last().click();
  await comments.getByLabel('Reply', { exact: true }).fill('The newest');
  await button(page, 'Send reply').click();
  await comments.getByText('The newest').waitFor();
  assert.equal(await button(page, /^Show all/).count(), 0);

  await comments.getByRole('button', { name: 'Delete “First”' }).click();
  await button(page, 'Delete with 52 replies').click();
  await comments.getByText('First', { exact: true }).waitFor({ state: 'detached' });
});

test('comments on a subtask appear on its task, and comments on tasks appear on the project with a link', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'tasks' });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  const { subtask_id } = await owner.carillon.subtasks.create(task_id, { subtask_name: 'Melt' });
  await openScreen(page, `tasks/${task_id}`);
  const comments = page.getByRole('region', { name: 'Comments' });
  await page.getByLabel('Add a subtask to Cast').fill('Pour');
  await page.keyboard.press('Enter');
  await comments.getByLabel('About').selectOption('Pour');
  await comments.getByLabel('About').selectOption('Melt');
  await comments.getByLabel('Comment', { exact: true }).fill('Hot enough?');
  await button(page, 'Add comment').click();
  await comments.getByText('on Melt').waitFor();
  const [created] = (await owner.carillon.comments.list({ subtask_id })).data;
  assert.deepEqual([created?.comment, created?.task_id], ['Hot enough?', task_id]);

  await button(page, 'Delete Melt').click();
  await page.getByRole('dialog').getByText('Its comment goes with it. This cannot be taken back.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete with 1 comment' }).click();
  await comments.getByText('Hot enough?').waitFor({ state: 'detached' });
  await comments.getByLabel('Comment', { exact: true }).fill('Poured already?');
  await button(page, 'Add comment').click();
  await comments.getByRole('list').getByText('Poured already?').waitFor();

  await openScreen(page, `projects/${project_id}`);
  assert.equal(await comments.getByLabel('About').count(), 0);
  await comments.getByLabel('Comment', { exact: true }).fill('When is it due?');
  await button(page, 'Add comment').click();
  await comments.getByRole('list').getByText('When is it due?').waitFor();
  const own = (await owner.carillon.comments.list({ project_id, task_id: 0 })).data;
  assert.deepEqual(
    own.map(({ comment }) => comment),
    ['When is it due?'],
  );
  await comments.getByRole('link', { name: 'Cast' }).click();
  await page.getByRole('heading', { name: 'Cast' }).waitFor();
});
