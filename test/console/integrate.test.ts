import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { eventually } from '../kit/eventually.ts';
import { findAxeViolations, startConsole } from '../kit/network/browser.ts';
import { startTarget } from '../kit/network/target.ts';
import { isAccepted } from '../kit/service/receiver.ts';
import type { ApiUser } from '../kit/service/service.ts';

/** Creates an event, which notifies the hooks that `subscribe` creates. */
function createEvent(person: ApiUser, name = 'Launch') {
  return person.carillon.events.create({ event_name: name, start_date: '20261120', due_date: '20261120' });
}

async function subscribe(person: ApiUser, target_url: string): Promise<string> {
  return (await person.carillon.hooks.create({ target_url, event: 'new_event' })).id;
}

const waitForStatus = (page: Page, text: string | RegExp) => page.getByRole('status').getByText(text).waitFor();
const waitForHeading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor();
const feedRows = (page: Page) => page.getByRole('list', { name: 'What happened, newest first' }).getByRole('listitem');

/** Waits until the list has `count` occurrences. */
const waitForRows = (page: Page, count: number) =>
  eventually(
    () => feedRows(page).count(),
    (shown) => shown === count,
  );

test('a failing hook shows its last outcome, failure count, next attempt and advice; a test is sent meanwhile', async (t) => {
  const setup = { options: { retryWaits: '50ms,2h' } };
  const { page, owner } = await startConsole(t, { path: 'hooks' }, setup);
  const target = await startTarget(t, 500);
  const id = await subscribe(owner, target.urlOf('/bell/0123456789abcdef'));
  await createEvent(owner);
  await target.waitForArrivals(2);

  await page.getByText('failing 2 of 3').waitFor();
  await page.getByText(/^Answered 500; next attempt in \d h \d+ min$/).waitFor();
  assert.equal(await page.getByText('0123456789').count(), 0, 'the path of the target is masked');
  await page.getByRole('button', { name: 'Show the whole target' }).click();
  await page.getByText(target.urlOf('/bell/0123456789abcdef')).waitFor();

  await page.getByRole('link', { name: 'Event created' }).click();
  await page.getByText(/One more failure ends the webhook/).waitFor();
  await page.getByText(/Server error at the receiver/).waitFor();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await waitForStatus(page, /^Test: answered 500 after/);
  assert.equal((await owner.carillon.hooks.get(id)).failures, '2', 'a failed test is not counted');

  target.setReplies(200);
  await page.getByRole('button', { name: 'Send a test' }).click();
  await waitForStatus(page, /^Test: answered 200 after/);
  // The hook test is sent, and then the pending delivery without waiting for the backoff.
  await target.waitForArrivals(5);
  await page.getByText(/One more failure ends the webhook/).waitFor({ state: 'detached' });
});

