import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isNotTest, packageSources, productSources, root, sourcesBelow } from './source.ts';

/**
 * Import directions: for each part of src, the parts that it may import. A part is a folder or a top-level file. The
 * parts in `BASE_PARTS` may import only each other, and every part except the SDK (`packages/sdk`) may import them.
 */
const BASE_PARTS = [
  'async',
  'clock.ts',
  'control-characters.ts',
  'durations.ts',
  'json.ts',
  'log-writer.ts',
  'log.ts',
  'loopback.ts',
  'permissions.ts',
  'problems.ts',
  'secrets.ts',
  'version.ts',
];
const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(BASE_PARTS.map((part) => [part, []])),
  sdk: [],
  ical: [],
  store: [],
  audit: ['store'],
  'metrics.ts': ['store'],
  delivery: ['audit', 'store'],
  mail: ['delivery', 'store'],
  config: ['delivery', 'mail', 'store'],
  http: ['audit', 'store'],
  'api-docs': ['delivery', 'http'],
  transfer: ['delivery', 'store'],
  'import-from-api': ['http', 'resources', 'store', 'transfer'],
  resources: ['audit', 'http', 'delivery', 'ical', 'store'],
  'app.ts': ['audit', 'http', 'metrics.ts', 'store'],
  'background.ts': ['config', 'delivery', 'http', 'mail', 'metrics.ts', 'resources', 'store'],
  'server.ts': [
    'api-docs',
    'app.ts',
    'audit',
    'background.ts',
    'config',
    'delivery',
    'http',
    'mail',
    'metrics.ts',
    'resources',
    'store',
    'transfer',
  ],
  cli: [
    'api-docs',
    'audit',
    'config',
    'delivery',
    'http',
    'import-from-api',
    'mail',
    'resources',
    'sdk',
    'server.ts',
    'store',
    'transfer',
  ],
  'main.ts': ['cli'],
};

const files = productSources();
const partOf = (path: string) => path.split('/')[1] ?? '';
const isOwnCode = (path: string) => /^(src|packages)\//.test(path);

test('every file of src and of the SDK imports only in the allowed directions', () => {
  const wrong: string[] = [];
  for (const { path, imports } of files) {
    const part = partOf(path);
    const mayImport = ALLOWED_IMPORTS[part];
    assert.ok(mayImport !== undefined, `${part} is new in src: list in DIRECTIONS what it may import`);
    for (const { from } of imports.filter((one) => isOwnCode(one.from))) {
      const imported = partOf(from);
      const base = BASE_PARTS.includes(imported) && part !== 'sdk';
      if (imported !== part && !base && !mayImport.includes(imported)) wrong.push(`${path} imports ${from}`);
    }
  }
  assert.deepEqual(wrong, []);
  const parts = [...new Set(files.map(({ path }) => partOf(path)))];
  assert.deepEqual(Object.keys(ALLOWED_IMPORTS).sort(), parts.sort());
});

test('every import within src resolves to a file', () => {
  const wrong = files.flatMap(({ path, imports }) =>
    imports
      .filter(({ from }) => isOwnCode(from) && !existsSync(join(root, from)))
      .map(({ from }) => `${path}: ${from}`),
  );
  assert.deepEqual(wrong, []);
});

/** Returns the imports of a package from outside its folder, except the allowed imports. */
function importsOutOf(folder: string, isAllowed: (from: string) => boolean): readonly string[] {
  const sources = sourcesBelow(`${folder}/src`).filter(isNotTest);
  assert.ok(sources.length > 10);
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ from }) => !from.startsWith(`${folder}/src/`) && !isAllowed(from))
      .map(({ from }) => `${path}: ${from}`),
  );
}

test('the SDK imports only its own files, no packages and no Node modules', () => {
  assert.deepEqual(
    importsOutOf('packages/sdk', () => false),
    [],
  );
});

test('the chaos receiver imports only its own files, Node modules and commander', () => {
  const isAllowed = (from: string) => from.startsWith('node:') || from === 'commander';
  assert.deepEqual(importsOutOf('packages/chaos-receiver', isAllowed), []);
});

test('only server.ts and background.ts import the dispatcher; carillon listen imports only the attempt', () => {
  const roots = ['src/server.ts', 'src/background.ts'];
  const machinery = [
    'dispatcher/dispatcher',
    'dispatcher/hook-queue',
    'dispatcher/queries',
    'transport/attempt',
    'maintenance/retention',
  ].map((name) => `src/delivery/${name}.ts`);
  const wrong = files
    .filter(({ path }) => !path.startsWith('src/delivery/') && !roots.includes(path))
    .flatMap(({ path, imports }) =>
      imports.filter(({ from }) => machinery.includes(from)).map(({ from }) => `${path}: ${from}`),
    );
  // `carillon listen` forwards notifications with the code that the dispatcher sends them with.
  assert.deepEqual(wrong, ['src/cli/listen/forward.ts: src/delivery/transport/attempt.ts']);
});

