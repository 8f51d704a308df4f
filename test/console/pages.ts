import type { Page } from 'playwright-core';

const table: { readonly screens: readonly { readonly name: string }[] } = await import(
  new URL('../../console/src/screens.ts', import.meta.url).href
);

/** The name of every screen in its address, as the console's own table has it. */
export const screenNames: readonly string[] = table.screens.map(({ name }) => name);

/** Goes to a screen and waits until it shows what it has asked for. */
export async function visit(page: Page, path: string): Promise<void> {
  const here = new URL(page.url());
  here.hash = `#/${path}`;
  await page.goto(here.href);
  await shown(page);
}

/** Waits until nothing is on its way any more. */
export async function shown(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
  await page.waitForLoadState('networkidle');
}
