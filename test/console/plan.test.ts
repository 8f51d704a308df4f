import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../kit/eventually.ts';
import { type ConsoleFixture, startConsole } from '../kit/network/browser.ts';
import { startTarget } from '../kit/network/target.ts';
import { openScreen, waitUntilShown } from './pages.ts';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name }) });
const waitForToast = (page: Page, text: string) => page.locator('.toasts').getByText(text, { exact: true }).waitFor();
const undo = (page: Page) => page.locator('.toast').last().getByRole('button', { name: 'Undo' }).click();

/** Opens an inline editor and returns its field. */
async function openEditor(page: Page, what: string) {
  await page.getByRole('button', { name: `Change ${what}` }).click();
  return page.getByLabel(what, { exact: true });
}

const focused = (page: Page) => page.locator(':focus').getAttribute('aria-label');

/** Script that returns the scroll width and the client width of the main area. */
const MAIN_WIDTHS_SCRIPT =
  '(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector("main"))';

/** Records the bodies of all PUT requests from now on. */
function recordChanges(page: Page): unknown[] {
  const sent: unknown[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PUT') sent.push(request.postDataJSON());
  });
  return sent;
}

/** Returns the day that is `ahead` days after today, in API format and in the format of date inputs. */
function daysAhead(ahead: number): { readonly apiDay: string; readonly input: string } {
  const date = new Date(Date.now() + ahead * 86_400_000);
  const input = date.toISOString().slice(0, 10);
  return { input, apiDay: input.replaceAll('-', '') };
}

async function createProject({ owner }: Pick<ConsoleFixture, 'owner'>, project_name = 'Bells') {
  return owner.carillon.projects.create({ project_name });
}

test('a project is created by quick-add and edited inline; only changed fields are sent', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'projects' });
  await page.getByText('No open projects').waitFor();
  await page.getByLabel('Add a project').fill('Bells');
  await page.keyboard.press('Enter');
  await rowOf(page, 'Bells').waitFor();
  assert.equal(await page.getByLabel('Add a project').inputValue(), '', 'the field is cleared');
  const sent = recordChanges(page);

  await (await openEditor(page, 'Name of Bells')).fill('Chimes');
  await page.keyboard.press('Enter');
  await rowOf(page, 'Chimes').waitFor();
  assert.equal(await focused(page), 'Change Name of Chimes');

  await (await openEditor(page, 'Due of Chimes')).fill('2027-04-20');
  await page.keyboard.press('Enter');
  await rowOf(page, 'Chimes').getByText('20 Apr 2027').waitFor();
  assert.deepEqual(sent, [{ project_name: 'Chimes' }, { due_date: '20270420' }]);

  await waitForToast(page, 'Due changed.');
  await undo(page);
  await rowOf(page, 'Chimes').getByText('No date').waitFor();
  const { data } = await owner.carillon.projects.list();
  assert.deepEqual(
    data.map(({ project_name, due_date }) => [project_name, due_date]),
    [['Chimes', '0000-00-00 00:00:00']],
  );
});

test('Escape cancels an edit without saving on blur; an invalid value shows the error at the field', async (t) => {
  const { page, owner } = await startConsole(t);
  const { project_id } = await createProject({ owner });
  await owner.carillon.projects.update(project_id, { start_date: '20270420' });
  await openScreen(page, 'projects');
  const sent = recordChanges(page);

  const name = await openEditor(page, 'Name of Bells');
  await name.fill('Chimes');
  await page.keyboard.press('Escape');
  await rowOf(page, 'Bells').waitFor();
  assert.deepEqual(sent, []);

  await (await openEditor(page, 'Name of Bells')).fill(' ');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Name must be a text of 1 to 255 characters.').waitFor();
  assert.equal(await page.getByLabel('Name of Bells', { exact: true }).getAttribute('aria-invalid'), 'true');
  await page.getByLabel('Add a project').click();
  await page.getByLabel('Name of Bells', { exact: true }).press('Escape');

  await (await openEditor(page, 'Due of Bells')).fill('2027-04-19');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Due must not be before start date.').waitFor();
  await page.getByLabel('Due of Bells', { exact: true }).fill('2027-04-21');
  await page.keyboard.press('Enter');
  await rowOf(page, 'Bells').getByText('21 Apr 2027').waitFor();
  const wanted = [{ project_name: ' ' }, { due_date: '20270419' }, { due_date: '20270421' }];
  assert.deepEqual(sent, wanted, 'blur does not send an invalid value again');
});

