import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { check } from 'recheck';
import { parseSync } from 'vite';
import { createOpenApiDocument } from '../../src/http/routes/openapi.ts';
import { webhooks } from '../../src/resources/hooks/webhook.ts';
import { apiRoutes } from '../kit/api/routes.ts';
import { packageSources, root, sourcesBelow } from './source.ts';

/** Folders of all shipped code. */
const SHIPPED_FOLDERS = ['src', 'console/src', 'integrations/n8n', 'integrations/zapier', ...packageSources];

const files = SHIPPED_FOLDERS.filter((folder) => existsSync(join(root, folder)))
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
    const fault = await describeNonLinear(one);
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
    const built = await patternsBuiltOnLoad(root, path);
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
  for (const { method, path, parameters, bodySchema, responseSchema } of apiRoutes) {
    visit([parameters, bodySchema, responseSchema], `${method} ${path}`);
  }
  visit(createOpenApiDocument(apiRoutes, 'http://localhost', '0.0.0', webhooks), 'openapi.json');
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
    const fault = await describeNonLinear({ source, flags });
    if (kind === undefined) assert.equal(fault, undefined, source);
    else assert.match(fault ?? 'linear', kind, source);
  }
});

/** A regular expression and its position: `src/http/fields/field.ts:4`. */
type Pattern = { readonly source: string; readonly flags: string; readonly place: string };

/** The regular expression literals of a file, and the line numbers of its `RegExp` calls. */
export type WrittenPatterns = { readonly literals: readonly Pattern[]; readonly builtOn: readonly number[] };

/** Finds the regular expressions of a file with a parser, because in JSX `/…/` may contain a closing tag. */
function patternsIn(path: string, text: string): WrittenPatterns {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const literals: Pattern[] = [];
  const builtOn: number[] = [];
  const lineOf = (at: number) => text.slice(0, at).split('\n').length;
  const visit = (node: unknown): void => {
    if (node === null || typeof node !== 'object') return;
    if ('regex' in node && 'start' in node) {
      const { pattern, flags } = node.regex as { pattern: string; flags: string };
      literals.push({ source: pattern, flags, place: `${path}:${lineOf(Number(node.start))}` });
    }
    if ('callee' in node && 'start' in node && isRegExp(node.callee)) builtOn.push(lineOf(Number(node.start)));
    Object.values(node).forEach(visit);
  };
  visit(program);
  return { literals, builtOn };
}

function isRegExp(callee: unknown): boolean {
  const { name, property } = callee as { name?: string; property?: { name?: string } };
  return name === 'RegExp' || property?.name === 'RegExp';
}

/** Imports a file and returns the regular expressions that it builds with `RegExp` while loading. */
async function patternsBuiltOnLoad(root: string, path: string): Promise<readonly Pattern[]> {
  const url = pathToFileURL(`${root}/${path}`).href;
  const NativeRegExp = RegExp;
  const built: Pattern[] = [];
  const recording = (pattern: string | RegExp, flags?: string) => {
    const made = new NativeRegExp(pattern, flags);
    const calls = (new Error().stack ?? '').split('\n');
    // Record every line of the file that is in the stack, because the call may be inside a helper function.
    for (const call of calls.filter((one) => one.includes(`${url}:`) || one.includes(`${url}?`))) {
      built.push({ source: made.source, flags: made.flags, place: `${path}:${call.split(':').at(-2)}` });
    }
    return made;
  };
  globalThis.RegExp = new Proxy(NativeRegExp, {
    construct: (_, [pattern, flags]) => recording(pattern, flags),
    apply: (_, _this, [pattern, flags]) => recording(pattern, flags),
  });
  try {
    // The query bypasses the module cache.
    await import(`${url}?patterns`);
  } finally {
    globalThis.RegExp = NativeRegExp;
  }
  return built;
}

/** Timeout for the analysis of one regular expression. An analysis that exceeds it fails the test. */
const CHECK_TIMEOUT_MS = 30_000;

/** Describes why a regular expression is not linear in the length of the text; undefined if it is. */
export async function describeNonLinear({ source, flags }: Omit<Pattern, 'place'>): Promise<string | undefined> {
  // Without repetition, matching is bounded by the length of the pattern.
  if (!/[*+{]/.test(source)) return undefined;
  const found = await check(source, flags, { timeout: CHECK_TIMEOUT_MS });
  if (found.status === 'safe') return undefined;
  if (found.status === 'unknown') return `not known to be linear (${found.error.kind})`;
  return `${found.complexity.summary}: ${found.attack.pattern}`;
}
