import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { openConsole, PASSPHRASE } from '../kit/network/browser.ts';
import { type Example, NOW, startExample } from './example.ts';
import { openScreen, screenNames, waitUntilShown } from './pages.ts';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MAX_COLORS = 256;

type DecodedPng = {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly bytes: Buffer;
};

/**
 * Converts a PNG to a palette, which makes screenshots about a third as large. With more than 256 colors, the most
 * frequent colors are kept, and every other color is replaced by the nearest of them.
 *
 * @param png 8 bits per channel, RGB or RGBA; transparency is dropped
 */
function toPalettePng(png: Buffer): Buffer {
  const { width, height, channels, bytes } = decodePng(png);
  const colorAt = (at: number) => ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  const counts = new Map<number, number>();
  for (let at = 0; at < bytes.length; at += channels) {
    counts.set(colorAt(at), (counts.get(colorAt(at)) ?? 0) + 1);
  }
  const palette = [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, MAX_COLORS)
    .map(([color]) => color);
  const paletteIndexes = new Map([...counts.keys()].map((color) => [color, nearestColorIndex(palette, color)]));
  // Each scanline begins with its filter type: 0, none.
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      lines[y * (width + 1) + 1 + x] = paletteIndexes.get(colorAt((y * width + x) * channels)) ?? 0;
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 0xff, color & 0xff]));
  const data = deflateSync(lines, { level: 9, memLevel: 9 });
  return Buffer.concat([
    SIGNATURE,
    pngChunk('IHDR', head),
    pngChunk('PLTE', colors),
    pngChunk('IDAT', data),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function nearestColorIndex(palette: readonly number[], color: number): number {
  const exact = palette.indexOf(color);
  if (exact >= 0) return exact;
  const distance = (other: number) =>
    [16, 8, 0].reduce((sum, shift) => sum + (((other >> shift) & 0xff) - ((color >> shift) & 0xff)) ** 2, 0);
  return palette.reduce((best, other, at) => (distance(other) < distance(palette[best] ?? 0) ? at : best), 0);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)]);
}

function decodePng(png: Buffer): DecodedPng {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return {
    width,
    height,
    channels,
    bytes: reverseFilters(inflateSync(Buffer.concat(parts)), width * channels, channels),
  };
}

/**
 * Reverses the PNG filters: each byte is stored as the difference to a prediction from its left and upper
 * neighbors.
 */
function reverseFilters(lines: Buffer, stride: number, channels: number): Buffer {
  const height = lines.length / (stride + 1);
  const bytes = Buffer.alloc(height * stride);
  for (let y = 0; y < height; y += 1) {
    const filter = lines[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x < channels ? 0 : (bytes[at - channels] ?? 0);
      const up = y === 0 ? 0 : (bytes[at - stride] ?? 0);
      const corner = x < channels || y === 0 ? 0 : (bytes[at - stride - channels] ?? 0);
      const prediction = [0, left, up, (left + up) >> 1, paethPredictor(left, up, corner)][filter] ?? 0;
      bytes[at] = ((lines[y * (stride + 1) + 1 + x] ?? 0) + prediction) & 0xff;
    }
  }
  return bytes;
}

function paethPredictor(left: number, up: number, corner: number): number {
  const prediction = left + up - corner;
  const [toLeft, toUp, toCorner] = [left, up, corner].map((one) => Math.abs(prediction - one)) as [
    number,
    number,
    number,
  ];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

// Writes screenshots to build/screens/: `npm run screens` of all screens, `SCREENS=keys,people npm run screens` of
// some. Screenshots that the documentation uses are also written to docs/screens/.

const screensFolder = fileURLToPath(new URL('../../build/screens', import.meta.url));
const docsFolder = fileURLToPath(new URL('../../docs/screens', import.meta.url));
const DOCUMENTED_SCREENS = ['calendar-light', 'activity-dark'];

/** Color schemes and window sizes of the screenshots. */
const looks = [
  { look: 'light', colorScheme: 'light', width: 1280, height: 860 },
  { look: 'dark', colorScheme: 'dark', width: 1280, height: 860 },
  { look: 'narrow', colorScheme: 'light', width: 390, height: 844 },
] as const;

/** Additional screenshots, of states of a screen: each function performs the steps that reach the state. */
const extraStates: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  'new-key': async (page) => {
    await openScreen(page, 'keys');
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByLabel('What it is for').fill('Release bot');
  },
  task: async (page) => {
    await openScreen(page, 'tasks');
    await page.getByRole('link', { name: 'Retire the v25 images' }).click();
    await page.getByText('I do, on Thursday.').waitFor();
  },
  hook: async (page) => {
    await openScreen(page, 'hooks/6');
  },
  project: async (page) => {
    await openScreen(page, 'projects/5');
  },
  'api-call': async (page) => {
    await openScreen(page, 'keys');
    await page.getByRole('button', { name: 'API call' }).click();
    await page.getByRole('dialog').waitFor();
  },
};

const requestedScreens = process.env.SCREENS?.split(',') ?? [];
const isRequested = (name: string) => requestedScreens.length === 0 || requestedScreens.includes(name);

async function takeScreenshot(page: Page, name: string, look: string): Promise<void> {
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  const picture = toPalettePng(png);
  writeFileSync(`${screensFolder}/${name}-${look}.png`, picture);
  if (DOCUMENTED_SCREENS.includes(`${name}-${look}`)) writeFileSync(`${docsFolder}/${name}-${look}.png`, picture);
}

/** User agents of additional sessions of the owner, which the list of sessions shows. */
const USER_AGENTS = [
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15',
  'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
];

async function signInElsewhere({ service, owner }: Example): Promise<void> {
  for (const agent of USER_AGENTS) {
    const response = await fetch(`${service.baseUrl}/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: service.baseUrl, 'user-agent': agent },
      body: JSON.stringify({ domain: owner.domain, email: 'release@acme.example', passphrase: PASSPHRASE }),
    });
    assert.equal(response.status, 200, await response.text());
  }
}

test('takes a screenshot of every screen in every look', async (t) => {
  mkdirSync(screensFolder, { recursive: true });
  const example = await startExample(t, { port: '18080' });
  for (const { look, ...window } of looks) {
    const out = await openConsole(t, example.service, { as: null, ...window });
    await waitUntilShown(out);
    if (isRequested('sign-in')) await takeScreenshot(out, 'sign-in', look);
    const link = await example.service.createInvitationLink(example.owner);
    await openScreen(out, new URL(link).hash.slice(2));
    if (isRequested('welcome')) await takeScreenshot(out, 'welcome', look);
    const page = await openConsole(t, example.service, { as: example.owner, hasPassphrase: true, ...window });
    await signInElsewhere(example);
    await page.clock.setFixedTime(NOW);
    await page.reload();
    await waitUntilShown(page);
    for (const name of screenNames.filter(isRequested)) {
      await openScreen(page, name);
      await takeScreenshot(page, name, look);
    }
    for (const [name, openState] of Object.entries(extraStates)) {
      if (!isRequested(name)) continue;
      await openState(page);
      await takeScreenshot(page, name, look);
      await page.keyboard.press('Escape');
    }
  }
});
