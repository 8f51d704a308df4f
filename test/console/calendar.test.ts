import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Locator, Page, Request } from 'playwright-core';
import type { CalendarEvent } from '../../packages/sdk/src/resources.ts';
import { BulkInserter } from '../../src/transfer/import.ts';
import { eventually } from '../kit/eventually.ts';
import { type ConsoleFixture, startConsole } from '../kit/network/browser.ts';
import type { TestService } from '../kit/service/service.ts';

const APRIL = 'calendar?date=2027-04-20';

const dayIn = (page: Page, day: string) => page.locator(`.board [data-day="${day}"]`);
const entryIn = (page: Page, name: string) => page.locator('.board .ec-event:not(.ec-preview)', { hasText: name });
const dialogIn = (page: Page) => page.getByRole('dialog');
const toastIn = (page: Page, text: string) => page.locator('.toast', { hasText: text });

/** Waits until the calendar has loaded all events. */
const waitUntilLoaded = (page: Page) => page.locator('.calendar[data-shown]:not([data-shown=""])').waitFor();

/** Opens the calendar in April 2027, after `prepare` has created records. */
async function openApril(
  t: Parameters<typeof startConsole>[0],
  {
    prepare,
    ...window
  }: Parameters<typeof startConsole>[1] & { prepare?: (one: ConsoleFixture) => Promise<unknown> } = {},
): Promise<ConsoleFixture> {
  const one = await startConsole(t, { path: APRIL, ...window });
  if (prepare !== undefined) {
    await prepare(one);
    await one.page.reload();
  }
  await waitUntilLoaded(one.page);
  return one;
}

const createEvents =
  (...events: readonly (readonly [name: string, start: string, due: string])[]) =>
  async ({ owner }: ConsoleFixture) => {
    for (const [event_name, start_date, due_date] of events) {
      await owner.carillon.events.create({ event_name, start_date, due_date });
    }
  };

/** Returns all events on the server, as `name: start – due`. */
async function eventsOnServer({ owner }: ConsoleFixture): Promise<readonly string[]> {
  const { data } = await owner.carillon.events.list();
  return data.map(({ event_name, start_date, due_date }) => `${event_name}: ${start_date} – ${due_date}`);
}

async function eventNamed({ owner }: ConsoleFixture, name: string): Promise<CalendarEvent> {
  const found = (await owner.carillon.events.list()).data.find(({ event_name }) => event_name === name);
  assert.ok(found, name);
  return found;
}

/** Waits until a value equals the expected value. */
const waitFor = <T>(read: () => Promise<T> | T, wanted: T) =>
  eventually(read, (value) => isDeepStrictEqual(value, wanted));

const waitForEvents = (one: ConsoleFixture, ...wanted: readonly string[]) => waitFor(() => eventsOnServer(one), wanted);

/** Returns the bounding box of an element. Waits until the element is rendered. */
async function boxOf(locator: Locator) {
  const box = await eventually(
    () => locator.boundingBox(),
    (found) => found !== null,
  );
  assert.ok(box);
  return box;
}

/** Drags from the center of one element, or from the point `grip` in it, to the center of another element. */
async function drag(page: Page, from: Locator, to: Locator, grip?: { readonly x: number; readonly y: number }) {
  const [begin, end] = [await boxOf(from), await boxOf(to)];
  const start = { x: begin.x + (grip?.x ?? begin.width / 2), y: begin.y + (grip?.y ?? begin.height / 2) };
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move(start.x + 10, start.y + 2, { steps: 3 });
  await page.mouse.move(end.x + end.width / 2, end.y + end.height - 8, { steps: 8 });
  await page.mouse.up();
}

test('buttons and keys switch between month, week, day and list, and the URL restores the view', async (t) => {
  const { page } = await openApril(t, { prepare: createEvents(['Release v27', '20270420', '20270424']) });
  const title = page.getByRole('heading', { level: 1 });
  assert.equal(await title.textContent(), 'April 2027');
  await page.getByRole('button', { name: 'Week' }).click();
  await page.getByRole('heading', { name: /^19\s–\s25 April 2027$/ }).waitFor();
  assert.match(page.url(), /view=week/);
  await page.reload();
  await page.getByRole('heading', { name: /^19\s–\s25 April 2027$/ }).waitFor();
  await entryIn(page, 'Release v27').waitFor();
  await page.keyboard.press('d');
  await page.getByRole('heading', { name: /^Tuesday,? 20 April 2027$/ }).waitFor();
  await page.keyboard.press('l');
  await page.locator('.agenda').getByRole('button', { name: 'Release v27' }).waitFor();
  await page.keyboard.press('m');
  await page.getByRole('button', { name: 'Next month' }).click();
  await page.getByRole('heading', { name: 'May 2027' }).waitFor();
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await page.getByRole('heading', { name: 'March 2027' }).waitFor();
  await page.getByRole('button', { name: 'Today' }).click();
  const now = new Date();
  const currentMonth = now.toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  await page.getByRole('heading', { name: currentMonth }).waitFor();
  assert.doesNotMatch(page.url(), /date=|view=/, 'the URL omits defaults');
});

