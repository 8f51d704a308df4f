import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { openConsole, PASSPHRASE } from '../kit/network/browser.ts';
import { type Example, NOW, startExample } from './example.ts';
import { screenNames, shown, visit } from './pages.ts';
import { withPalette } from './png.ts';

// Takes screenshots of all screens into build/screens/: `npm run screens`, or `SCREENS=keys,people npm run
// screens` for some. Those used in the documentation are also written to docs/screens/.

const folder = fileURLToPath(new URL('../../build/screens', import.meta.url));
const docsFolder = fileURLToPath(new URL('../../docs/screens', import.meta.url));
const DOCUMENTED = ['calendar-light', 'activity-dark'];

/** Color schemes and window sizes. */
const looks = [
  { look: 'light', colorScheme: 'light', width: 1280, height: 860 },
  { look: 'dark', colorScheme: 'dark', width: 1280, height: 860 },
  { look: 'narrow', colorScheme: 'light', width: 390, height: 844 },
] as const;

/** Additional states, with the steps to reach them. */
const states: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'new-key': async (page) => {
    await visit(page, 'keys');
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByLabel('What it is for').fill('Release bot');
  },
  task: async (page) => {
    await visit(page, 'tasks');
    await page.getByRole('link', { name: 'Retire the v25 images' }).click();
    await page.getByText('I do, on Thursday.').waitFor();
  },
  hook: async (page) => {
    await visit(page, 'hooks/6');
  },
  project: async (page) => {
    await visit(page, 'projects/5');
  },
  'api-call': async (page) => {
    await visit(page, 'keys');
    await page.getByRole('button', { name: 'API call' }).click();
    await page.getByRole('dialog').waitFor();
  },
};

const wanted = process.env.SCREENS?.split(',') ?? [];
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);

async function takeScreenshot(page: Page, name: string, look: string): Promise<void> {
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  const picture = withPalette(png);
  writeFileSync(`${folder}/${name}-${look}.png`, picture);
  if (DOCUMENTED.includes(`${name}-${look}`)) writeFileSync(`${docsFolder}/${name}-${look}.png`, picture);
}

/** User agents of further sessions of the owner. */
const AGENTS = [
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15',
  'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
];

async function signInElsewhere({ service, owner }: Example): Promise<void> {
  for (const agent of AGENTS) {
    const response = await fetch(`${service.baseUrl}/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: service.baseUrl, 'user-agent': agent },
      body: JSON.stringify({ domain: owner.domain, email: 'release@acme.example', passphrase: PASSPHRASE }),
    });
    assert.equal(response.status, 200, await response.text());
  }
}

test('takes a screenshot of every screen in every look', async (t) => {
  mkdirSync(folder, { recursive: true });
  const example = await startExample(t, { port: '18080' });
  for (const { look, ...window } of looks) {
    const out = await openConsole(t, example.service, { as: null, ...window });
    await shown(out);
    if (isWanted('sign-in')) await takeScreenshot(out, 'sign-in', look);
    const link = await example.service.link(example.owner);
    await visit(out, new URL(link).hash.slice(2));
    if (isWanted('welcome')) await takeScreenshot(out, 'welcome', look);
    const page = await openConsole(t, example.service, { as: example.owner, hasPassphrase: true, ...window });
    await signInElsewhere(example);
    await page.clock.setFixedTime(NOW);
    await page.reload();
    await shown(page);
    for (const name of screenNames.filter(isWanted)) {
      await visit(page, name);
      await takeScreenshot(page, name, look);
    }
    for (const [name, reach] of Object.entries(states)) {
      if (!isWanted(name)) continue;
      await reach(page);
      await takeScreenshot(page, name, look);
      await page.keyboard.press('Escape');
    }
  }
});