test('a hook ended by three failures shows the reason; Restore previews the missed deliveries and sends them', async (t) => {
  const { page, owner } = await startConsole(t);
  const target = await startTarget(t, 500);
  const id = await subscribe(owner, target.urlOf('/bell'));
  await createEvent(owner, 'Undelivered');
  await target.waitForArrivals(3);
  await page.goto(page.url().replace(/#.*/, `#/hooks/${id}`));
  await page.getByText('Three failures in a row, the last: answered 500').waitFor();
  await page.getByText('undelivered', { exact: true }).waitFor();
  await createEvent(owner, 'Missed');

  await page.getByRole('button', { name: 'Restore' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 notification that failed before it ended').waitFor();
  await dialog.getByText('1 notification of events since then').waitFor();
  assert.equal(target.received.length, 3, 'nothing is sent before confirmation');
  target.setReplies(200);
  await dialog.getByRole('button', { name: 'Restore' }).click();
  const received = await target.waitForArrivals(5);
  const events = (await owner.carillon.events.list()).data.map(({ event_id }) => event_id);
  const sent = received.slice(3).map(({ resourceUrl }) => resourceUrl.split('/').at(-1));
  assert.deepEqual(sent.sort(), events.sort(), 'both missed deliveries are sent');
  await page.getByText('delivered', { exact: true }).nth(1).waitFor();
  await page.getByText('Three failures in a row').waitFor({ state: 'detached' });
});

test('a hook ended by 401 shows the reason and advice', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'hooks?state=ended' });
  const target = await startTarget(t, 401);
  await subscribe(owner, target.urlOf('/bell'));
  await createEvent(owner);
  await page.getByText('Its target answered 401').waitFor();
  await page.getByRole('link', { name: 'Event created' }).click();
  await page.getByText(/let the target answer 200, then restore the webhook/).waitFor();
});

test('an expanded delivery shows every attempt with its reason and the request, and can be sent again', async (t) => {
  const { page, owner, service } = await startConsole(t);
  const target = await startTarget(t, 503, 200);
  const id = await subscribe(owner, target.urlOf('/bell'));
  const { event_id } = await createEvent(owner);
  const [first] = await target.waitForArrivals(2);
  await page.goto(page.url().replace(/#.*/, `#/hooks/${id}`));
  await page.getByText('not fetched').waitFor();
  await page.getByRole('button', { name: /Event created/ }).click();

  const attempts = page.getByRole('table').getByRole('row');
  await attempts.nth(2).waitFor();
  assert.match((await attempts.nth(1).textContent()) ?? '', /Answered 503.* ms.*counted.*Failure 1 of 3 in a row/);
  assert.match((await attempts.nth(2).textContent()) ?? '', /Answered 200.* ms.*Answered 200: delivered/);
  const sent = (await page.getByRole('figure', { name: 'The notification', exact: true }).textContent()) ?? '';
  assert.ok(sent.includes(first?.body ?? '–'), 'the body is the one that arrived');
  assert.ok(sent.includes(`webhook-id: ${first?.deliveryId}`));
  assert.ok(sent.includes(`webhook-cursor: ${first?.headers['webhook-cursor']}`));
  const fetching = (await page.getByRole('figure', { name: 'The call that fetches' }).textContent()) ?? '';
  assert.ok(fetching.includes(`curl '${service.baseUrl}/v2/events/${event_id}'`));
  assert.ok(fetching.includes('domain: acme.test'));

  await page.getByRole('button', { name: 'Send again', exact: true }).click();
  await waitForStatus(page, /^Sent again: answered 200 after/);
  const received = await target.waitForArrivals(3);
  assert.equal(received.at(-1)?.deliveryId, first?.deliveryId, 'under the same id');
  await attempts.nth(3).waitFor();
});

test('the activity feed shows live: delivered, never read, and read after the record was fetched', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'activity' });
  const target = await startTarget(t);
  await page.getByText('Nothing has happened yet').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  await subscribe(owner, target.urlOf('/bell'));
  const { event_id } = await createEvent(owner);
  await owner.carillon.clients.create({ client_name: 'Nobody is told' });

  const event = feedRows(page).filter({ hasText: 'Event created' });
  await event.getByText(/^delivered in \d+ ms$/).waitFor();
  await event.getByText('not fetched').waitFor();
  await feedRows(page).filter({ hasText: 'Client created' }).getByText('no webhook').waitFor();
  await owner.carillon.events.update(event_id, { event_name: 'Changed' });
  await feedRows(page).filter({ hasText: 'Event changed' }).getByText('no webhook').waitFor();

  await owner.carillon.events.get(event_id);
  await event.getByText(/^read \d\d:\d\d:\d\d$/).waitFor();
  assert.equal(await event.getByText('not fetched').count(), 0);
});

test('the timeline of an occurrence shows its commit, attempts and fetch', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'activity' });
  const target = await startTarget(t, 500, 200);
  await subscribe(owner, target.urlOf('/bell'));
  const { event_id } = await createEvent(owner);
  await page.getByRole('link', { name: 'Event created' }).click();
  await waitForHeading(page, `Event created /events/${event_id}`);
  await page.getByText('Delivered, not fetched').waitFor();
  await owner.carillon.events.get(event_id);
  await page.getByText('Fetched', { exact: true }).waitFor();
  const steps = await page.locator('.step strong').allTextContents();
  assert.deepEqual(
    steps.map((step) => step.replace(/\d+ ms/, 'n ms')),
    ['Recorded', 'Pending for 1 webhook', 'Answered 500 after n ms', 'Answered 200 after n ms', 'Fetched'],
  );
});