test('dragging over days creates an event on those days', async (t) => {
  const one = await openApril(t);
  const { page } = one;
  await drag(page, dayIn(page, '2027-04-20'), dayIn(page, '2027-04-23'));
  const dialog = dialogIn(page);
  await dialog.getByLabel('Name').fill('Offsite');
  await page.keyboard.press('Enter');
  await toastIn(page, '“Offsite” created').waitFor();
  await entryIn(page, 'Offsite').waitFor();
  await waitForEvents(one, 'Offsite: 2027-04-20 00:00:00 – 2027-04-23 00:00:00');
  assert.equal(await page.locator('.ec-preview').count(), 0, 'the selection is cleared');
  await toastIn(page, 'created').getByRole('button', { name: 'Undo' }).click();
  await waitForEvents(one);
  await entryIn(page, 'Offsite').waitFor({ state: 'detached' });
});

test('a click on a day creates an event there; closing the dialog without a name creates nothing', async (t) => {
  const one = await openApril(t);
  const { page } = one;
  await dayIn(page, '2027-04-14').click();
  await dialogIn(page).getByRole('button', { name: 'Create' }).click();
  await dialogIn(page).getByText('Give it a name.').waitFor();
  await page.keyboard.press('Escape');
  await dialogIn(page).waitFor({ state: 'detached' });
  await dayIn(page, '2027-04-14').click();
  await dialogIn(page).getByLabel('Name').fill('Dentist');
  await dialogIn(page).getByLabel('All day').uncheck();
  await dialogIn(page).getByLabel('Begins at').fill('14:00');
  await dialogIn(page).getByLabel('Ends at').fill('13:00');
  await dialogIn(page).getByRole('button', { name: 'Create' }).click();
  await dialogIn(page).getByText('It ends before it begins.').waitFor();
  await dialogIn(page).getByLabel('Ends at').fill('15:30');
  await dialogIn(page).getByRole('button', { name: 'Create' }).click();
  await waitForEvents(one, 'Dentist: 2027-04-14 14:00:00 – 2027-04-14 15:30:00');
  await page.getByRole('button', { name: '14:00 Dentist' }).waitFor();
});

test('the quick-add line creates an event, and shows the parsed values while typing', async (t) => {
  const one = await openApril(t, {
    prepare: async ({ owner }) => {
      await owner.carillon.projects.create({ project_name: 'Node' });
      await owner.carillon.projects.create({ project_name: 'Node 27', color: '#16a34a' });
    },
  });
  const { page } = one;
  await page.keyboard.press('q');
  await page.keyboard.type('Release v27 20 Apr 2027 – 24 Apr #Node 27');
  const chip = (of: string) => page.locator(`.understood [data-of="${of}"]`);
  assert.deepEqual(
    await Promise.all(
      ['name', 'days', 'times', 'project'].map(async (of) => (await chip(of).innerText()).replace(/\s/gu, ' ')),
    ),
    ['Release v27', '20 – 24 Apr 2027', 'all day', 'Node 27'],
  );
  await page.keyboard.press('Enter');
  await waitForEvents(one, 'Release v27: 2027-04-20 00:00:00 – 2027-04-24 00:00:00');
  const event = await eventNamed(one, 'Release v27');
  assert.equal((await one.owner.carillon.projects.get(event.project_id)).project_name, 'Node 27');
  // The field is cleared for the next event.
  await eventually(
    () => page.getByLabel('Add an event in one line').inputValue(),
    (text) => text === '',
  );
  await page.keyboard.type('Party 2 Jul 2027 18:00-23:00');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'July 2027' }).waitFor();
  await entryIn(page, 'Party').waitFor();
  await page.getByLabel('Add an event in one line').fill('3 Jul 2027');
  assert.equal(await chip('name').innerText(), 'It needs a name');
  assert.equal(await page.getByRole('button', { name: 'Add', exact: true }).isDisabled(), true);
});

