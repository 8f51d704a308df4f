import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleOf } from '../../src/api-docs/example.ts';
import { problems } from '../../src/problems.ts';
import { documentedRoutes } from '../documents/routes.ts';
import { axeFindings } from '../kit/axe.ts';
import { openConsole } from '../kit/browser.ts';
import { asCurl, asSdk } from '../kit/calls.ts';
import { furnish } from '../kit/furnished-account.ts';
import type { TestService } from '../kit/service.ts';
import { sqlite } from '../kit/stores.ts';

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

/** Creates the records that examples refer to, new for each example: one deletes what another needs. */
async function createRecords(service: TestService, domain: string) {
  const owner = await service.account(domain);
  return { owner, ids: await furnish(owner, service, () => `https://app.example/${domain}`) };
}

test('X6 every example on /docs works unchanged, as curl and with the SDK', async (t) => {
  const service = await sqlite.testService(t);
  const page = await (await fetch(`${service.baseUrl}/docs`)).text();
  const plain = page.replace(/&#(\d+);/g, (_, sign) => String.fromCharCode(Number(sign)));
  for (const [index, row] of routes.entries()) {
    const example = exampleOf(row, service.baseUrl);
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
      if (form === 'curl') assert.equal((await asCurl(call, owner)).status, row.status, call);
      else await assert.doesNotReject(asSdk(`${call};`, owner.carillon), call);
    }
  }
});

test('X6 /docs has an opaque origin, runs no scripts and is accessible', async (t) => {
  const service = await sqlite.testService(t);
  const owner = await service.account('acme.test');
  for (const look of [
    { colorScheme: 'light', width: 1280, height: 860 },
    { colorScheme: 'dark', width: 390, height: 844 },
  ] as const) {
    const page = await openConsole(t, service, { as: owner, ...look });
    await page.goto(`${service.baseUrl}/docs`);
    assert.equal(await page.evaluate('self.origin'), 'null');
    await assert.rejects(page.evaluate('document.cookie'));
    // The sandbox also blocks axe, so axe checks the same page without it.
    await page.goto('about:blank');
    await page.setContent(await (await fetch(`${service.baseUrl}/docs`)).text());
    assert.deepEqual(await axeFindings(page, look.colorScheme), []);
    const widest = await page.evaluate('document.documentElement.scrollWidth');
    assert.ok(Number(widest) <= look.width, `${widest}`);
  }
});
