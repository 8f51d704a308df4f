import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { occurrenceKinds } from '../../src/delivery/outbox/event-kinds.ts';
import { eventually } from '../kit/eventually.ts';
import { findAxeViolations, startConsole } from '../kit/network/browser.ts';
import { startTarget } from '../kit/network/target.ts';
import type { ApiUser } from '../kit/service/service.ts';
import { openScreen } from './pages.ts';

const createEvent = (person: ApiUser, fields: Record<string, unknown> = {}) =>
  person.carillon.events.create({ event_name: 'Launch', start_date: '20261120', due_date: '20261120', ...fields });

const waitForStatus = (page: Page, text: string | RegExp) => page.getByRole('status').getByText(text).waitFor();
const waitForHeading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor();
const idOnPage = (page: Page) => /#\/hooks\/(\d+)$/.exec(page.url())?.[1] ?? assert.fail(page.url());

/** Widths of a desktop, a small laptop and a phone, in pixels. */
const WIDTHS = [1440, 1024, 390];

/** Asserts that nothing overflows the page and axe finds nothing, at each width. */
async function assertAccessible(page: Page, label: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 860 });
    const overflow = await page.evaluate(
      `Math.max(...[...document.querySelectorAll('html, main, dialog')].map((one) => one.scrollWidth - one.clientWidth))`,
    );
    assert.equal(overflow, 0, `${label} at ${width} px`);
    assert.deepEqual(await findAxeViolations(page, `${label} at ${width} px`), []);
  }
  await page.setViewportSize({ width: 1280, height: 860 });
}

test('X11 a webhook for several event types of one project is created, with a name and a header that is never shown again', async (t) => {
  const { page, owner, service } = await startConsole(t, { path: 'calendar' });
  const member = await service.createUser(owner, 'member');
  const target = await startTarget(t);
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bell tower' });
  await openScreen(page, 'hooks/new');

  await page.getByLabel('Event changed', { exact: true }).check();
  await page.getByLabel('Event deleted', { exact: true }).check();
  await page.getByLabel('URL').fill(target.urlOf('/bell'));
  await page.getByRole('button', { name: 'One project' }).click();
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await page.getByRole('alert').getByText('Choose a project.').waitFor();
  await page.getByLabel('Project', { exact: true }).selectOption({ label: 'Bell tower' });
  await page.getByLabel('Name (optional)').fill('Tower <b>events</b>');
  await page.getByText('Headers and state').click();
  await page.getByRole('button', { name: 'Add header' }).click();
  await page.getByLabel('Name of header 1').fill('Host');
  const value = page.getByLabel('Value of header 1');
  await value.fill('hush-4711');
  assert.equal(await value.getAttribute('type'), 'password');
  await assertAccessible(page, 'the form');
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await page.getByRole('alert').getByText('It must not contain Host, which is reserved.').waitFor();
  await page.getByLabel('Name of header 1').fill('X-Gateway');
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await waitForHeading(page, 'Tower <b>events</b>');

  const hook = await owner.carillon.hooks.get(idOnPage(page));
  assert.deepEqual(
    [hook.events, hook.scope, hook.project_id, hook.headers],
    [['new_event', 'changed_event', 'deleted_event'], 'project', project_id, ['x-gateway']],
  );
  const facts = page.getByRole('region', { name: 'About this webhook' });
  await facts.getByText('Event created, Event changed, Event deleted').waitFor();
  await facts.getByRole('link', { name: 'Bell tower' }).waitFor();
  await facts.getByText('x-gateway').waitFor();
  await assertAccessible(page, 'the page of the webhook');
  await createEvent(member, { project_id });
  const [received] = await target.waitForArrivals(1);
  assert.equal(received?.headers['x-gateway'], 'hush-4711');

  await openScreen(page, 'hooks');
  const row = page.getByRole('list', { name: 'Webhooks' }).getByRole('listitem');
  await row.getByText('3 event types · Project Bell tower · Headers: x-gateway').waitFor();
  assert.equal(
    await row.getByRole('link', { name: 'Tower' }).getAttribute('title'),
    'Event created, Event changed, Event deleted',
  );
  await assertAccessible(page, 'the list');
  assert.ok(!(await page.content()).includes('hush'));
});