test('a repeated event is created as separate events; the dialog shows their number before', async (t) => {
  const one = await openApril(t);
  const { page } = one;
  await dayIn(page, '2027-04-05').click();
  const dialog = dialogIn(page);
  await dialog.getByLabel('Name').fill('Standup');
  await dialog.getByLabel('Repeat').selectOption({ label: 'Every week' });
  await dialog.getByLabel('Until').fill('2027-04-26');
  await dialog.getByText('Makes 4 events, the last on Mon, 26 Apr 2027.').waitFor();
  await dialog.getByRole('button', { name: 'Create 4 events' }).click();
  await toastIn(page, '4 events created').waitFor();
  await waitForEvents(
    one,
    ...[5, 12, 19, 26].map((n) => `Standup: 2027-04-${twoDigits(n)} 00:00:00 – 2027-04-${twoDigits(n)} 00:00:00`),
  );
  // The calendar shows the events a moment after the service has stored them.
  await entryIn(page, 'Standup').nth(3).waitFor();
  assert.equal(await entryIn(page, 'Standup').count(), 4);
  await toastIn(page, '4 events').getByRole('button', { name: 'Undo' }).click();
  await waitForEvents(one);
});

test('more than 200 repetitions are rejected before any is created; a long series can be stopped', async (t) => {
  const one = await openApril(t);
  const { page } = one;
  await page.keyboard.press('n');
  const dialog = dialogIn(page);
  await dialog.getByLabel('Name').fill('Daily');
  await dialog.getByLabel('Repeat').selectOption({ label: 'Every day' });
  await dialog.getByLabel('Until').fill('2029-01-01');
  await dialog.getByText('That is more than 200 events.').waitFor();
  await dialog.getByLabel('Until').fill('2027-10-31');
  const create = dialog.getByRole('button', { name: 'Create 195 events' });
  // Delay each request, so that the test can stop the series in time.
  await page.route('**/console/api/events', async (route) => {
    if (route.request().method() === 'POST') await new Promise((resolve) => setTimeout(resolve, 20));
    await route.continue();
  });
  await create.click();
  await dialog.getByRole('progressbar', { name: 'Events created' }).waitFor();
  await dialog.getByText(/^[3-9] of 195$/).waitFor();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await toastIn(page, 'and stopped').waitFor();
  const createdCount = (await eventsOnServer(one)).length;
  assert.ok(createdCount >= 3 && createdCount < 195, `${createdCount} were created`);
});

const twoDigits = (number: number) => String(number).padStart(2, '0');

test('an event is moved by dragging, and Undo moves it back', async (t) => {
  const one = await openApril(t, {
    prepare: createEvents(
      ['Release v27', '20270420', '20270422'],
      ['Call', '2027-04-07 09:30:00', '2027-04-07 10:15:00'],
    ),
  });
  const { page } = one;
  await drag(page, entryIn(page, 'Release v27'), dayIn(page, '2027-04-28'), { x: 40, y: 10 });
  await toastIn(page, '“Release v27” moved').waitFor();
  await waitForEvents(
    one,
    'Call: 2027-04-07 09:30:00 – 2027-04-07 10:15:00',
    'Release v27: 2027-04-28 00:00:00 – 2027-04-30 00:00:00',
  );
  await toastIn(page, 'moved').getByRole('button', { name: 'Undo' }).click();
  await waitForEvents(
    one,
    'Call: 2027-04-07 09:30:00 – 2027-04-07 10:15:00',
    'Release v27: 2027-04-20 00:00:00 – 2027-04-22 00:00:00',
  );
  await drag(page, entryIn(page, 'Call'), dayIn(page, '2027-04-09'));
  await waitForEvents(
    one,
    'Call: 2027-04-09 09:30:00 – 2027-04-09 10:15:00',
    'Release v27: 2027-04-20 00:00:00 – 2027-04-22 00:00:00',
  );
});

test('an event is resized by dragging its ends', async (t) => {
  const one = await openApril(t, { prepare: createEvents(['Release v27', '20270420', '20270421']) });
  const { page } = one;
  const box = await boxOf(entryIn(page, 'Release v27'));
  await drag(page, entryIn(page, 'Release v27'), dayIn(page, '2027-04-24'), { x: box.width - 3, y: 10 });
  await waitForEvents(one, 'Release v27: 2027-04-20 00:00:00 – 2027-04-24 00:00:00');
  await drag(page, entryIn(page, 'Release v27'), dayIn(page, '2027-04-22'), { x: 3, y: 10 });
  await waitForEvents(one, 'Release v27: 2027-04-22 00:00:00 – 2027-04-24 00:00:00');
});