test('the paused feed counts new occurrences, sends no requests, and shows them after Resume', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'activity' });
  // The target never responds, so that a visible delivery stays pending and would be polled.
  const target = await startTarget(t, () => undefined);
  await owner.carillon.hooks.create({ target_url: target.urlOf('/bell'), event: 'new_client' });
  await owner.carillon.clients.create({ client_name: 'Before' });
  await feedRows(page).getByText('pending', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  let requests = 0;
  page.on('request', (request) => {
    if (request.url().includes('/activity')) requests += 1;
  });
  for (const name of ['One', 'Two', 'Three']) await createEvent(owner, name);
  await page.getByRole('button', { name: '3 new ones · show' }).waitFor();
  // Before the second request, the first attempt times out after two seconds, longer than the polling interval.
  await target.waitForArrivals(2);
  assert.equal(requests, 0);
  assert.equal(await feedRows(page).count(), 1);
  await page.getByRole('button', { name: 'Resume' }).click();
  await waitForRows(page, 4);
  assert.equal(await page.getByText('3 new ones').count(), 0);
  await feedRows(page)
    .getByText(/^failing: no answer in time$/)
    .waitFor();
});

test('activity is filtered by kind, hook and user, and the filters are in the URL', async (t) => {
  const { page, owner, service, open } = await startConsole(t, { path: 'hooks' });
  const member = await service.createUser(owner, 'member');
  const target = await startTarget(t);
  const id = await subscribe(owner, target.urlOf('/bell'));
  await page.getByRole('link', { name: 'Activity' }).click();
  await createEvent(owner);
  await owner.carillon.clients.create({ client_name: 'A client' });
  await createEvent(member, 'Of the member');
  await feedRows(page).nth(2).waitFor();
  await page.getByRole('button', { name: 'You' }).click();
  await waitForRows(page, 2);
  await page.getByLabel('Event type').selectOption('new_client');
  await waitForRows(page, 1);
  assert.match(page.url(), /scope=own&kind=new_client$/);
  await page.getByLabel('Event type').selectOption('');
  await page.getByLabel('Webhook', { exact: true }).selectOption(id);
  await feedRows(page).filter({ hasText: 'Event created' }).waitFor();
  await waitForRows(page, 1);
  await createEvent(owner, 'Another one');
  await feedRows(page)
    .nth(1)
    .getByText(/^delivered in/)
    .waitFor();

  const theirs = await open({ as: member, path: 'activity' });
  await feedRows(theirs).filter({ hasText: 'Event created' }).waitFor();
  assert.equal(await feedRows(theirs).count(), 1, 'a member sees only their own activity');
  assert.equal(await theirs.getByRole('button', { name: 'Everybody' }).count(), 0);
});

test('under load the feed keeps 300 entries and polls at most once a second', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'activity' });
  await page.getByText('live', { exact: true }).waitFor();
  let requests = 0;
  page.on('request', (request) => {
    if (request.url().includes('/activity?')) requests += 1;
  });
  const began = performance.now();
  let newest = 0;
  for (let batch = 0; batch < 20; batch += 1) {
    const created = await Promise.all(Array.from({ length: 25 }, (_, one) => createEvent(owner, `${batch} ${one}`)));
    newest = Math.max(...created.map(({ event_id }) => Number(event_id)));
  }
  await feedRows(page)
    .filter({ hasText: `/events/${newest}` })
    .getByText('no webhook')
    .waitFor();
  await waitForRows(page, 300);
  await page.getByText('300 occurrences shown').waitFor();
  await page.getByText('the page keeps the newest 300').waitFor();
  const seconds = (performance.now() - began) / 1_000;
  assert.ok(requests >= 1 && requests <= seconds + 1, `${requests} requests in ${seconds} s`);
  // Scrolling loads older entries.
  await page.getByText('300 occurrences shown').scrollIntoViewIfNeeded();
  await feedRows(page).nth(300).waitFor();
});

