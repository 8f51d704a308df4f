import type { Page, Request } from 'playwright-core';
import { eventually } from '../kit/eventually.ts';

const screenTable: { readonly screens: readonly { readonly name: string }[] } = await import(
  new URL('../../console/src/app/screens.ts', import.meta.url).href
);

/** Path of every screen, read from the console's own table of screens. */
export const screenNames: readonly string[] = screenTable.screens.map(({ name }) => name);

/** Opens a screen and waits until it has loaded. */
export async function openScreen(page: Page, path: string): Promise<void> {
  trackPendingRequests(page);
  const here = new URL(page.url());
  here.hash = `#/${path}`;
  await page.goto(here.href);
  await waitUntilShown(page);
}

/** Pending requests of each page, except event streams, which never end. */
const pendingRequests = new WeakMap<Page, Set<Request>>();

function trackPendingRequests(page: Page): Set<Request> {
  const known = pendingRequests.get(page);
  if (known !== undefined) return known;
  const requests = new Set<Request>();
  pendingRequests.set(page, requests);
  page.on('request', (request) => {
    if (request.headers().accept !== 'text/event-stream') requests.add(request);
  });
  page.on('requestfinished', (request) => requests.delete(request));
  page.on('requestfailed', (request) => requests.delete(request));
  return requests;
}

/** Waits until no request is pending and the page has not changed between two polls. */
export async function waitUntilShown(page: Page): Promise<void> {
  const requests = trackPendingRequests(page);
  await page.locator('h1').first().waitFor();
  let before = '';
  await eventually(
    async () => {
      await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
      const now = await page.locator('#app').innerHTML();
      const isSame = now === before;
      before = now;
      return isSame && requests.size === 0;
    },
    (isDone) => isDone,
    10_000,
  );
}