test('no resource imports the routes of another resource', () => {
  const wrong = files
    .filter(({ path }) => path !== 'src/resources/index.ts')
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ from }) => /^src\/resources\/\w+\/routes\.ts$/.test(from))
        .map(({ from }) => `${path}: ${from}`),
    );
  assert.deepEqual(wrong, []);
});

test('there are no import cycles in source, console, tests and benchmarks', () => {
  const all = ['src', ...packageSources, 'console/src', 'test', 'bench', 'demo'].flatMap(sourcesBelow);
  const graph = new Map(all.map(({ path, imports }) => [path, imports.map(({ from }) => from)]));
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    assert.ok(!trail.includes(path), `a cycle: ${[...trail.slice(trail.indexOf(path)), path].join(' → ')}`);
    if (done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  assert.ok(done.size >= all.length);
});

test('what a file of src or of the console exports is imported by another file', () => {
  const folders = ['src', ...packageSources, 'console', 'test', 'bench', 'demo', 'deploy', 'integrations'];
  const all = folders.flatMap(sourcesBelow);
  const wordsByPath = new Map(all.map(({ path, code }) => [path, new Set(code.match(/\w+/g))]));
  const importersByPath = new Map<string, string[]>();
  for (const { path, imports } of all) {
    for (const { from } of imports) importersByPath.set(from, [...(importersByPath.get(from) ?? []), path]);
  }
  const exports = all
    .filter(({ path }) => /^(src|console\/src)\//.test(path))
    .flatMap(({ path, code }) =>
      [...code.matchAll(/^export (?:async )?(?:const|function|class|type)\*? (\w+)/gm)].map(([, name = '']) => ({
        path,
        name,
      })),
    );
  const isImported = ({ path, name }: { readonly path: string; readonly name: string }) =>
    (importersByPath.get(path) ?? []).some((importer) => wordsByPath.get(importer)?.has(name));
  assert.ok(exports.length > 1_000, `${exports.length} exports`);
  assert.deepEqual(
    exports.filter((one) => !isImported(one)).map(({ path, name }) => `${path}: ${name}`),
    [],
  );
});

test('every package that src imports is a dependency, and every dependency is imported', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const named = files
    .flatMap(({ imports }) => imports.map(({ from }) => from))
    .filter((from) => !isOwnCode(from) && !from.startsWith('node:'))
    .map((from) =>
      from
        .split('/')
        .slice(0, from.startsWith('@') ? 2 : 1)
        .join('/'),
    );
  assert.deepEqual([...new Set(named)].sort(), Object.keys(dependencies).sort());
});

test('node:http is imported only for types, because importing it loads a second HTTP client (decision 14)', () => {
  const all = files.flatMap(({ path, imports }) =>
    imports.filter(({ from }) => ['node:http', 'http'].includes(from)).map(({ typeOnly }) => ({ path, typeOnly })),
  );
  assert.ok(all.length > 5);
  assert.deepEqual(
    all.filter(({ typeOnly }) => !typeOnly).map(({ path }) => path),
    [],
  );
});

test('a command on a database loads neither the mail client nor the SDK, so that it starts fast', () => {
  const importsByPath = new Map(files.map(({ path, imports }) => [path, imports]));
  const loaded = new Set(['src/cli/admin/accounts.ts']);
  for (const path of loaded) {
    // Dynamic imports, which have no names, load a module only when it is used.
    for (const { from, names, typeOnly } of importsByPath.get(path) ?? [])
      if (!typeOnly && names.join() !== '*') loaded.add(from);
  }
  assert.ok(loaded.has('src/config/options.ts') && loaded.has('kysely'));
  assert.deepEqual(
    [...loaded].filter((from) => from === 'nodemailer' || from.startsWith('packages/sdk/')),
    [],
  );
});

test('no file or folder has a generic name such as utils', () => {
  const everywhere = ['src', ...packageSources, 'test', 'demo', 'bench'].filter((folder) =>
    existsSync(join(root, folder)),
  );
  const paths = everywhere.flatMap((folder) => sourcesBelow(folder).map(({ path }) => path));
  const wrong = paths.filter((path) =>
    path.split('/').some((step) => /^(utils?|helpers?|lib|common|misc|shared|types|interfaces)(\.\w+)*$/.test(step)),
  );
  assert.deepEqual(wrong, []);
});

test('the folder map of ARCHITECTURE.md names every folder and top-level file of src, and every package', () => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const missing = ['src', 'packages']
    .flatMap((folder) => readdirSync(join(root, folder), { withFileTypes: true }))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => !name.endsWith('.test.ts') && !page.includes(name));
  assert.deepEqual(missing, []);
});