test('a target is checked while typing, a path is suggested, and a validation error is shown at its field', async (t) => {
  const resolve = async (name: string) =>
    name.endsWith('.example') ? { addresses: ['9.9.9.9'] } : ({ failure: 'no_such_name' } as const);
  const { page, owner } = await startConsole(t, { path: 'hooks/new' }, { deps: { resolve } });
  const taken = 'https://erp.example/bell';
  await subscribe(owner, taken);
  const field = page.getByLabel('URL');
  const verdicts = [
    ['erp', 'no address yet'],
    ['http://10.0.0.1/bell', 'forbidden'],
    [taken, 'taken'],
    ['https://later.invalid/bell', 'not found yet'],
    ['https://new.example/bell', 'good'],
  ] as const;
  for (const [address, verdict] of verdicts) {
    await field.fill(address);
    await page.locator('.verdict').getByText(verdict, { exact: true }).waitFor();
  }
  await field.fill('http://10.0.0.1/bell');
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await page.getByRole('alert').getByText('It leads to a forbidden address.').waitFor();
  assert.equal(await field.getAttribute('aria-invalid'), 'true');

  await field.fill('https://new.example');
  await page.getByRole('button', { name: 'Suggest a secret path' }).click();
  assert.match(await field.inputValue(), /^https:\/\/new\.example\/carillon\/[\w-]{24}$/);
  await page.getByLabel('Task completed', { exact: true }).check();
  await page.getByLabel('Event created', { exact: true }).uncheck();
  await page.getByText(/"resource_url":".*\/v2\/tasks\/\d+"/).waitFor();
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await waitForHeading(page, 'Task completed → new.example');
  const { data } = await owner.carillon.hooks.list();
  assert.equal(data.at(-1)?.event, 'completed_task');
});

test('a hook is deleted after confirmation, and an admin selects whose hooks are shown', async (t) => {
  const { page, owner, service } = await startConsole(t, { path: 'hooks' });
  const member = await service.createUser(owner, 'member');
  const target = await startTarget(t);
  await page.getByText('No webhooks yet').waitFor();
  const id = await subscribe(owner, target.urlOf('/mine'));
  await subscribe(member, target.urlOf('/theirs'));
  await page.getByRole('link', { name: 'Event created' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Event created' }).count(), 1);
  await page.getByLabel('Owner').selectOption(member.userId);
  await page.getByText('/…').waitFor();
  assert.match(page.url(), new RegExp(`user=${member.userId}$`));
  await page.getByLabel('Owner').selectOption(owner.userId);

  await page.getByRole('button', { name: `More for webhook ${id}` }).click();
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  assert.equal((await owner.carillon.hooks.get(id)).state, 'live', 'not before confirmation');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await waitForStatus(page, /^Deleted\./);
  await page.getByText('Deleted, just now').waitFor();
  await createEvent(owner);
  assert.equal(target.received.length, 0);
});

test('the overview shows onboarding for a new account, then counts delivered and failed attempts', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'overview' });
  for (const step of ['Give it an ear', 'Subscribe it', 'Make something happen']) {
    await page.getByRole('heading', { name: step }).waitFor();
  }
  const leftOffsetOf = async (element: Locator) => (await element.boundingBox())?.x ?? 0;
  const step = page.getByRole('listitem').filter({ hasText: 'Give it an ear' });
  const titleOffset = (await leftOffsetOf(step.getByRole('heading'))) - (await leftOffsetOf(step));
  assert.ok(titleOffset > 50, `the number of a step is to the left of its title: ${titleOffset} px`);
  await page.getByText(/-d '\{"event":"new_event","target_url":"http:\/\/127\.0\.0\.1:9000\/carillon\//).waitFor();

  const good = await startTarget(t);
  const bad = await startTarget(t, 500);
  await subscribe(owner, good.urlOf('/bell'));
  const id = await subscribe(owner, bad.urlOf('/bell'));
  await createEvent(owner);
  await createEvent(owner);
  await Promise.all([good.waitForArrivals(2), bad.waitForArrivals(3)]);
  const overviewFigure = (name: string) => page.locator('.figure').filter({ hasText: name });
  await overviewFigure('Ended today').locator('strong').getByText('1', { exact: true }).waitFor();
  await overviewFigure('Delivered in the last hour').getByText('40 % of 5 attempts').waitFor();
  await overviewFigure('Live hooks').getByText('none is failing').waitFor();
  await overviewFigure('p95')
    .getByText(/^p50: \d+ ms$/)
    .waitFor();
  const cells = await page
    .getByRole('table', { name: 'Deliveries per minute of the last hour' })
    .locator('td')
    .allTextContents();
  assert.equal(cells.length, 120);
  assert.equal(
    cells.reduce((sum, cell) => sum + Number(cell), 0),
    5,
  );

  await page
    .getByRole('region', { name: 'What needs a look' })
    .getByRole('link', { name: /Event created/ })
    .click();
  await waitForHeading(page, /^Event created → 127\.0\.0\.1/);
  assert.match(page.url(), new RegExp(`#/hooks/${id}$`));
});

