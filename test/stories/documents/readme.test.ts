import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createExampleCall } from '../../../src/api-docs/schema-shape.ts';
import { problems } from '../../../src/problems.ts';
import { documentedRoutes } from '../../documents/routes.ts';
import { createOneOfEach } from '../../kit/api/furnished-account.ts';
import { runCurl, runSdkLine } from '../../kit/api/routes.ts';
import { cleanEnvironment } from '../../kit/environment.ts';
import { eventually } from '../../kit/eventually.ts';
import { findAxeViolations, openConsole } from '../../kit/network/browser.ts';
import { findFreePort } from '../../kit/network/port.ts';
import { createTemporaryFolder, type TestService } from '../../kit/service/service.ts';
import { sqlite } from '../../kit/service/stores.ts';

const routes = documentedRoutes();

test('X6 /docs has every route and every problem, needs no key and loads nothing', async (t) => {
  const { baseUrl } = await sqlite.testService(t);
  const response = await fetch(`${baseUrl}/docs`);
  const page = await response.text();
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');

  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1] ?? '');
  assert.equal(new Set(ids).size, ids.length);
  const links = [...page.matchAll(/href="([^"]*)"/g)].map((match) => match[1] ?? '');
  const own = ['/', '/openapi.json', '/llms.txt'];
  assert.deepEqual(
    links.filter((link) => !(link.startsWith('#') ? ids.includes(link.slice(1)) : own.includes(link))),
    [],
  );
  assert.equal(page.match(/<(script|link|img|iframe|form)\b|\bsrc=|url\(|@import| on\w+=/g), null);
  for (const { method, path } of routes) {
    assert.ok(page.includes(`<b class="${method.toLowerCase()}">${method}</b>/v2${path}</h3>`), `${method} ${path}`);
  }
  for (const code of Object.keys(problems)) assert.ok(ids.includes(`problem-${code}`), code);

  const unchanged = { 'if-none-match': response.headers.get('etag') ?? '' };
  assert.equal((await fetch(`${baseUrl}/docs`, { headers: unchanged })).status, 304);
});

test('X6 /llms.txt has every route, and its links work', async (t) => {
  const { baseUrl } = await sqlite.testService(t);
  const text = await (await fetch(`${baseUrl}/llms.txt`)).text();
  for (const { method, path, description } of routes)
    assert.ok(text.includes(`- ${method} /v2${path}: ${description}\n`), path);
  for (const [, address = ''] of text.matchAll(/\]\((.+?)\)/g))
    assert.equal((await fetch(address)).status, 200, address);
});

/** Creates the records that an example refers to. Examples share no records, because some delete them. */
async function createRecords(service: TestService, domain: string) {
  const owner = await service.createAccount(domain);
  return { owner, ids: await createOneOfEach(owner, service, () => `https://app.example/${domain}`) };
}

test('X6 every example on /docs works unchanged, as curl and with the SDK', async (t) => {
  const service = await sqlite.testService(t);
  const page = await (await fetch(`${service.baseUrl}/docs`)).text();
  const plain = page.replace(/&#(\d+);/g, (_, sign) => String.fromCharCode(Number(sign)));
  for (const [index, row] of routes.entries()) {
    const example = createExampleCall(row, service.baseUrl);
    assert.ok(plain.includes(example.curl) && plain.includes(example.sdk), row.path);
    for (const form of ['curl', 'sdk'] as const) {
      const { owner, ids } = await createRecords(service, `${form}-${index}.test`);
      if (row.path.endsWith('/restore')) await owner.carillon.hooks.delete(ids.hook_id);
      if (row.path.endsWith('/secret')) await owner.carillon.hooks.createSecret(ids.hook_id);
      const idOf = (name: string) => ids[name as keyof typeof ids];
      const path = row.path.replace(/\{(\w+)\}/g, (_, name) => idOf(name));
      const [first] = /(?<=\{)\w+/.exec(row.path) ?? [''];
      const call = example[form]
        .replace(row.path.replace(/\{\w+\}/g, '1'), path)
        .replace('(1', `(${idOf(first)}`)
        .replace('bell-7f3k2q9d', `bell-${owner.domain}`);
      if (form === 'curl') assert.equal((await runCurl(call, owner)).status, row.status, call);
      else await assert.doesNotReject(runSdkLine(`${call};`, owner.carillon), call);
    }
  }
});

test('X6 /docs has an opaque origin, runs no scripts and is accessible', async (t) => {
  const service = await sqlite.testService(t);
  const owner = await service.createAccount('acme.test');
  for (const look of [
    { colorScheme: 'light', width: 1280, height: 860 },
    { colorScheme: 'dark', width: 390, height: 844 },
  ] as const) {
    const page = await openConsole(t, service, { as: owner, ...look });
    await page.goto(`${service.baseUrl}/docs`);
    assert.equal(await page.evaluate('self.origin'), 'null');
    await assert.rejects(page.evaluate('document.cookie'));
    // The sandbox also blocks axe, so axe checks the same page without the sandbox.
    await page.goto('about:blank');
    await page.setContent(await (await fetch(`${service.baseUrl}/docs`)).text());
    assert.deepEqual(await findAxeViolations(page, look.colorScheme), []);
    const widest = await page.evaluate('document.documentElement.scrollWidth');
    assert.ok(Number(widest) <= look.width, `${widest}`);
  }
});

const root = fileURLToPath(new URL('../../..', import.meta.url));
const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
const receiving = readFileSync(new URL('../../../docs/receiving.md', import.meta.url), 'utf8');

/** Returns the `sh story` block of a page, with these values assigned in its first lines. */
function storyBlockOf(page: string, values: Readonly<Record<string, string>>): string {
  const [story = '', ...more] = [...page.matchAll(/^```sh story\n(.*?)^```$/gms)]
    .map((match) => match[1] ?? '')
    .filter((text) => text.includes('PORT=9090'));
  assert.ok(story !== '' && more.length === 0, 'the page has one story block');
  let text = story;
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^(export )?${name}=.*$`, 'm');
    assert.match(text, line, `the story begins with ${name}`);
    text = text.replace(line, (_, exported = '') => `${exported}${name}='${value}'`);
  }
  return text;
}

/** Runs a story and returns its output. Its background processes are ended with it, even after an error. */
async function runStory(story: string, cwd: string): Promise<string> {
  const script = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${story}`;
  const env = { ...cleanEnvironment, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: cwd };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    timeout: 60_000,
    cwd,
    env,
  });
  return stdout;
}