test('in the week view, dragging over hours creates an event, and an event is dragged to other hours', async (t) => {
  const one = await openApril(t, { path: `${APRIL}&view=week` });
  const { page } = one;
  const box = await boxOf(dayIn(page, '2027-04-21'));
  const hour = box.height / 24;
  const at = (hours: number) => ({ x: box.x + box.width / 2, y: box.y + hours * hour + 2 });
  await page.mouse.move(at(10).x, at(10).y);
  await page.mouse.down();
  await page.mouse.move(at(10.5).x, at(10.5).y, { steps: 3 });
  await page.mouse.move(at(11.75).x, at(11.75).y, { steps: 3 });
  await page.mouse.up();
  await dialogIn(page).getByLabel('Name').fill('Review');
  await page.keyboard.press('Enter');
  await waitForEvents(one, 'Review: 2027-04-21 10:00:00 – 2027-04-21 12:00:00');
  await dialogIn(page).waitFor({ state: 'detached' });
  const event = await boxOf(entryIn(page, 'Review'));
  await page.mouse.move(event.x + 30, event.y + 20);
  await page.mouse.down();
  await page.mouse.move(event.x + 30, event.y + 20 + hour, { steps: 3 });
  await page.mouse.move(event.x + 30 + box.width, event.y + 20 + 3 * hour, { steps: 4 });
  await page.mouse.up();
  await waitForEvents(one, 'Review: 2027-04-22 13:00:00 – 2027-04-22 15:00:00');
});

test('an event is edited in the dialog, and only changed fields are sent', async (t) => {
  const one = await openApril(t, { prepare: createEvents(['Release v27', '20270420', '20270424']) });
  const { page } = one;
  const sent: unknown[] = [];
  page.on('request', (request) => request.method() === 'PUT' && sent.push(request.postDataJSON()));
  await entryIn(page, 'Release v27').click();
  const dialog = dialogIn(page);
  await dialog.getByLabel('Name').fill('Release v28');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await toastIn(page, '“Release v28” saved').waitFor();
  assert.deepEqual(sent, [{ event_name: 'Release v28' }]);
  await entryIn(page, 'Release v28').click();
  await dialog.getByLabel('From').fill('2027-04-21');
  assert.equal(
    await dialog.getByLabel('To', { exact: true }).inputValue(),
    '2027-04-25',
    'the end moves with the start',
  );
  await dialog.getByRole('button', { name: 'Save' }).click();
  await waitForEvents(one, 'Release v28: 2027-04-21 00:00:00 – 2027-04-25 00:00:00');
  await entryIn(page, 'Release v28').first().click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(sent.length, 2, 'nothing is sent without changes');
});

test('an edit conflict does not overwrite an event, and shows its current version', async (t) => {
  const one = await openApril(t, { prepare: createEvents(['Release v27', '20270420', '20270424']) });
  const { page, owner } = one;
  await entryIn(page, 'Release v27').click();
  const { event_id } = await eventNamed(one, 'Release v27');
  await owner.carillon.events.update(event_id, { event_name: 'Release v27.1' });
  await dialogIn(page).getByLabel('Name').fill('Mine');
  await dialogIn(page).getByRole('button', { name: 'Save' }).click();
  await dialogIn(page).getByText('Somebody else has changed this meanwhile.').waitFor();
  await page.keyboard.press('Escape');
  await entryIn(page, 'Release v27.1').waitFor();
});

test('an event is duplicated; Undo of a deletion restores all its fields', async (t) => {
  const one = await openApril(t, {
    prepare: async ({ owner }) => {
      const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
      const dates = { start_date: '2027-04-20 14:00:00', due_date: '2027-04-20 15:30:00' };
      await owner.carillon.events.create({ event_name: 'Review', ...dates, project_id });
    },
  });
  const { page } = one;
  await entryIn(page, 'Review').click();
  await dialogIn(page).getByRole('button', { name: 'Duplicate' }).click();
  const review = 'Review: 2027-04-20 14:00:00 – 2027-04-20 15:30:00';
  await waitForEvents(one, review, review);
  await toastIn(page, 'duplicated').getByRole('button', { name: 'Undo' }).click();
  await waitForEvents(one, review);
  const before = await eventNamed(one, 'Review');
  await waitFor(() => entryIn(page, 'Review').count(), 1);
  await entryIn(page, 'Review').click();
  await dialogIn(page).getByRole('button', { name: 'Delete' }).click();
  await waitForEvents(one);
  await entryIn(page, 'Review').waitFor({ state: 'detached' });
  await toastIn(page, '“Review” deleted').getByRole('button', { name: 'Undo' }).click();
  await waitForEvents(one, review);
  assert.equal((await eventNamed(one, 'Review')).project_id, before.project_id);
  await entryIn(page, 'Review').waitFor();
});