test('X11 the form offers every event type, or all with later ones; members cannot select the whole account', async (t) => {
  const { page, owner, service, open } = await startConsole(t, { path: 'hooks/new' });
  const member = await service.createUser(owner, 'member');
  const target = await startTarget(t);
  const picker = page.getByRole('group', { name: 'Event types' });
  await picker.getByRole('checkbox').first().waitFor();
  assert.equal(await picker.getByRole('checkbox').count(), occurrenceKinds.length + 1);
  await page.getByLabel('Event created', { exact: true }).uncheck();
  await page.getByLabel('URL').fill(target.urlOf('/bell'));
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await page.getByRole('alert').getByText('Select at least one event type.').waitFor();
  await page.getByLabel('All, also later ones').check();
  assert.equal(await page.getByLabel('User deleted', { exact: true }).isDisabled(), true);
  await page.getByRole('button', { name: 'Whole account' }).click();
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await waitForHeading(page, /^All event types → 127/);
  const hook = await owner.carillon.hooks.get(idOnPage(page));
  assert.deepEqual([hook.events, hook.scope], [['*'], 'account']);

  const memberPage = await open({ as: member, path: 'hooks/new' });
  await memberPage.getByRole('button', { name: 'What I do' }).waitFor();
  assert.equal(await memberPage.getByRole('button', { name: 'Whole account' }).count(), 0);
});

test('X11 the simplest webhook needs a URL only, and each checkbox stands for one event type', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'hooks/new' });
  const target = await startTarget(t);
  await page.getByLabel('URL').fill(target.urlOf('/bell'));
  const body = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/hooks'));
  await page.keyboard.press('Enter');
  assert.deepEqual((await body).postDataJSON(), { event: 'new_event', target_url: target.urlOf('/bell') });
  await waitForHeading(page, /^Event created → 127/);
  const id = idOnPage(page);
  await openScreen(page, `hooks/${id}/edit`);
  const picker = page.getByRole('group', { name: 'Event types' });
  await picker.getByRole('checkbox').first().waitFor();
  const [, ...boxes] = await picker.getByRole('checkbox').all();
  for (const box of boxes) await box.check();
  await page.getByRole('button', { name: 'Save' }).click();
  await waitForStatus(page, 'Saved.');
  assert.deepEqual((await owner.carillon.hooks.get(id)).events.toSorted(), [...occurrenceKinds].sort());
});

test('X13 the edit form changes only what was edited; a new target gets what is pending', async (t) => {
  const { page, owner } = await startConsole(t);
  const [old, fresh] = [await startTarget(t, 500), await startTarget(t)];
  const { id } = await owner.carillon.hooks.create({
    target_url: old.urlOf('/bell'),
    event: 'new_event',
    name: 'Old',
    headers: { 'x-gateway': 'hush-1' },
  });
  const taken = old.urlOf('/taken');
  await owner.carillon.hooks.create({ target_url: taken, event: 'new_client' });
  await openScreen(page, `hooks/${id}`);
  await page.getByRole('link', { name: 'Edit' }).click();
  await waitForHeading(page, 'Edit Old');
  const url = page.getByLabel('URL');
  assert.equal(await url.inputValue(), old.urlOf('/bell'));
  await url.fill(taken);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('Another live').waitFor();
  assert.equal(await url.getAttribute('aria-invalid'), 'true');

  await url.fill(fresh.urlOf('/bell'));
  await page.getByLabel('Name (optional)').fill('New');
  const save = async () => {
    const sent = page.waitForRequest((request) => request.method() === 'PUT');
    await page.getByRole('button', { name: 'Save' }).click();
    return (await sent).postDataJSON();
  };
  const changes = { target_url: fresh.urlOf('/bell'), name: 'New' };
  assert.deepEqual(await save(), changes);
  await page.getByRole('group', { name: 'Custom headers' }).getByRole('alert').getByText('must be given').waitFor();
  await page.getByRole('button', { name: 'Replace headers' }).click();
  await page.getByLabel('Value of header 1').fill('hush-1');
  assert.deepEqual(await save(), { ...changes, headers: { 'x-gateway': 'hush-1' } });
  await waitForHeading(page, 'New');
  await createEvent(owner);
  const [first] = await fresh.waitForArrivals(1);
  assert.deepEqual([first?.path, first?.headers['x-gateway']], ['/bell', 'hush-1']);
  assert.equal(old.received.length, 0);

  await openScreen(page, `hooks/${id}/edit`);
  await page.getByRole('button', { name: 'Replace headers' }).click();
  assert.equal(await page.getByLabel('Name of header 1').inputValue(), 'x-gateway');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('Enter a name and a value: x-gateway.').waitFor();
  await page.getByLabel('Value of header 1').fill('hush-2');
  await assertAccessible(page, 'the edit form');
  await page.getByRole('button', { name: 'Save' }).click();
  await waitForHeading(page, 'New');
  await createEvent(owner);
  assert.equal((await fresh.waitForArrivals(2))[1]?.headers['x-gateway'], 'hush-2');
});

