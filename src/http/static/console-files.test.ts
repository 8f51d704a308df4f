import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { fastify } from 'fastify';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { sharedStores, sqlite } from '../../../test/kit/service/stores.ts';
import { ConsoleFiles } from './console-files.ts';

const carillon = await sqlite.testService({ after });
const html = { accept: 'text/html,application/xhtml+xml' };
const sendRequest = (path: string, headers: Record<string, string> = {}) =>
  carillon.call(undefined, 'GET', path, undefined, headers);

test('a browser that opens the service gets the console, a program gets JSON', async () => {
  const page = await sendRequest('/', html);
  assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  assert.match(page.text, /<div id="app">/);
  for (const accept of ['application/json', '*/*']) {
    const { json } = await sendRequest('/', { accept });
    assert.equal(json.service, 'Carillon', accept);
  }
});

test('the page may only load files from this service and call it, and cannot be framed', async () => {
  const { headers, text } = await sendRequest('/', html);
  const policy = String(headers.get('content-security-policy'));
  const said = Object.fromEntries(
    policy.split('; ').map((part) => [part.split(' ')[0], part.split(' ').slice(1).join(' ')]),
  );
  assert.deepEqual(said, {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self' data:",
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    'require-trusted-types-for': "'script'",
    'trusted-types': 'svelte-trusted-html',
  });
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('referrer-policy'), 'no-referrer');
  assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
  // All URLs of the page are relative, so that the same page works if the service runs below a path of its host.
  const addresses = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => String(match[1]));
  assert.ok(addresses.length >= 3);
  assert.deepEqual(
    addresses.filter((address) => !address.startsWith('./')),
    [],
  );
  assert.doesNotMatch(text, /<script(?![^>]* src=)|<style| on\w+=/);
});

test('files with a hash in their name are cached forever, and the page is revalidated each time', async () => {
  const page = await sendRequest('/', html);
  assert.equal(page.headers.get('cache-control'), 'no-cache');
  const same = await sendRequest('/', { ...html, 'if-none-match': String(page.headers.get('etag')) });
  assert.deepEqual([same.status, same.text], [304, '']);
  const [, script] = /src="\.(\/assets\/[^"]+\.js)"/.exec(page.text) ?? [];
  const answer = await sendRequest(String(script));
  assert.deepEqual(
    [answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')],
    [200, 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
  );
});

test('only built files are served: no other name, and no path traversal', async (t) => {
  const folder = createTemporaryFolder(t);
  mkdirSync(join(folder, 'dist/assets'), { recursive: true });
  writeFileSync(join(folder, 'secret.html'), 'secret');
  writeFileSync(join(folder, 'dist/index.html'), 'the page');
  writeFileSync(join(folder, 'dist/assets/a-12345678.js'), 'let a;'.repeat(100));
  writeFileSync(join(folder, 'dist/assets/notes.txt'), 'not for the web');
  const app = fastify();
  t.after(() => app.close());
  ConsoleFiles.read(join(folder, 'dist'))?.addFileRoutes(app);
  const status = async (url: string) => (await app.inject({ url })).statusCode;
  assert.equal(await status('/assets/a-12345678.js'), 200);
  for (const url of [
    '/assets/notes.txt',
    '/secret.html',
    '/../secret.html',
    '/assets/..%2f..%2fsecret.html',
    '/assets',
  ])
    assert.equal(await status(url), 404, url);
  const { rawPayload, headers } = await app.inject({
    url: '/assets/a-12345678.js',
    headers: { 'accept-encoding': 'gzip, br' },
  });
  assert.equal(headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(rawPayload).toString(), 'let a;'.repeat(100));
  assert.equal(ConsoleFiles.read(join(folder, 'elsewhere')), undefined);
});

for (const store of sharedStores) {
  store.test('a node that only notifies has no console', async (t) => {
    const service = await store.testService(t, { options: { role: 'delivery' } });
    const answer = await service.call(undefined, 'GET', '/', undefined, html);
    assert.equal(answer.json.service, 'Carillon');
  });
}
