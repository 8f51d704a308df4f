import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { openConsole } from '../harness/browser.ts';
import { type Example, NOW, startExample } from './example.ts';
import { screenNames, shown, visit } from './pages.ts';

// Takes a picture of every screen into docs/screens/: `npm run screens`, or `npm run screens -- keys` for some.

const folder = fileURLToPath(new URL('../../docs/screens', import.meta.url));

/** How a screen is looked at: in which colours, how wide. */
const looks = [
  { look: 'light', colorScheme: 'light', width: 1280, height: 860 },
  { look: 'dark', colorScheme: 'dark', width: 1280, height: 860 },
  { look: 'narrow', colorScheme: 'light', width: 390, height: 844 },
] as const;

/** What is to be seen beside the screens themselves: how one gets there. */
const states: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'new-key': async (page) => {
    await visit(page, 'keys');
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByLabel('What it is for').fill('Release bot');
  },
  'api-call': async (page) => {
    await visit(page, 'keys');
    await page.getByRole('button', { name: 'API call' }).click();
  },
};

const wanted = process.argv.slice(2);
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);

async function take(page: Page, name: string, look: string): Promise<void> {
  await page.screenshot({ path: `${folder}/${name}-${look}.png`, animations: 'disabled', caret: 'hide' });
}

async function takeAll(example: Example, cleanup: { after(close: () => unknown): void }): Promise<void> {
  for (const { look, ...window } of looks) {
    const out = await openConsole(cleanup, example.service, { as: null, ...window });
    await shown(out);
    if (isWanted('sign-in')) await take(out, 'sign-in', look);
    if (isWanted('welcome')) {
      const link = await example.service.link(example.owner);
      await visit(out, new URL(link).hash.slice(2));
      await take(out, 'welcome', look);
    }
    const page = await openConsole(cleanup, example.service, { as: example.owner, ...window });
    await page.clock.setFixedTime(NOW);
    await page.reload();
    await shown(page);
    for (const name of screenNames.filter(isWanted)) {
      await visit(page, name);
      await take(page, name, look);
    }
    for (const [name, reach] of Object.entries(states)) {
      if (!isWanted(name)) continue;
      await reach(page);
      await take(page, name, look);
      await page.keyboard.press('Escape');
    }
  }
}

mkdirSync(folder, { recursive: true });
const closing: (() => unknown)[] = [];
const cleanup = { after: (close: () => unknown) => void closing.unshift(close) };
try {
  await takeAll(await startExample(cleanup, { port: '18080' }), cleanup);
} finally {
  for (const close of closing) await close();
}