test('activity that cannot be loaded does not claim to be empty, and later follows from the newest occurrence', async (t) => {
  const { page, owner } = await startConsole(t, { path: 'you' });
  await createEvent(owner);
  await page.route('**/console/api/activity*', (route) => route.abort());
  await page.getByRole('link', { name: 'Activity' }).click();
  await page.getByText('connection lost').waitFor();
  assert.equal(await page.getByText('Nothing has happened yet').count(), 0);
  let requestedUrl = '';
  page.on('request', (request) => {
    if (request.url().includes('/notifications')) requestedUrl = request.url();
  });
  await page.unroute('**/console/api/activity*');
  await page.getByText('live', { exact: true }).waitFor();
  await waitForRows(page, 1);
  await eventually(
    async () => requestedUrl,
    (url) => url !== '',
  );
  assert.match(requestedUrl, /after=\d+/);
});

test('activity of an unknown hook shows an error and stops polling', async (t) => {
  const { page } = await startConsole(t, { path: 'activity?hook=99' });
  await page.getByText('There is nothing here: it was deleted, or it is not yours').waitFor();
  assert.equal(await page.getByText('connection lost').count(), 0);
  await page.getByRole('button', { name: 'Show everything' }).click();
  await page.getByText('live', { exact: true }).waitFor();
});

test('X8 signing is turned on, rotated with an overlap and turned off; each secret is shown once and verifies deliveries', async (t) => {
  const { page, owner } = await startConsole(t);
  const target = await startTarget(t);
  const id = await subscribe(owner, target.urlOf('/bell'));
  await page.goto(page.url().replace(/#.*/, `#/hooks/${id}`));
  const section = page.getByRole('region', { name: 'Signature' });
  /** Reads the displayed secret and closes the dialog. */
  async function readSecretAndClose(): Promise<string> {
    const code = page.getByRole('figure', { name: 'The secret', exact: true }).locator('pre');
    const secret = (await code.textContent()) ?? '';
    assert.deepEqual(await findAxeViolations(page, 'a secret'), []);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.ok(!(await page.content()).includes(secret));
    return secret;
  }
  async function nextDelivery() {
    const count = target.received.length + 1;
    await owner.carillon.hooks.test(id);
    return (await target.waitForArrivals(count))[count - 1] ?? assert.fail();
  }

  await section.getByText('Off.').waitFor();
  await section.getByRole('button', { name: 'Sign notifications' }).click();
  const first = await readSecretAndClose();
  await section.getByText('By a secret that was made').waitFor();
  assert.ok(isAccepted(first, await nextDelivery()));

  await section.getByRole('button', { name: 'Rotate' }).click();
  await page.getByLabel('The present secret goes on signing').selectOption('an hour');
  assert.deepEqual(await findAxeViolations(page, 'rotating'), []);
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  const second = await readSecretAndClose();
  await section.getByText('The one before it signs, too').waitFor();
  assert.deepEqual(await findAxeViolations(page, 'a signed hook'), []);
  const overlapping = await nextDelivery();
  assert.deepEqual([isAccepted(first, overlapping), isAccepted(second, overlapping)], [true, true]);

  await section.getByRole('button', { name: 'Turn off' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
  await waitForStatus(page, 'Turned off.');
  await section.getByText('Off.').waitFor();
  assert.equal((await nextDelivery()).headers['webhook-signature'], undefined);
});