test('a click outside an open or saving field hits its target, although the layout moves when the field closes', async (t) => {
  const { page, owner } = await startConsole(t);
  const { project_id } = await createProject({ owner });
  await openScreen(page, `projects/${project_id}`);
  const field = (what: string) => page.getByLabel(`${what} of Bells`, { exact: true });
  const press = async (name: string) => {
    const { x, y, width, height } = (await button(page, name).boundingBox()) ?? assert.fail(name);
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
  };

  // The editor is five lines high and above the pressed button: when it closes, the button moves up.
  await openEditor(page, 'Description of Bells');
  await press('Change Notes of Bells: Add notes');
  await page.mouse.up();
  await field('Notes').waitFor();
  await field('Description').waitFor({ state: 'detached' });

  await page.keyboard.press('Escape');
  await (await openEditor(page, 'Description of Bells')).fill('Two of bronze');
  const saved = page.waitForResponse((response) => response.request().method() === 'PUT');
  await press('Change Notes of Bells: Add notes');
  await saved;
  await waitForToast(page, 'Description changed.');
  assert.equal(await field('Description').getAttribute('readonly'), '', 'the editor stays open until the release');
  await page.mouse.up();
  await field('Notes').waitFor();
  await field('Description').waitFor({ state: 'detached' });
});

test('concurrent edits of different fields are both kept; a conflict on one field is shown before overwriting', async (t) => {
  const { page, owner, service, open } = await startConsole(t);
  const { project_id } = await createProject({ owner });
  const member = await service.createUser(owner, 'member');
  const other = await open({ as: member, path: `projects/${project_id}` });
  await openScreen(page, `projects/${project_id}`);
  await waitUntilShown(other);

  // Two users edit different fields of one project: there is no conflict.
  await (await openEditor(other, 'Tags of Bells')).fill('bronze');
  await other.keyboard.press('Enter');
  await waitForToast(other, 'Tags changed.');
  await (await openEditor(page, 'Start of Bells')).fill('2027-04-20');
  await page.keyboard.press('Enter');
  await waitForToast(page, 'Start changed.');
  await button(page, 'Change Tags of Bells: bronze').waitFor();

  // Two users edit the same field: the console shows a conflict.
  await (await openEditor(other, 'Name of Bells')).fill('Theirs');
  await other.keyboard.press('Enter');
  await waitForToast(other, 'Name changed.');
  const mine = await openEditor(page, 'Name of Bells');
  await mine.fill('Mine');
  await page.keyboard.press('Enter');
  const conflict = 'Somebody else has set this to “Theirs” meanwhile. Enter keeps yours, Escape theirs.';
  await page.getByRole('alert').getByText(conflict).waitFor();
  assert.equal((await owner.carillon.projects.get(project_id)).project_name, 'Theirs', 'nothing was overwritten');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Mine' }).waitFor();
  const { project_name, tags, start_date } = await owner.carillon.projects.get(project_id);
  assert.deepEqual([project_name, tags, start_date], ['Mine', 'bronze', '2027-04-20 00:00:00']);
});