test('a rejected move shows the error and rolls the event back', async (t) => {
  const one = await openApril(t, { prepare: createEvents(['Release v27', '20270420', '20270420']) });
  const { page } = one;
  const where = await entryIn(page, 'Release v27').boundingBox();
  await page.route('**/console/api/events/*', (route) =>
    route.request().method() === 'PUT'
      ? route.fulfill({
          status: 503,
          contentType: 'application/problem+json',
          body: JSON.stringify({ status: 503, code: 'storage_unavailable', message: 'The disk is full.' }),
        })
      : route.continue(),
  );
  await drag(page, entryIn(page, 'Release v27'), dayIn(page, '2027-04-28'));
  await toastIn(page, 'The disk is full.').waitFor();
  await waitFor(() => entryIn(page, 'Release v27').boundingBox(), where);
  await waitForEvents(one, 'Release v27: 2027-04-20 00:00:00 – 2027-04-20 00:00:00');
});

test('events have the color of their project, and are filtered by project and name; the filters are in the URL', async (t) => {
  const one = await openApril(t, {
    prepare: async ({ owner }) => {
      for (const [project_name, color] of [
        ['Bells', '#16a34a'],
        ['Towers', ''],
      ] as const) {
        const { project_id } = await owner.carillon.projects.create({ project_name, color });
        await owner.carillon.events.create({
          event_name: `Of ${project_name}`,
          start_date: '20270420',
          due_date: '20270420',
          project_id,
        });
      }
      await owner.carillon.events.create({ event_name: 'Of none', start_date: '20270421', due_date: '20270421' });
    },
  });
  const { page } = one;
  const colorOf = (name: string) =>
    entryIn(page, name).evaluate((element) => `${Reflect.get(element, 'style').getPropertyValue('--colour')}`);
  assert.equal(await colorOf('Of Bells'), '#16a34a');
  assert.match(await colorOf('Of Towers'), /^oklch/);
  assert.equal(await colorOf('Of none'), '');
  const names = async () => (await page.locator('.board .ec-event .title').allTextContents()).sort();
  await page.getByRole('button', { name: 'Bells', exact: true }).click();
  await waitFor(() => names(), ['Of Bells']);
  assert.match(page.url(), /projects=\d+/);
  await page.reload();
  await waitUntilLoaded(page);
  assert.deepEqual(await names(), ['Of Bells']);
  await page.getByRole('button', { name: 'All projects' }).click();
  await page.keyboard.press('/');
  await page.keyboard.type('TOW');
  await waitFor(() => names(), ['Of Towers']);
  assert.match(page.url(), /q=TOW/);
  await page.keyboard.type('x');
  await page.getByText('Nothing on these days is called so').waitFor();
  await page.getByRole('button', { name: 'Show everything' }).click();
  await waitFor(() => names(), ['Of Bells', 'Of Towers', 'Of none']);
});

