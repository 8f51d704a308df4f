import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { createTestClock } from '../kit/clock.ts';
import { openConsole, PASSPHRASE, startConsole } from '../kit/network/browser.ts';
import { sqlite } from '../kit/service/stores.ts';

const OTHER_PASSPHRASE = 'a quite different long passphrase';

async function setPassphrase(page: Page, link: string, passphrase: string): Promise<void> {
  await page.goto(link);
  await page.getByLabel('Passphrase', { exact: true }).fill(passphrase);
  await page.getByRole('button', { name: 'Save and sign in' }).click();
  await page.getByRole('link', { name: 'Calendar' }).waitFor();
}

async function signIn(page: Page, domain: string, email: string, passphrase: string): Promise<void> {
  const domainField = page.getByLabel('Domain of the account');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Passphrase', { exact: true }).fill(passphrase);
  if (!(await domainField.isVisible())) {
    await page.getByRole('button', { name: 'Sign in' }).click();
    await domainField.waitFor();
  }
  await domainField.fill(domain);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

test('the link of the first start sets the passphrase of the owner, signs in, and works only once', async (t) => {
  const service = await sqlite.testService(t);
  const { firstAccount } = service.service;
  assert.ok(firstAccount !== undefined);
  const link = `${service.baseUrl}/#/welcome/${firstAccount.invitationToken}`;
  const page = await openConsole(t, service, { as: null });
  await page.goto(link);
  await page.getByRole('heading', { name: 'Welcome to Carillon' }).waitFor();
  assert.equal(await page.getByLabel('Email').inputValue(), 'owner@carillon.localhost');
  await page.getByLabel('Passphrase', { exact: true }).fill('too short');
  await page.getByRole('button', { name: 'Save and sign in' }).click();
  assert.equal(await page.locator('input:invalid').count(), 1, 'the browser validates the length');
  await setPassphrase(page, link, PASSPHRASE);
  assert.doesNotMatch(page.url(), /welcome/, 'the token is removed from the URL');

  const again = await openConsole(t, service, { as: null });
  await again.goto(link);
  await again.getByText('This link leads nowhere any more').waitFor();
  await again.getByRole('link', { name: 'Sign in instead' }).click();
  // With a single account, no domain is needed.
  await again.getByLabel('Email').fill('owner@carillon.localhost');
  await again.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await again.getByRole('button', { name: 'Sign in' }).click();
  await again.getByRole('link', { name: 'Calendar' }).waitFor();
});

test('an admin creates a user, who signs in by the link and sees the screens of a member', async (t) => {
  const { page, open } = await startConsole(t, { path: 'people' });
  await page.getByRole('button', { name: 'Add somebody' }).click();
  await page.getByLabel('Email').fill('priya@acme.test');
  await page.getByLabel('First name').fill('Build');
  await page.getByRole('button', { name: 'Add, and make a link' }).click();
  const link = (await page.getByRole('figure', { name: 'The link' }).locator('pre').textContent()) ?? '';
  await page.getByRole('button', { name: 'I have copied it' }).click();
  assert.ok(!(await page.content()).includes(link), 'the link is shown once');
  await page.getByText('Link open, ends').waitFor();

  const theirs = await open({ as: null });
  await setPassphrase(theirs, link, OTHER_PASSPHRASE);
  await theirs.getByRole('link', { name: 'Keys' }).waitFor();
  assert.equal(await theirs.getByRole('link', { name: 'People' }).count(), 0);
});

test('a reset link replaces the passphrase and ends existing sessions', async (t) => {
  const { service, owner, page, open } = await startConsole(t, { path: 'people' });
  const member = await service.createUser(owner, 'member');
  const theirs = await open({ as: member, path: 'you', hasPassphrase: true });
  await theirs.getByRole('heading', { name: 'You', level: 1 }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'What to do with Test member' }).click();
  await page.getByRole('menuitem', { name: 'New link…' }).click();
  await page.getByRole('button', { name: 'Make the link' }).click();
  const link = (await page.getByRole('figure', { name: 'The link' }).locator('pre').textContent()) ?? '';
  await page.getByRole('button', { name: 'I have copied it' }).click();

  const elsewhere = await open({ as: null });
  await elsewhere.goto(link);
  await elsewhere.getByRole('heading', { name: 'Set a new passphrase' }).waitFor();
  await setPassphrase(elsewhere, link, OTHER_PASSPHRASE);
  await theirs.getByRole('link', { name: 'Keys' }).click();
  await theirs.getByText('Your session has ended').waitFor();
});

test('a withdrawn invitation is rejected', async (t) => {
  const { service, owner, page, open } = await startConsole(t, { path: 'people' });
  const member = await service.createUser(owner, 'member');
  const link = await service.createInvitationLink(member);
  await page.reload();
  await page.getByRole('button', { name: 'What to do with Test member' }).click();
  await page.getByRole('menuitem', { name: 'Withdraw the link' }).click();
  await page.getByText('Withdrawn. The link leads nowhere any more.').waitFor();
  const theirs = await open({ as: null });
  await theirs.goto(link);
  await theirs.getByText('This link leads nowhere any more').waitFor();
});