test('X13 a disabled webhook shows how many notifications are pending, and sends them when it is enabled', async (t) => {
  const { page, owner } = await startConsole(t);
  const target = await startTarget(t);
  const { id } = await owner.carillon.hooks.create({ target_url: target.urlOf('/bell'), event: 'new_event' });
  await openScreen(page, `hooks/${id}`);
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('0 notifications are pending.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Send a test' }).count(), 0);
  for (const event_name of ['One', 'Two']) await createEvent(owner, { event_name });
  await page.getByText('2 notifications are pending.').waitFor();
  await assertAccessible(page, 'a disabled webhook');
  await openScreen(page, 'hooks?state=disabled');
  await page.getByText('Notifications stay pending', { exact: true }).waitFor();
  await page.getByRole('button', { name: '1 disabled' }).waitFor();
  assert.equal(target.received.length, 0);

  await openScreen(page, `hooks/${id}`);
  await page.getByRole('button', { name: 'Enable' }).click();
  await target.waitForArrivals(2);
  await page.getByText('notifications are pending.').waitFor({ state: 'detached' });
  assert.equal((await owner.carillon.hooks.get(id)).enabled, '1');
});

test('X13 notifications of an interval in local time are sent again, and their number is shown', async (t) => {
  const { page, owner } = await startConsole(t, { timezoneId: 'Asia/Tokyo' });
  const target = await startTarget(t);
  const { id } = await owner.carillon.hooks.create({ target_url: target.urlOf('/bell'), event: 'new_event' });
  for (const event_name of ['One', 'Two']) await createEvent(owner, { event_name });
  await target.waitForArrivals(2);
  await eventually(
    () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
    ({ paging }) => paging.total_records === 2,
  );
  await openScreen(page, `hooks/${id}`);
  await page.getByRole('button', { name: 'Send again…' }).click();
  const dialog = page.getByRole('dialog');
  const [from, to] = [dialog.getByLabel('From'), dialog.getByLabel('To', { exact: true })];
  await to.fill('2020-01-02T09:00:00');
  await dialog.getByRole('button', { name: 'Send again' }).click();
  await dialog.getByRole('alert').getByText('It must not be after to.').waitFor();
  assert.equal(await from.getAttribute('aria-invalid'), 'true');

  await from.fill('2020-01-01T09:00:00');
  await dialog.getByText('Times in Asia/Tokyo: 2020-01-01 00:00:00 to 2020-01-02 00:00:00 UTC.').waitFor();
  const sent = page.waitForRequest((request) => request.url().endsWith('/replay'));
  await dialog.getByRole('button', { name: 'Send again' }).click();
  assert.deepEqual((await sent).postDataJSON(), { from: '2020-01-01 00:00:00', to: '2020-01-02 00:00:00' });
  await dialog.getByText('No notification was sent in this interval.').waitFor();
  await assertAccessible(page, 'the dialog');

  await to.fill('2099-01-01T00:00:00');
  await dialog.getByRole('button', { name: 'Send again' }).click();
  await waitForStatus(page, '2 notifications will be sent again.');
  const ids = (await target.waitForArrivals(4)).map(({ deliveryId }) => deliveryId);
  assert.deepEqual(ids.slice(2).sort(), ids.slice(0, 2).sort());
});