test('C33 completing a task completes its open subtasks, and a hook on completed_subtask is notified of each', async (t) => {
  const { page, owner } = await startConsole(t);
  const target = await startTarget(t);
  const { project_id } = await createProject({ owner });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  const ids: string[] = [];
  for (const subtask_name of ['Mould', 'Pour', 'Cool']) {
    ids.push((await owner.carillon.subtasks.create(task_id, { subtask_name })).subtask_id);
  }
  const [mould = ''] = ids;
  await owner.carillon.subtasks.complete(mould);
  await owner.carillon.hooks.create({ target_url: target.url, event: 'completed_subtask' });

  await openScreen(page, 'tasks');
  await button(page, 'Subtasks of Cast').click();
  const box = (name: string) => page.getByRole('checkbox', { name: `Complete ${name}`, exact: true });
  await box('Mould').waitFor();
  assert.deepEqual(await Promise.all(['Mould', 'Pour', 'Cool'].map((name) => box(name).isChecked())), [
    true,
    false,
    false,
  ]);

  const gate = Promise.withResolvers<void>();
  await page.route('**/console/api/tasks/*', async (route) => {
    await gate.promise;
    await route.continue();
  });
  await box('Cast').focus();
  await page.keyboard.press('Space');
  await eventually(
    () => Promise.all(['Cast', 'Mould', 'Pour', 'Cool'].map((name) => box(name).isChecked())),
    (ticks) => ticks.every((isTicked) => isTicked),
  );
  assert.equal((await owner.carillon.tasks.get(task_id)).completed, '0', 'optimistic update: shown before it is saved');
  gate.resolve();
  await waitForToast(page, '“Cast” completed, with 2 subtasks.');
  assert.deepEqual(await Promise.all(['Mould', 'Pour', 'Cool'].map((name) => box(name).isChecked())), [
    true,
    true,
    true,
  ]);
  const received = await target.waitForArrivals(2);
  assert.deepEqual(
    received.map(({ resourceUrl }) => resourceUrl.split('/').at(-1)).sort(),
    ids.filter((id) => id !== mould),
    'only for subtasks that were open before',
  );

  // Undo reopens only the subtasks that were open before.
  await undo(page);
  await waitForToast(page, '“Cast” is open again, with 2 subtasks.');
  await eventually(
    () => Promise.all(['Cast', 'Mould', 'Pour', 'Cool'].map((name) => box(name).isChecked())),
    (ticks) => ticks.join() === 'false,true,false,false',
  );
  const { data } = await owner.carillon.subtasks.list({ task_id });
  assert.deepEqual(
    data.map(({ subtask_name, completed }) => [subtask_name, completed]),
    [
      ['Mould', '1'],
      ['Pour', '0'],
      ['Cool', '0'],
    ],
  );
  assert.equal((await owner.carillon.tasks.get(task_id)).completed, '0');
});

test('C41 completing a recurring task shows the next task and its subtasks in the lists', async (t) => {
  const { page, owner } = await startConsole(t);
  const { project_id } = await createProject({ owner });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Oil', due_date: '20990131' });
  await owner.carillon.subtasks.create(task_id, { subtask_name: 'Wipe', recurring: 'D' });
  await openScreen(page, `tasks/${task_id}`);
  await (await openEditor(page, 'Recurring of Oil')).selectOption('Monthly');
  await page.keyboard.press('Enter');
  await waitForToast(page, 'Recurring changed.');
  const boxes = (name: string) => page.getByRole('checkbox', { name: `Complete ${name}`, exact: true });
  await boxes('Wipe').check();
  await eventually(
    () => boxes('Wipe').count(),
    (count) => count === 2,
  );

  await openScreen(page, 'tasks');
  await boxes('Oil').check();
  await waitForToast(page, '“Oil” completed, with its subtask. The next one is open.');
  await eventually(
    async () => [await boxes('Oil').count(), await boxes('Oil').first().isChecked()],
    ([count, isChecked]) => count === 1 && isChecked === false,
  );
  const { data } = await owner.carillon.tasks.list({ status: 'open' });
  assert.deepEqual(
    data.map(({ due_date, recurring }) => [due_date, recurring]),
    [['2099-02-28 00:00:00', 'M']],
  );
});

test('subtasks are added, edited, completed, deleted and restored on the page of their task', async (t) => {
  const { page, owner } = await startConsole(t);
  const { project_id } = await createProject({ owner });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  await openScreen(page, `tasks/${task_id}`);
  const subtasks = page.getByRole('list', { name: 'Subtasks of Cast' });
  for (const name of ['Mould', 'Pour']) {
    await page.getByLabel('Add a subtask to Cast').fill(name);
    await page.keyboard.press('Enter');
    await button(page, `Change Name of ${name}: ${name}`).waitFor();
  }
  await page.getByRole('checkbox', { name: 'Complete Mould' }).check();
  await (await openEditor(page, 'Name of Pour')).fill('Pour slowly');
  await page.keyboard.press('Enter');
  await button(page, 'Change Name of Pour slowly: Pour slowly').waitFor();
  await button(page, 'Delete Pour slowly').click();
  await waitForToast(page, '“Pour slowly” deleted.');
  assert.equal(await subtasks.getByRole('listitem').count(), 1);
  await undo(page);
  await button(page, 'Change Name of Pour slowly: Pour slowly').waitFor();
  const { data } = await owner.carillon.subtasks.list({ task_id });
  assert.deepEqual(
    data.map(({ subtask_name, completed }) => [subtask_name, completed]),
    [
      ['Mould', '1'],
      ['Pour slowly', '0'],
    ],
  );
});

