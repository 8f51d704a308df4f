import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { CarillonError } from '../../packages/sdk/src/index.ts';
import { runCurl, runSdkLine } from '../kit/api/routes.ts';
import { openConsole } from '../kit/network/browser.ts';
import { NOW, startExample } from './example.ts';
import { openScreen } from './pages.ts';

/** A displayed API call, as curl and SDK code. */
type DisplayedCall = { readonly says: string; readonly curl: string; readonly sdk: string };

/** Error codes of a write that fails because the test has already made the same call as curl. */
const ALREADY_DONE = new Set(['not_found', 'target_taken', 'email_taken', 'hook_ended']);

const screenPaths = [
  'projects?view=all&client=1',
  'projects/1',
  'tasks?view=soon&order=duedate',
  'tasks/1',
  'clients?name=Open',
  'clients/1',
  'contacts?client=1',
  'contacts/1',
  'teams',
  'overview',
  'hooks?state=failing',
  'hooks/1',
  'hooks/new',
  'activity?kind=new_event',
  'activity/5',
  'people',
  'keys',
  'you',
] as const;

async function callsOn(page: Page): Promise<readonly DisplayedCall[]> {
  await page.getByRole('button', { name: 'API call' }).click();
  const dialog = page.getByRole('dialog');
  const code = dialog.locator('pre');
  await code.waitFor();
  const choice = dialog.getByRole('combobox', { name: 'Call' });
  const found: DisplayedCall[] = [];
  for (const index of (await choice.count()) === 0 ? [undefined] : (await choice.locator('option').all()).keys()) {
    if (index !== undefined) await choice.selectOption(String(index));
    await dialog.getByRole('button', { name: 'curl' }).click();
    const curl = await code.innerText();
    await dialog.getByRole('button', { name: 'SDK' }).click();
    const says = (await dialog.getByRole('figure').getAttribute('aria-label')) ?? '';
    found.push({ says, curl, sdk: await code.innerText() });
  }
  await page.keyboard.press('Escape');
  return found;
}

test('every API call that a screen shows works, as curl and with the SDK', async (t) => {
  const { service, owner } = await startExample(t);
  const page = await openConsole(t, service, { as: owner });
  await page.clock.setFixedTime(NOW);
  await page.reload();
  const displayedCalls: DisplayedCall[] = [];
  for (const path of screenPaths) {
    await openScreen(page, path);
    displayedCalls.push(...(await callsOn(page)));
  }
  assert.ok(displayedCalls.length >= 2 * screenPaths.length, `${displayedCalls.length} calls`);
  const isReadCall = ({ curl }: DisplayedCall) => !curl.includes('-X ');
  for (const one of displayedCalls.filter(isReadCall)) {
    const response = await runCurl(one.curl, owner);
    assert.equal(response.status, 200, `${one.says}: ${one.curl}`);
    await assert.doesNotReject(runSdkLine(one.sdk, owner.carillon), `${one.says}: ${one.sdk}`);
  }
  // A write succeeds as curl. The same call with the SDK may then fail, because the write was already made.
  for (const one of displayedCalls.filter((each) => !isReadCall(each))) {
    const response = await runCurl(one.curl, owner);
    assert.ok(response.ok, `${one.says}: ${response.status} ${await response.text()}\n${one.curl}`);
    await runSdkLine(one.sdk, owner.carillon).catch((error: unknown) => {
      assert.ok(error instanceof CarillonError && ALREADY_DONE.has(error.code), `${one.says}: ${error}\n${one.sdk}`);
    });
  }
});