test('a wrong passphrase shows an error, and too many attempts show how long to wait', async (t) => {
  const { open, owner } = await startConsole(t, {}, { deps: { clock: createTestClock() } });
  const page = await open({ as: null });
  const button = page.getByRole('button', { name: /^(Sign in|Again in)/ });
  await signIn(page, owner.domain, `owner@${owner.domain}`, 'wrong');
  await page.getByRole('alert').filter({ hasText: 'These do not belong together' }).waitFor();
  assert.equal(await page.getByLabel('Passphrase', { exact: true }).inputValue(), '', 'the passphrase is cleared');
  assert.equal(await page.getByLabel('Email').inputValue(), `owner@${owner.domain}`, 'the email is kept');
  for (let tries = 1; tries < 7 && (await button.isEnabled()); tries += 1) {
    await page.getByLabel('Passphrase', { exact: true }).fill(`wrong ${tries}`);
    const answered = page.waitForResponse('**/console/session');
    await button.click();
    await answered;
    await page.getByRole('alert').waitFor();
    await page.waitForLoadState('networkidle');
  }
  await page.getByRole('alert').filter({ hasText: 'Too many wrong tries from here. Wait' }).waitFor();
  assert.match((await button.textContent()) ?? '', /^Again in \d+ (s|min)$/);
  assert.equal(await button.isDisabled(), true);
});

test('a revoked session shows the sign-in form at the next request, and sign-in returns to the same screen', async (t) => {
  const { owner, page, open } = await startConsole(t, { path: 'you', hasPassphrase: true });
  const other = await open({ as: null, path: 'keys' });
  await signIn(other, owner.domain, `owner@${owner.domain}`, PASSPHRASE);
  await other.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: /^End the session of/ }).click();
  await page.getByText('That session has ended.').waitFor();
  await page.getByRole('button', { name: /^End the session of/ }).waitFor({ state: 'detached' });
  await page.getByText('this one').waitFor();

  await other.getByRole('button', { name: 'Ended' }).click();
  await other.getByRole('link', { name: 'You' }).click();
  await other.getByText('Your session has ended').waitFor();
  await other.getByLabel('Email').fill(`owner@${owner.domain}`);
  await other.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await other.getByRole('button', { name: 'Sign in' }).click();
  await other.getByRole('heading', { name: 'You', level: 1 }).waitFor();
});

test('changing the passphrase requires the current one, and ends the other sessions', async (t) => {
  const { owner, page, open } = await startConsole(t, { path: 'you', hasPassphrase: true });
  const other = await open({ as: null, path: 'keys' });
  await signIn(other, owner.domain, `owner@${owner.domain}`, PASSPHRASE);
  await other.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  await page.getByLabel('Present passphrase', { exact: true }).fill('not it, by far');
  await page.getByLabel('New passphrase', { exact: true }).fill(OTHER_PASSPHRASE);
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByText('It is not your passphrase').waitFor();
  await page.getByLabel('Present passphrase', { exact: true }).fill(PASSPHRASE);
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByText('Changed. Your other sessions have ended.').waitFor();
  await other.getByRole('link', { name: 'You' }).click();
  await other.getByText('Your session has ended').waitFor();
});

test('signing out removes the cookie and ends the session', async (t) => {
  const { page } = await startConsole(t, { path: 'you' });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Carillon' }).waitFor();
  assert.deepEqual(await page.context().cookies(), []);
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in to Carillon' }).waitFor();
});

test('a banner warns about unencrypted HTTP, except on a loopback address', async (t) => {
  const { open, page } = await startConsole(t, { as: null });
  const banner = 'This page came over plain http';
  await page.getByRole('heading', { name: 'Sign in to Carillon' }).waitFor();
  assert.equal(await page.getByText(banner).count(), 0);

  const baseUrl = 'http://calendar.acme.test';
  const remoteService = await sqlite.testService(t, { options: { baseUrl } });
  const theirs = await open({ as: null, expects: /calendar\.acme\.test|Cross-Origin-Opener-Policy/ });
  // No DNS is needed, because requests for this host are routed to the local test service.
  await theirs.context().route(`${baseUrl}/**`, async (route) => {
    const url = route.request().url().replace(baseUrl, remoteService.service.url);
    await route.fulfill({ response: await route.fetch({ url }) });
  });
  await theirs.goto(`${baseUrl}/`);
  await theirs.getByText(banner).waitFor();
});

test('a link opened while the service is unreachable shows a connection error, and works afterwards', async (t) => {
  const { service, owner, open } = await startConsole(t);
  const link = await service.createInvitationLink(await service.createUser(owner, 'member'));
  const page = await open({ as: null });
  await page.route('**/console/invitation', (route) => route.abort());
  await page.goto(link);
  await page.getByText('The service cannot be reached').waitFor();
  assert.equal(await page.getByText('leads nowhere').count(), 0);
  await page.unroute('**/console/invitation');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByLabel('Passphrase', { exact: true }).waitFor();
});

test('after an expired session, sign-in returns to the same account without asking for the domain', async (t) => {
  const { service, owner, page } = await startConsole(t, { path: 'keys', hasPassphrase: true });
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  const elsewhere = await service.signIn(owner);
  for (const { id, current } of (await elsewhere.console.sessions.list()).data) {
    if (current !== '1') await elsewhere.console.sessions.end(id);
  }
  // A poll may notice the end of the session first, and replace the links.
  await page.evaluate("location.hash = '#/tasks'");
  await page.getByText('Your session has ended').waitFor();
  await page.getByLabel('Email').fill(`owner@${owner.domain}`);
  await page.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
});

test('a tab reloads when another tab signs in as a different user or signs out', async (t) => {
  const { service, owner, page } = await startConsole(t, { path: 'you' });
  await page.getByRole('link', { name: 'Account Owner' }).waitFor();
  const member = await service.createUser(owner, 'member');
  const other = await page.context().newPage();
  await setPassphrase(other, await service.createInvitationLink(member), OTHER_PASSPHRASE);
  await other.getByRole('link', { name: 'Test member' }).waitFor();
  await page.getByRole('link', { name: 'Test member' }).waitFor();
  await other.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Carillon' }).waitFor();
});