test('C21 the response of a failed attempt is shown as text, in the deliveries and in the timeline', async (t) => {
  const { page, owner } = await startConsole(t);
  const text = `<script>globalThis.ran = 1</script><img src=x onerror="globalThis.ran = 1"> ${'long '.repeat(180)}end`;
  const target = await startTarget(t, (response) => void response.writeHead(500).end(text));
  const { id } = await owner.carillon.hooks.create({ target_url: target.urlOf('/bell'), event: 'new_event' });
  await createEvent(owner);
  await target.waitForArrivals(1);
  await openScreen(page, `hooks/${id}`);
  await page.getByRole('button', { name: /Event created/ }).click();
  const box = page.getByRole('textbox', { name: 'Response to attempt 1' });
  await box.waitFor();
  assert.equal(await box.inputValue(), text);
  assert.equal(await box.isEditable(), false);
  assert.ok(((await box.boundingBox())?.height ?? 0) < 240, 'the height is limited');
  await assertAccessible(page, 'a response');
  await page.getByRole('link', { name: 'View timeline' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'Response to attempt 1' }).inputValue(), text);
  assert.equal(await page.evaluate("'ran' in globalThis"), false, 'the response is not executed');
});

test('X11 a webhook of a former admin explains why it ended, and that only an admin can restore it', async (t) => {
  const { owner, service, open } = await startConsole(t);
  const admin = await service.createUser(owner, 'admin');
  const target = await startTarget(t);
  const { id } = await admin.carillon.hooks.create({ target_url: target.url, events: ['*'], scope: 'account' });
  await owner.carillon.users.update(admin.userId, { role: 'member' });
  const page = await open({ as: admin, path: `hooks/${id}` });
  await page.getByText('Its owner is no longer an admin').waitFor();
  await page.getByText('Only webhooks of admins can cover the whole account.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Restore' }).count(), 0);
  await owner.carillon.users.update(admin.userId, { role: 'admin' });
  await owner.carillon.clients.create({ client_name: 'Meanwhile' });
  await page.reload();
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByText('Nothing is sent now: what happened since it ended is never sent.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
  await waitForStatus(page, 'Restored. What it missed meanwhile is not sent.');
});

test('X14 activity shows changed fields, and is filtered by several event types and by project', async (t) => {
  const { page, owner } = await startConsole(t);
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bell tower' });
  const { event_id } = await createEvent(owner, { project_id });
  await owner.carillon.events.update(event_id, { due_date: '20261121', event_name: 'Moved' });
  await createEvent(owner);
  await openScreen(page, 'activity');
  const rows = page.getByRole('list', { name: 'What happened, newest first' }).getByRole('listitem');
  await rows.filter({ hasText: 'Event changed' }).getByText('due date').waitFor();
  const waitForRows = (count: number) =>
    eventually(
      () => rows.count(),
      (shown) => shown === count,
    );
  await page.getByLabel('Project', { exact: true }).selectOption({ label: 'Bell tower' });
  await waitForRows(3);
  await page.getByLabel('Event type').selectOption('Several…');
  const dialog = page.getByRole('dialog');
  for (const name of ['Event created', 'Event changed']) await dialog.getByLabel(name, { exact: true }).check();
  await assertAccessible(page, 'the filter');
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await waitForRows(2);
  assert.match(page.url(), new RegExp(`project=${project_id}&kind=new_event%2Cchanged_event$`));
  await createEvent(owner, { project_id });
  await waitForRows(3);
  await createEvent(owner);
  await owner.carillon.events.delete(event_id);
  const last = await createEvent(owner, { project_id });
  await rows.filter({ hasText: `/events/${last.event_id}` }).waitFor();
  assert.equal(await rows.count(), 4, 'neither events of other projects nor other event types');
  await assertAccessible(page, 'the activity');
  await rows.filter({ hasText: 'Event changed' }).getByRole('link').click();
  await page.getByText(/Changed: .*due date/).waitFor();
});
