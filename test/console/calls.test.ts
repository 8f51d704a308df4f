import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { CarillonError } from '../../packages/sdk/src/index.ts';
import { openConsole } from '../kit/browser.ts';
import { asCurl, asSdk } from '../kit/calls.ts';
import { NOW, startExample } from './example.ts';
import { visit } from './pages.ts';

/** A call as a screen shows it, in both of its forms. */
type Shown = { readonly says: string; readonly curl: string; readonly sdk: string };

/** What is answered when something has been done before. */
const DONE = new Set(['not_found', 'target_taken', 'email_taken', 'hook_ended']);

const pages = [
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

async function shownOn(page: Page): Promise<readonly Shown[]> {
  await page.getByRole('button', { name: 'API call' }).click();
  const dialog = page.getByRole('dialog');
  const code = dialog.locator('pre');
  await code.waitFor();
  const choice = dialog.getByRole('combobox', { name: 'Call' });
  const found: Shown[] = [];
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

test('every call that a screen shows works as it stands, as curl and with the SDK', async (t) => {
  const { service, owner } = await startExample(t);
  const page = await openConsole(t, service, { as: owner });
  await page.clock.setFixedTime(NOW);
  await page.reload();
  const shown: Shown[] = [];
  for (const path of pages) {
    await visit(page, path);
    shown.push(...(await shownOn(page)));
  }
  assert.ok(shown.length >= 2 * pages.length, `${shown.length} calls`);
  const isReading = ({ curl }: Shown) => !curl.includes('-X ');
  for (const one of shown.filter(isReading)) {
    const answer = await asCurl(one.curl, owner);
    assert.equal(answer.status, 200, `${one.says}: ${one.curl}`);
    await assert.doesNotReject(asSdk(one.sdk, owner.carillon), `${one.says}: ${one.sdk}`);
  }
  // What changes something is done once, and the other form finds that it was.
  for (const one of shown.filter((each) => !isReading(each))) {
    const answer = await asCurl(one.curl, owner);
    assert.ok(answer.ok, `${one.says}: ${answer.status} ${await answer.text()}\n${one.curl}`);
    await asSdk(one.sdk, owner.carillon).catch((error: unknown) => {
      assert.ok(error instanceof CarillonError && DONE.has(error.code), `${one.says}: ${error}\n${one.sdk}`);
    });
  }
});