test('due dates of tasks are an optional layer; a click opens the task', async (t) => {
  const one = await openApril(t, {
    prepare: async ({ owner }) => {
      const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
      await owner.carillon.tasks.create(project_id, { task_name: 'Cast the bell', due_date: '20270420' });
      const { task_id } = await owner.carillon.tasks.create(project_id, {
        task_name: 'Buy bronze',
        due_date: '20270413',
      });
      await owner.carillon.tasks.complete(task_id);
    },
  });
  const { page } = one;
  assert.equal(await entryIn(page, 'Cast the bell').count(), 0);
  await page.getByRole('button', { name: 'Tasks due' }).click();
  await entryIn(page, 'Cast the bell').waitFor();
  await page.getByRole('button', { name: /^Buy bronze ?, completed task, due Tuesday/ }).waitFor();
  assert.match(page.url(), /tasks=1/);
  await entryIn(page, 'Cast the bell').click();
  await page.waitForURL(/#\/tasks\/\d+/);
});

test('every action works by keyboard', async (t) => {
  const one = await openApril(t, {
    prepare: createEvents(['Bells', '20270420', '20270420'], ['Towers', '20270420', '20270421']),
  });
  const { page } = one;
  const focused = () =>
    page.evaluate('document.activeElement.dataset.day ?? document.activeElement.innerText.split("\\n")[0]');
  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const waitForFocus = (wanted: string) => waitFor(async () => String(await focused()).split(',')[0], wanted);
  await dayIn(page, '2027-04-20').focus();
  await press('ArrowRight', 'ArrowDown', 'ArrowLeft');
  await waitForFocus('2027-04-27');
  await press('PageDown');
  await page.getByRole('heading', { name: 'May 2027' }).waitFor();
  await waitForFocus('2027-05-27');
  await press('PageUp');
  await page.getByRole('heading', { name: 'April 2027' }).waitFor();
  await waitForFocus('2027-04-27');
  // On an empty day, Enter creates an event.
  await press('Enter');
  await dialogIn(page).getByLabel('Name').fill('Made by keys');
  await press('Enter');
  await dialogIn(page).waitFor({ state: 'detached' });
  await waitFor(
    async () => (await eventNamed(one, 'Made by keys').catch(() => undefined))?.start_date,
    '2027-04-27 00:00:00',
  );
  await waitForFocus('2027-04-27');
  // On a day with entries, Enter focuses the first entry.
  await press('ArrowUp', 'Enter');
  await waitForFocus('Towers');
  await press('ArrowDown');
  await waitForFocus('Bells');
  await press('e');
  assert.equal(await dialogIn(page).getByLabel('Name').inputValue(), 'Bells');
  await press('Escape');
  await waitForFocus('Bells');
  await press('Shift+ArrowRight');
  await waitFor(async () => (await eventNamed(one, 'Bells')).start_date, '2027-04-21 00:00:00');
  await waitForFocus('Bells');
  // Press the keys faster than the server responds.
  await press('Shift+ArrowRight', 'Shift+ArrowRight', 'Shift+ArrowLeft', 'Shift+ArrowLeft');
  await waitFor(async () => (await eventNamed(one, 'Bells')).start_date, '2027-04-21 00:00:00');
  await waitForFocus('Bells');
  await press('Alt+Shift+ArrowRight');
  await waitFor(async () => (await eventNamed(one, 'Bells')).due_date, '2027-04-22 00:00:00');
  await press('c');
  await waitFor(async () => (await eventsOnServer(one)).filter((line) => line.startsWith('Bells')).length, 2);
  await waitForFocus('Bells');
  await press('Delete');
  await waitFor(async () => (await eventsOnServer(one)).filter((line) => line.startsWith('Bells')).length, 1);
  assert.equal(await page.locator('.toast.bad').count(), 0);
  await press('?');
  await page.getByRole('dialog', { name: 'Keys of the calendar' }).waitFor();
  await press('Escape', 'n');
  await page.getByRole('dialog', { name: 'New event' }).waitFor();
});

test('each day and each entry has an accessible name', async (t) => {
  const { page } = await openApril(t, {
    prepare: createEvents(
      ['Release v27', '20270420', '20270424'],
      ['Call', '2027-04-20 14:00:00', '2027-04-20 15:30:00'],
    ),
  });
  await page.getByRole('group', { name: 'April 2027' }).waitFor();
  await page.getByRole('button', { name: /^Tuesday,? 20 April 2027, 2 entries$/ }).waitFor();
  assert.equal(await page.getByRole('button', { name: /19 April 2027, nothing/ }).count(), 1);
  await page
    .getByRole('button', { name: /^Release v27 ?, Tuesday,? 20 April 2027 to Saturday,? 24 April 2027, all day/ })
    .waitFor();
  await page.getByRole('button', { name: /^14:00 Call ?, Tuesday,? 20 April 2027, 14:00 – 15:30/ }).waitFor();
});

for (const timezoneId of ['America/New_York', 'Pacific/Auckland', 'America/Sao_Paulo', 'Asia/Kathmandu']) {
  test(`times and days do not shift over daylight saving time: ${timezoneId}`, async (t) => {
    // The displayed weeks contain the days on which daylight saving time begins in New York and ends in Auckland.
    const one = await startConsole(t, { timezoneId, path: 'calendar?date=2027-03-14' });
    const { page } = one;
    const events: readonly (readonly [string, string, string])[] = [
      ['Night', '2027-03-14 02:30:00', '2027-03-14 03:15:00'],
      ['Whole', '2027-03-14 00:00:00', '2027-03-14 00:00:00'],
      ['Long', '2027-03-12 00:00:00', '2027-03-16 00:00:00'],
      ['Late', '2027-04-04 02:30:00', '2027-04-04 23:59:59'],
    ];
    await createEvents(...events)(one);
    const lines = (shift: (line: string) => string = (line) => line) =>
      ['Long', 'Whole', 'Night', 'Late'].map((name) => {
        const [, start, due] = events.find(([one]) => one === name) ?? [];
        return shift(`${name}: ${start} – ${due}`);
      });
    await page.reload();
    await waitUntilLoaded(page);
    await page.getByRole('button', { name: /^0?2:30 Night/ }).waitFor();
    const column = async (name: string) => {
      const [event, day] = [await boxOf(entryIn(page, name)), await boxOf(dayIn(page, '2027-03-14'))];
      return Math.round((event.x - day.x) / day.width);
    };
    assert.deepEqual(await Promise.all(['Night', 'Whole'].map(column)), [0, 0]);
    // Drag an event to another week, and move it back by Undo: its times do not change.
    await drag(page, entryIn(page, 'Night'), dayIn(page, '2027-03-25'));
    await waitForEvents(
      one,
      ...lines((line) => line.replaceAll('2027-03-14 0', line.startsWith('Night') ? '2027-03-25 0' : '2027-03-14 0')),
    );
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
    await waitForEvents(one, ...lines());
    // Drag an event of 14 March by an hour; it is in the hour that New York skips.
    await page.keyboard.press('w');
    await page.getByRole('heading', { name: /^8\s–\s14 March 2027$/ }).waitFor();
    const box = await boxOf(dayIn(page, '2027-03-14'));
    await entryIn(page, 'Night').scrollIntoViewIfNeeded();
    const now = await boxOf(entryIn(page, 'Night'));
    await page.mouse.move(now.x + 20, now.y + now.height / 2);
    await page.mouse.down();
    await page.mouse.move(now.x + 20, now.y + now.height / 2 + 10, { steps: 2 });
    await page.mouse.move(now.x + 20, now.y + now.height / 2 + box.height / 24, { steps: 4 });
    await page.mouse.up();
    const times = async () => {
      const { start_date, due_date } = await eventNamed(one, 'Night');
      return [start_date, due_date];
    };
    await waitFor(times, ['2027-03-14 03:30:00', '2027-03-14 04:15:00']);
  });
}

test('changes by other users appear within a second', async (t) => {
  const one = await openApril(t);
  const { page, owner } = one;
  const { event_id } = await owner.carillon.events.create({
    event_name: 'By another',
    start_date: '20270420',
    due_date: '20270420',
  });
  await entryIn(page, 'By another').waitFor({ timeout: 1_000 });
  await owner.carillon.events.update(event_id, { event_name: 'Changed by another' });
  await entryIn(page, 'Changed by another').waitFor({ timeout: 1_000 });
  await owner.carillon.events.delete(event_id);
  await entryIn(page, 'Changed by another').waitFor({ state: 'detached', timeout: 1_000 });
});

/** Inserts many events directly into the database. */
async function fill(
  service: TestService,
  { userId, domain }: ConsoleFixture['owner'],
  count: number,
  day: (index: number) => string,
) {
  await service.store.write(async (tx) => {
    const { account_id } = await tx.queries
      .selectFrom('accounts')
      .select('account_id')
      .where('domain', '=', domain)
      .executeTakeFirstOrThrow();
    const rows = Array.from({ length: count }, (_, index) => ({
      event_id: 10_000 + index,
      account_id,
      event_name: `Event ${index}`,
      start_date: `${day(index)} 00:00:00`,
      due_date: `${day(index)} 00:00:00`,
      project_id: 0,
      date_created: 0,
      date_modified: null,
      user_id: Number(userId),
    }));
    await new BulkInserter().insert(tx.queries, 'events', rows);
  });
}

test('a month of thousands of events shows as many as fit, the number of others, and all of a day in a dialog', async (t) => {
  const one = await openApril(t, {
    prepare: ({ service, owner }) => fill(service, owner, 2_345, (index) => `2027-04-${twoDigits(1 + (index % 30))}`),
  });
  const { page } = one;
  await page.locator('.board [data-id="m2027-04-20"]').waitFor();
  const overflow = await page.evaluate(`(() => {
    const days = new Map([...document.querySelectorAll('.board .ec-body .ec-day')].map((day) => [day.dataset.day, day.getBoundingClientRect()]));
    return [...document.querySelectorAll('.board .ec-body .ec-event')].filter((one) => {
      const { top, bottom, left } = one.getBoundingClientRect();
      const day = [...days.values()].find((box) => box.left <= left + 8 && box.right >= left + 8 && box.top <= top + 8 && box.bottom >= top + 8);
      return day === undefined || bottom > day.bottom + 1;
    }).length;
  })()`);
  assert.equal(overflow, 0, 'no event overflows its day');
  const more = page.getByRole('button', { name: /^\d+ more on Tuesday,? 20 April 2027/ });
  const hidden = Number((await more.innerText()).split(' ')[0]);
  const visible = await page.locator('.board .ec-event:not(.more)').count();
  assert.equal(visible % 30, 0, 'every day shows the same number');
  assert.equal(hidden + visible / 30, 78);
  await more.click();
  const dialog = page.getByRole('dialog', { name: /20 April 2027/ });
  assert.equal(await dialog.locator('.line').count(), 78);
  await dialog.getByRole('button', { name: /Event 19 ?,/ }).click();
  assert.equal(await page.getByRole('dialog', { name: 'Event' }).getByLabel('Name').inputValue(), 'Event 19');
});

test('an event that began before the visible period and continues into it is shown', async (t) => {
  const { page } = await openApril(t, {
    prepare: createEvents(
      ['Decade', '20200101', '20291231'],
      ['Season', '20270301', '20270531'],
      ['Over', '20270301', '20270328'],
    ),
  });
  await entryIn(page, 'Decade').first().waitFor();
  assert.equal(await entryIn(page, 'Season').count(), 5, 'once in each week');
  assert.equal(await entryIn(page, 'Over').count(), 0);
});

test('the next month is prefetched', async (t) => {
  const { page } = await openApril(t, { prepare: createEvents(['Next', '20270520', '20270520']) });
  const isMay = (url: string) => url.includes('20270426');
  const inFlight = new Set<Request>();
  let responses = 0;
  page.on('framenavigated', () => {
    inFlight.clear();
    responses = 0;
  });
  page.on('request', (request) => isMay(request.url()) && inFlight.add(request));
  page.on('requestfinished', (request) => {
    if (inFlight.delete(request)) responses += 1;
  });
  await page.reload();
  await eventually(
    () => ({ inFlight: inFlight.size, responses }),
    (now) => now.inFlight === 0 && now.responses >= 2,
  );
  // Wait until the responses are in the cache.
  await page.evaluate('new Promise((resolve) => requestIdleCallback(resolve))');
  const requestedUrls: string[] = [];
  page.on('request', (request) => requestedUrls.push(request.url()));
  await page.getByRole('button', { name: 'Next month' }).click();
  await entryIn(page, 'Next').waitFor();
  assert.deepEqual(requestedUrls.filter(isMay), []);
});

test('an empty calendar explains how to create an event; a failed load shows the error and a retry button', async (t) => {
  const { page } = await openApril(t);
  await page.getByText('Nothing on these days yet.').waitFor();
  let isDown = true;
  await page.route('**/console/api/events?**', (route) =>
    isDown
      ? route.fulfill({
          status: 503,
          contentType: 'application/problem+json',
          body: JSON.stringify({
            status: 503,
            code: 'storage_unavailable',
            message: 'The database cannot be reached.',
          }),
        })
      : route.continue(),
  );
  await page.evaluate(`location.assign('#/calendar?date=2030-01-01')`);
  const note = page.getByRole('alert');
  await note.getByText('The database cannot be reached.').waitFor();
  isDown = false;
  await note.getByRole('button', { name: 'Try again' }).click();
  await waitUntilLoaded(page);
  await note.waitFor({ state: 'detached' });
});

test('on a narrow screen a tap on a day opens the day view', async (t) => {
  const { page } = await openApril(t, {
    width: 390,
    height: 800,
    prepare: createEvents(['Release v27', '20270420', '20270424']),
  });
  await dayIn(page, '2027-04-14').click();
  await page.getByRole('heading', { name: /14 April 2027/ }).waitFor();
  assert.match(page.url(), /view=day/);
  await page.getByRole('button', { name: 'New event' }).click();
  assert.equal(await dialogIn(page).getByLabel('From').inputValue(), '2027-04-14');
});

test('"API call" shows the queries of the calendar, with the displayed days', async (t) => {
  const { page } = await openApril(t);
  await page.getByRole('button', { name: 'API call' }).click();
  await dialogIn(page).getByText('/v2/events?start_from=20270329&start_to=20270502').waitFor();
});