test('views open, due soon, overdue and completed: the view is in the URL, and a completed task is not overdue', async (t) => {
  const { page, owner } = await startConsole(t);
  const { project_id } = await createProject({ owner });
  const tasks = { Late: -2, Soon: 3, Far: 40 };
  for (const [task_name, ahead] of Object.entries(tasks)) {
    await owner.carillon.tasks.create(project_id, { task_name, due_date: daysAhead(ahead).apiDay });
  }
  await openScreen(page, 'tasks');
  const names = () => page.getByRole('row').getByRole('link').allTextContents();
  const waitForNames = (...wanted: string[]) =>
    eventually(
      async () => (await names()).filter((name) => name in tasks),
      (found) => found.join() === wanted.join(),
    );
  await waitForNames('Late', 'Soon', 'Far');
  await rowOf(page, 'Late').getByText('2 days late').waitFor();
  await rowOf(page, 'Soon').getByText('in 3 days').waitFor();

  await button(page, 'Due soon').click();
  await waitForNames('Soon');
  await button(page, 'Overdue').click();
  await waitForNames('Late');
  await page.reload();
  await waitForNames('Late');
  assert.match(page.url(), /#\/tasks\?view=late$/);

  await page.getByRole('checkbox', { name: 'Complete Late' }).check();
  await rowOf(page, 'Late').getByText('2 days late').waitFor({ state: 'detached' });
  await button(page, 'Completed').click();
  await waitForNames('Late');
  await button(page, 'Overdue').click();
  await page.getByText('Nothing is late').waitFor();
});

test('1,200 tasks are paginated by 100 in the requested order, with range and total', async (t) => {
  const { page, owner } = await startConsole(t);
  const { project_id } = await createProject({ owner });
  const numbers = Array.from({ length: 1_200 }, (_, index) => index + 1);
  await Promise.all(
    numbers.map((number) =>
      owner.carillon.tasks.create(project_id, { task_name: `Task ${String(1_201 - number).padStart(4, '0')}` }),
    ),
  );
  await openScreen(page, 'tasks?order=taskname');
  const names = () =>
    page
      .getByRole('row')
      .getByRole('link', { name: /^Task \d/ })
      .allTextContents();
  const waitForFirst = async (wanted: string) => eventually(names, ([name]) => name === wanted);
  await page.getByText('1 – 100 of 1,200 tasks', { exact: true }).waitFor();
  assert.equal((await names()).length, 100);
  await waitForFirst('Task 0001');
  await button(page, 'Next').click();
  await page.getByText('101 – 200 of 1,200 tasks', { exact: true }).waitFor();
  await waitForFirst('Task 0101');
  await page.reload();
  await waitForFirst('Task 0101');
  await openScreen(page, 'tasks?order=taskname&page=12');
  await page.getByText('1,101 – 1,200 of 1,200 tasks', { exact: true }).waitFor();
  assert.ok(await button(page, 'Next').isDisabled());
  await page.getByLabel('Add a task').fill('Task 9999');
  await page.keyboard.press('Enter');
  await page.getByText('1,101 – 1,201 of 1,201 tasks', { exact: true }).waitFor();
  assert.equal((await names()).at(-1), 'Task 9999', 'a new record is shown at the end');

  await openScreen(page, 'tasks?order=taskname&page=99');
  await page.getByText('Nothing on this page').waitFor();
  await page.getByText('1,201 tasks', { exact: true }).waitFor();
  await button(page, 'To the first page').click();
  await waitForFirst('Task 0001');
});

test('a missing or deleted record shows an explanation and a link to the list', async (t) => {
  const { page } = await startConsole(t);
  for (const [path, linkName] of [
    ['projects/99', 'All projects'],
    ['tasks/99', 'All tasks'],
    ['clients/0', 'All clients'],
    ['hooks/99', 'All webhooks'],
  ] as const) {
    await openScreen(page, path);
    await page.getByRole('alert').getByText('There is nothing here: it was deleted, or it is not yours').waitFor();
    await page.getByRole('link', { name: linkName }).waitFor();
  }
});

test('deleting a project with tasks asks for confirmation with their number; deleting an empty one offers Undo', async (t) => {
  const { page, owner } = await startConsole(t);
  const full = await createProject({ owner }, 'Full');
  await owner.carillon.projects.create({ project_name: 'Empty', color: '#16a34a', tags: 'bronze', progress: 30 });
  for (const task_name of ['a', 'b', 'c']) await owner.carillon.tasks.create(full.project_id, { task_name });
  await owner.carillon.comments.create(full.project_id, { comment: 'Soon' });
  const event = { event_name: 'Launch', start_date: '20270420', due_date: '20270420', project_id: full.project_id };
  const { event_id } = await owner.carillon.events.create(event);
  await openScreen(page, 'projects');

  await button(page, 'More for Empty').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await waitForToast(page, '“Empty” deleted.');
  await rowOf(page, 'Empty').waitFor({ state: 'detached' });
  await undo(page);
  await rowOf(page, 'Empty').getByText('bronze').waitFor();
  const { data } = await owner.carillon.projects.list();
  const [{ color, progress } = assert.fail()] = data.filter(({ project_name }) => project_name === 'Empty');
  assert.deepEqual([color, progress], ['#16a34a', '30']);

  await button(page, 'More for Full').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Its 3 tasks and all subtasks, 1 comment go with it.').waitFor();
  await dialog.getByText('Its event on the calendar stays, without a project.').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.equal((await owner.carillon.tasks.list()).paging.total_records, 3, 'nothing is deleted before confirmation');
  await button(page, 'More for Full').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete with 3 tasks and more' }).click();
  await rowOf(page, 'Full').waitFor({ state: 'detached' });
  assert.equal((await owner.carillon.tasks.list()).paging.total_records, 0);
  assert.equal((await owner.carillon.events.get(event_id)).project_id, '0');
});

test('the progress of a project is computed from its tasks until it is set by hand', async (t) => {
  const { page, owner } = await startConsole(t);
  const { project_id } = await createProject({ owner });
  for (const task_name of ['a', 'b', 'c']) await owner.carillon.tasks.create(project_id, { task_name });
  await openScreen(page, `projects/${project_id}`);
  await page.getByText('0 of 3 tasks completed.').waitFor();
  await page.getByRole('checkbox', { name: 'Complete a', exact: true }).check();
  await page.getByText('1 of 3 tasks completed.').waitFor();
  const bar = page.getByRole('progressbar', { name: 'Progress of Bells' });
  assert.equal(await bar.getAttribute('aria-valuenow'), '33');

  await (await openEditor(page, 'Progress of Bells')).fill('101');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Progress of Bells', { exact: true }).last().fill('80');
  await page.keyboard.press('Enter');
  await page.getByText('Set by hand; 0 counts the completed tasks again.').waitFor();
  assert.equal(await bar.getAttribute('aria-valuenow'), '80');
  await openScreen(page, 'projects');
  assert.equal(await bar.getAttribute('aria-valuenow'), '80');
});

test('a project shows its client, people and next events, with the same dates in every time zone', async (t) => {
  const { owner, service, open } = await startConsole(t);
  const { client_id } = await owner.carillon.clients.create({ client_name: 'Foundry' });
  const member = await service.createUser(owner, 'member');
  const { project_id } = await owner.carillon.projects.create({
    project_name: 'Bells',
    client_id,
    start_date: '20280229',
    due_date: '20280301',
    users: [member.userId],
  });
  await owner.carillon.events.create({
    event_name: 'Ringing in',
    start_date: '2028-03-01 00:30:00',
    due_date: '2028-03-01 23:30:00',
    project_id,
  });
  for (const timezoneId of ['America/New_York', 'Pacific/Auckland']) {
    const page = await open({ path: `projects/${project_id}`, timezoneId });
    await button(page, /^Change Start of Bells: 29 Feb 2028$/).waitFor();
    await page.getByText('1 Mar 2028, 00:30 – 1 Mar 2028, 23:30').waitFor();
    await page.getByRole('link', { name: 'Foundry' }).waitFor();
    await button(page, 'Assigned to Bells: Test member').waitFor();
  }
});

test('a member assigns people in the picker', async (t) => {
  const { service, owner, open } = await startConsole(t);
  const member = await service.createUser(owner, 'member');
  const { project_id } = await createProject({ owner });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });
  const page = await open({ as: member, path: 'tasks' });
  await button(page, 'Assigned to Cast: nobody').click();
  await page.getByRole('dialog').getByLabel('Test member').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await button(page, 'Assigned to Cast: Test member').waitFor();
  const { users } = await owner.carillon.tasks.get(task_id);
  assert.deepEqual(users, [{ user_id: member.userId, user_name: 'Test member' }]);
  const focus = page.locator(':focus').getByText('Assigned to Cast: Test member');
  assert.equal(await focus.count(), 1, 'the focus returns to the opener');
});

