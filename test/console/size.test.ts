import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { consoleOf } from '../kit/network/browser.ts';
import { screenNames, shown, visit } from './pages.ts';

const KB = 1_000;

/** JavaScript of the start page, the calendar. */
const MAX_INITIAL_BYTES = 90 * KB;

/** JavaScript that any other screen loads in addition. */
const MAX_SCREEN_BYTES = 15 * KB;

const assets = new URL('../../console/dist/assets/', import.meta.url);

/** Gzipped size of each script, by file name. */
const sizes = new Map(
  readdirSync(assets)
    .filter((name) => name.endsWith('.js'))
    .map((name) => [name, gzipSync(readFileSync(new URL(name, assets)), { level: 9 }).length]),
);

const sum = (names: Iterable<string>) => [...names].reduce((total, name) => total + (sizes.get(name) ?? 0), 0);

test('the start page loads at most 90 KB of gzipped JavaScript; other screens load at most 15 KB more on demand', async (t) => {
  const { service, page } = await consoleOf(t);
  await shown(page);
  const loaded = new Set<string>();
  page.context().on('request', (request) => {
    assert.ok(request.url().startsWith(service.baseUrl), `nothing comes from elsewhere: ${request.url()}`);
    if (request.resourceType() === 'script') loaded.add(request.url().split('/').at(-1) ?? '');
  });
  await page.reload();
  await shown(page);
  const first = new Set(loaded);
  t.diagnostic(
    `the app with its calendar: ${sum(first)} bytes in ${first.size} files; all of it: ${sum(sizes.keys())}`,
  );
  assert.ok(first.size > 0 && [...first].every((name) => sizes.has(name)));
  assert.ok(sum(first) <= MAX_INITIAL_BYTES, `${sum(first)} bytes`);
  for (const path of screenNames.flatMap((name) => [name, `${name}/1`])) {
    const before = sum(loaded);
    await visit(page, path);
    const added = sum(loaded) - before;
    assert.ok(added <= MAX_SCREEN_BYTES, `${path} adds ${added} bytes`);
  }
});
