import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { root } from './source.ts';

/** Returns the files of the console whose names match a pattern, without tests. */
function consoleFiles(ending: RegExp): { path: string; text: string }[] {
  return readdirSync(join(root, 'console/src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name) && !entry.name.includes('.test.'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

const sources = consoleFiles(/\.tsx?$/);

/** Returns the imports of a file: repository paths or package names. */
function importsOf({ path, text }: { path: string; text: string }): string[] {
  const found = [
    ...text.matchAll(/^(?:import|export)\b[^'";()]*?\bfrom\s*'([^']+)'/gm),
    ...text.matchAll(/^import\s*'([^']+)'/gm),
    ...text.matchAll(/\bimport\('([^']+)'\)/g),
  ];
  return found
    .map((match) => match[1] ?? '')
    .filter((from) => !from.endsWith('.css'))
    .map((from) => (from.startsWith('.') ? join(dirname(path), from) : from));
}

const PACKAGES = /^(preact(\/hooks)?|@preact\/signals|@event-calendar\/build(\/.*)?)$/;

test('the console imports only its own files, the SDK and a few packages', () => {
  assert.ok(sources.length > 20);
  const wrong = sources.flatMap((source) =>
    importsOf(source)
      .filter(
        (from) => !from.startsWith('console/src/') && !from.startsWith('packages/sdk/src/') && !PACKAGES.test(from),
      )
      .map((from) => `${source.path}: ${from}`),
  );
  assert.deepEqual(wrong, []);
});

test('no screen imports another screen, and no shared file imports a screen', () => {
  const screenOf = (path: string) => /^console\/src\/screens\/([\w-]+)\//.exec(path)?.[1];
  const wrong = sources.flatMap((source) =>
    importsOf(source)
      .filter((from) => screenOf(from) !== undefined && screenOf(from) !== screenOf(source.path))
      .filter(() => source.path !== 'console/src/app/screens.ts')
      .map((from) => `${source.path}: ${from}`),
  );
  assert.deepEqual(wrong, []);
});

test('the console does not insert HTML, evaluate code or send requests outside the SDK', () => {
  const forbidden =
    /\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|eval|new Function|fetch|XMLHttpRequest|EventSource|WebSocket|sendBeacon)\b/;
  const wrong = sources.filter(({ text }) => forbidden.test(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')));
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('only tokens.css contains colors', () => {
  const styles = consoleFiles(/\.css$/).filter(({ path }) => !path.endsWith('components/tokens.css'));
  assert.ok(styles.length >= 3);
  const wrong = styles.flatMap(({ path, text }) =>
    [...text.matchAll(/#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|oklch|light-dark)\(/gi)].map(([color]) => `${path}: ${color}`),
  );
  assert.deepEqual(wrong, []);
});

test('a class is styled by one file only, because the styles of visited screens stay loaded', () => {
  const styles = consoleFiles(/\.css$/).map(({ path, text }) => ({ path, classes: firstClassesOf(text) }));
  const isShared = ({ path }: { path: string }) => !/^console\/src\/(screens|records|delivery)\//.test(path);
  const shared = new Set(styles.filter(isShared).flatMap(({ classes }) => classes.map(({ name }) => name)));
  const own = styles.filter((style) => !isShared(style));
  const owners = Map.groupBy(
    own.flatMap(({ path, classes }) => [...new Set(classes.map(({ name }) => name))].map((name) => ({ path, name }))),
    ({ name }) => name,
  );
  const wrong = [
    ...[...owners]
      .filter(([name, all]) => all.length > 1 && !shared.has(name))
      .map(([name, all]) => `.${name}: ${all.map(({ path }) => path).join(', ')}`),
    ...own.flatMap(({ path, classes }) =>
      classes
        .filter(({ name, isAlone }) => isAlone && shared.has(name))
        .map(({ name }) => `${path}: .${name} is shared`),
    ),
  ];
  assert.ok(owners.size > 20);
  assert.deepEqual(wrong, []);
});

/** Returns the first class of each selector, and whether the selector consists of this class alone. */
function firstClassesOf(text: string): { name: string; isAlone: boolean }[] {
  const rules = text.replace(/\/\*[\s\S]*?\*\//g, '').matchAll(/([^{};]+)\{/g);
  const selectors = [...rules].flatMap(([, list = '']) => list.split(',').map((one) => one.trim()));
  return selectors.flatMap((selector) => {
    const name = /^[a-z]*\.([\w-]+)/.exec(selector)?.[1];
    return name === undefined ? [] : [{ name, isAlone: selector === `.${name}` }];
  });
}

test('the console lists resources whose pages can end early only by wholePage, except for counts', () => {
  const resourceTypes = 'projects|tasks|subtasks|clients|teams|comments|timeEntries';
  const listing = new RegExp(`client\\.(?:${resourceTypes})\\.list\\(([^()]*)\\)`, 'g');
  const found = sources.flatMap(({ path, text }) =>
    [...text.matchAll(listing)].map(([call, given = '']) => ({ path, call, given, text })),
  );
  assert.ok(found.length > 5);
  // A page of one record is requested only for its `total_records`.
  const isCountOnly = (given: string, text: string) =>
    given.includes('limit: 1 ') || (given === 'countFilters' && /const countFilters = \{[^}]*limit: 1 \}/.test(text));
  const wrong = found
    .filter(({ given, text }) => !isCountOnly(given, text))
    .map(({ path, call }) => `${path}: ${call}`);
  assert.deepEqual(wrong, []);
});