test('clients are found by part of their name and put on hold; deleting one keeps its projects', async (t) => {
  const { page, owner } = await startConsole(t);
  const { client_id } = await owner.carillon.clients.create({ client_name: 'Bell Foundry' });
  for (const client_name of ['Älmhult Bells', 'Tower Ltd']) await owner.carillon.clients.create({ client_name });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Chimes', client_id });
  await openScreen(page, 'clients');
  await rowOf(page, 'Tower Ltd').waitFor();
  await page.getByLabel('Search clients by name').fill('bell');
  await rowOf(page, 'Tower Ltd').waitFor({ state: 'detached' });
  await page.getByText('2 clients', { exact: true }).waitFor();
  assert.match(page.url(), /#\/clients\?name=bell$/);

  await (await openEditor(page, 'State of Bell Foundry')).selectOption('On hold');
  await page.keyboard.press('Enter');
  await waitForToast(page, 'State changed.');
  await (await openEditor(page, 'Email of Bell Foundry')).fill('no address');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Email must be an e-mail address of at most 254 characters.').waitFor();
  await page.keyboard.press('Escape');
  assert.equal((await owner.carillon.clients.get(client_id)).active, '2');

  await page.getByRole('link', { name: 'Bell Foundry' }).click();
  await page.getByRole('link', { name: 'Chimes' }).waitFor();
  await button(page, 'Delete').click();
  await page.getByRole('dialog').getByText('Its project stays, without a client.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await rowOf(page, 'Tower Ltd').waitFor();
  assert.equal((await owner.carillon.projects.get(project_id)).client_id, '0');
});

test('on a narrow screen tables become cards without overflow', async (t) => {
  const { page, owner } = await startConsole(t, { width: 390, height: 844 });
  const { client_id } = await owner.carillon.clients.create({ client_name: 'Foundry', email: 'bells@foundry.test' });
  const project_name = 'A project whose name goes on for longer than the screen is wide';
  const { project_id } = await owner.carillon.projects.create({ project_name, client_id, tags: 'bronze,iron,gold' });
  const { task_id } = await owner.carillon.tasks.create(project_id, {
    task_name: 'averyveryverylongwordthatcannotbebrokenatanyplacewhatsoever',
    due_date: daysAhead(-400).apiDay,
  });
  const { contact_id } = await owner.carillon.contacts.create({
    contact_name: 'A desk',
    client_id,
    role: 'r'.repeat(200),
  });
  await owner.carillon.teams.create({ team_name: 'T'.repeat(200) });
  const lists = ['projects', 'tasks', 'clients', 'contacts', 'teams'];
  const paths = [
    ...lists,
    `contacts/${contact_id}`,
    `projects/${project_id}`,
    `tasks/${task_id}`,
    `clients/${client_id}`,
  ];
  for (const path of paths) {
    await openScreen(page, path);
    const widths = await page.evaluate<number[]>(MAIN_WIDTHS_SCRIPT);
    assert.equal(widths[0], widths[1], path);
  }
});

test('a long name and long tags are readable on a narrow screen', async (t) => {
  const { owner, page } = await startConsole(t, { width: 390, height: 844 });
  const { project_id } = await createProject({ owner });
  const task_name = 'Donaudampfschifffahrt'.repeat(9);
  await owner.carillon.tasks.create(project_id, {
    task_name,
    tags: 'a-tag-that-says-very-much,another-one',
    important: '1',
  });
  await openScreen(page, 'tasks');
  const box = await page.getByRole('link', { name: task_name }).boundingBox();
  assert.ok((box?.width ?? 0) > 150, `${box?.width} px`);
});

test('an invalid color is ignored without a request, and names are rendered as text', async (t) => {
  const { page, owner } = await startConsole(t);
  const project_name = '<img src=x onerror=alert(1)>';
  await owner.carillon.projects.create({ project_name, color: 'url(http://x.test/a)' });
  await owner.carillon.projects.create({ project_name: 'Green', color: '#16a34a' });
  await openScreen(page, 'projects');
  await rowOf(page, project_name).waitFor();
  const dots = await page.locator('td .dot').evaluateAll((all) => all.map((dot) => dot.getAttribute('style')));
  assert.deepEqual(dots, [null, '--dot: #16a34a;']);
});
