import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openapi } from '../../src/http/routes/openapi.ts';
import { webhooks } from '../../src/resources/hooks/webhook.ts';
import { publicRows } from '../kit/api/routes.ts';
import { builtWhileLoading, faultOf, type Pattern, patternsIn } from './patterns.ts';
import { packageSources, root, sourcesBelow } from './source.ts';

/** All shipped code. */
const SHIPPED = ['src', 'console/src', 'integrations/n8n', 'integrations/zapier', ...packageSources];

const files = SHIPPED.filter((folder) => existsSync(join(root, folder)))
  .flatMap(sourcesBelow)
  .filter(({ path }) => !/\.(test|corpus)\.ts$|\/test\//.test(path));

async function faultsOf(patterns: readonly Pattern[]): Promise<readonly string[]> {
  const places = new Map<string, Pattern & { readonly all: string[] }>();
  for (const one of patterns) {
    const text = `/${one.source}/${one.flags}`;
    const known = places.get(text) ?? { ...one, all: [] };
    known.all.push(one.place);
    places.set(text, known);
  }
  const faults: string[] = [];
  for (const [text, one] of places) {
    const fault = await faultOf(one);
    if (fault !== undefined) faults.push(`${[...new Set(one.all)].join(', ')}: ${text} is ${fault}`);
  }
  return faults;
}

test('every regular expression runs in linear time', async () => {
  const patterns: Pattern[] = [];
  const unseen: string[] = [];
  for (const { path, text } of files) {
    const { literals, builtOn } = patternsIn(path, text);
    patterns.push(...literals);
    if (builtOn.length === 0) continue;
    const built = await builtWhileLoading(root, path);
    patterns.push(...built);
    const lines = new Set(built.map(({ place }) => place));
    unseen.push(...builtOn.map((line) => `${path}:${line}`).filter((place) => !lines.has(place)));
  }
  assert.deepEqual(unseen, [], 'regular expressions are built only while their file loads, never from input');
  assert.ok(patterns.length > 150, `${patterns.length} regular expressions`);
  assert.deepEqual(await faultsOf(patterns), []);
});

test('every pattern of a schema runs in linear time', async () => {
  const patterns: Pattern[] = [];
  const visit = (value: unknown, place: string): void => {
    if (value === null || typeof value !== 'object') return;
    for (const [name, one] of Object.entries(value)) {
      if (name === 'pattern' && typeof one === 'string') patterns.push({ source: one, flags: 'u', place });
      else visit(one, place);
    }
  };
  for (const { method, path, parameters, body, answer } of publicRows) {
    visit([parameters, body, answer], `${method} ${path}`);
  }
  visit(openapi(publicRows, 'http://localhost', '0.0.0', webhooks), 'openapi.json');
  assert.ok(patterns.length > 50, `${patterns.length} patterns`);
  assert.deepEqual(await faultsOf(patterns), []);
});

test('the check finds regular expressions in code, JSX and RegExp calls, but not in strings and comments', () => {
  const text = [
    'const one = /a[/]+/u; // /b+/',
    'const two = <b title="/c+/">don\'t {x / 2} {/d+/.test(x)}</b>;',
    'const three = new RegExp(one.source), four = RegExp("e+"), five = new globalThis.RegExp("f");',
  ].join('\n');
  const { literals, builtOn } = patternsIn('one.tsx', text);
  assert.deepEqual(literals, [
    { source: 'a[/]+', flags: 'u', place: 'one.tsx:1' },
    { source: 'd+', flags: '', place: 'one.tsx:2' },
  ]);
  assert.deepEqual(builtOn, [3, 3, 3]);
});

test('the check detects a regular expression that is not linear', async () => {
  const known: readonly (readonly [pattern: RegExp, kind: RegExp | undefined])[] = [
    [/^[\s,]*"\w*"(?:\s*,\s*(?:"\w*")?)*\s*$/, /^exponential/],
    [/^(\w+)*$/, /^exponential/],
    [/\bVersion\/(\d+)[\d.]* .*\bSafari\//, /^2nd degree polynomial/],
    [/\d+$/, /^2nd degree polynomial/],
    [/^\d+$/, undefined],
    [/a|b/, undefined],
  ];
  for (const [{ source, flags }, kind] of known) {
    const fault = await faultOf({ source, flags });
    if (kind === undefined) assert.equal(fault, undefined, source);
    else assert.match(fault ?? 'linear', kind, source);
  }
});