test('the receiver in the README, unchanged: it receives events, is stopped, and has missed none', async (t) => {
  const carillon = await sqlite.testService(t, { options: { retryWaits: '1m,2h' } });
  const owner = await carillon.createAccount('acme.test');
  // Run the commands in a copy of the clone with an empty data folder.
  const clone = createTemporaryFolder(t);
  mkdirSync(join(clone, 'data'));
  for (const name of ['src', 'packages', 'node_modules', 'package.json'])
    symlinkSync(join(root, name), join(clone, name));
  const values = {
    CARILLON_SERVICE: carillon.baseUrl,
    CARILLON_DOMAIN: owner.domain,
    CARILLON_KEY: owner.key,
    PORT: String(await findFreePort()),
  };
  await runStory(storyBlockOf(readme, values), clone);

  assert.equal(readFileSync(join(clone, 'data/received.txt'), 'utf8'), 'Launch\nWhile it was down\n');
  // The second start of the receiver has reused the hook of the first start.
  const { data: hooks } = await owner.carillon.hooks.list();
  assert.deepEqual(
    hooks.map(({ event }) => event),
    ['new_event'],
  );
});

test('the example in docs/receiving.md, unchanged: subscribe, create, receive, fetch, list deliveries', async (t) => {
  const carillon = await sqlite.testService(t, { options: { retryWaits: '1m,2h' } });
  const owner = await carillon.createAccount('acme.test');
  const values = {
    SERVICE: carillon.baseUrl,
    DOMAIN: owner.domain,
    KEY: owner.key,
    PORT: String(await findFreePort()),
  };
  const output = await runStory(storyBlockOf(receiving, values), createTemporaryFolder(t));
  const [hook, event, notification, fetched, history] = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

  assert.match(hook.id, /^\d+$/);
  assert.equal(event.data.event_name, 'Launch');
  const resourceUrl = `${carillon.baseUrl}/v2/events/${event.data.event_id}`;
  assert.deepEqual(notification, { resource_url: resourceUrl });
  assert.deepEqual(fetched, event);
  assert.equal(history.paging.total_records, 1);
  assert.equal(history.data[0].hook_id, hook.id);
  assert.equal(history.data[0].resource_url, resourceUrl);

  const delivery = await eventually(
    () => owner.carillon.deliveries.get(history.data[0].id),
    (one) => one.state === 'delivered',
  );
  assert.deepEqual(
    delivery.attempts.map(({ outcome }) => outcome),
    ['200'],
  );
});

test('the README shows the lines that the first start prints', () => {
  const greeting = readFileSync(new URL('../../../src/cli/server/serve.ts', import.meta.url), 'utf8');
  const documented = readme.match(/^(console|domain|key): /gm) ?? [];
  assert.deepEqual(documented, ['console: ', 'domain: ', 'key: ']);
  for (const line of documented) assert.ok(greeting.includes(line), line);
});
