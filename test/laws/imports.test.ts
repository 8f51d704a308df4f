import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isNoTest, packageSources, product, root, sourcesBelow } from './source.ts';

/**
 * Who may know whom: for each part of src, the parts that it may import. A part is a folder, or a file that stands
 * alone; the parts below `BASE` know nothing but each other and are known by all but the SDK,
 * which is `packages/sdk`.
 */
const BASE = [
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
const DIRECTIONS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(BASE.map((part) => [part, []])),
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
  transfer: ['store'],
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

const files = product();
const partOf = (path: string) => path.split('/')[1] ?? '';
const within = (path: string) => /^(src|packages)\//.test(path);

test('every file of src and of the SDK imports in the directions of the house alone', () => {
  const wrong: string[] = [];
  for (const { path, imports } of files) {
    const part = partOf(path);
    const mayKnow = DIRECTIONS[part];
    assert.ok(mayKnow !== undefined, `${part} is new in src: say in DIRECTIONS whom it may know`);
    for (const { from } of imports.filter((one) => within(one.from))) {
      const known = partOf(from);
      const base = BASE.includes(known) && part !== 'sdk';
      if (known !== part && !base && !mayKnow.includes(known)) wrong.push(`${path} imports ${from}`);
    }
  }
  assert.deepEqual(wrong, []);
  const parts = [...new Set(files.map(({ path }) => partOf(path)))];
  assert.deepEqual(Object.keys(DIRECTIONS).sort(), parts.sort());
});

test('every import within src leads to a file', () => {
  const wrong = files.flatMap(({ path, imports }) =>
    imports.filter(({ from }) => within(from) && !existsSync(join(root, from))).map(({ from }) => `${path}: ${from}`),
  );
  assert.deepEqual(wrong, []);
});

/** Imports of a package that lead out of its folder, but for those that are allowed. */
function importsOutOf(folder: string, isAllowed: (from: string) => boolean): readonly string[] {
  const sources = sourcesBelow(`${folder}/src`).filter(isNoTest);
  assert.ok(sources.length > 10);
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ from }) => !from.startsWith(`${folder}/src/`) && !isAllowed(from))
      .map(({ from }) => `${path}: ${from}`),
  );
}

test('the SDK imports nothing from outside its folder, no package and nothing of Node', () => {
  assert.deepEqual(
    importsOutOf('packages/sdk', () => false),
    [],
  );
});

test('the chaos receiver imports nothing from outside its folder but Node and commander', () => {
  const isAllowed = (from: string) => from.startsWith('node:') || from === 'commander';
  assert.deepEqual(importsOutOf('packages/chaos-receiver', isAllowed), []);
});

test('only the composition root knows the dispatcher and what it works with; carillon listen makes attempts', () => {
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
  // What it forwards is sent as the service would send it, and nothing else of the product reaches out.
  assert.deepEqual(wrong, ['src/cli/listen/forward.ts: src/delivery/transport/attempt.ts']);
});

test('a noun reaches another only through its actions and its schema, never through its routes', () => {
  const wrong = files
    .filter(({ path }) => path !== 'src/resources/index.ts')
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ from }) => /^src\/resources\/\w+\/routes\.ts$/.test(from))
        .map(({ from }) => `${path}: ${from}`),
    );
  assert.deepEqual(wrong, []);
});

test('there is no circle of imports, in what runs and in what tries it', () => {
  const all = ['src', ...packageSources, 'console/src', 'test', 'bench', 'demo'].flatMap(sourcesBelow);
  const graph = new Map(all.map(({ path, imports }) => [path, imports.map(({ from }) => from)]));
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    assert.ok(!trail.includes(path), `a circle: ${[...trail.slice(trail.indexOf(path)), path].join(' → ')}`);
    if (done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  assert.ok(done.size >= all.length);
});

test('every package that src imports is a dependency, and every dependency is imported', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const named = files
    .flatMap(({ imports }) => imports.map(({ from }) => from))
    .filter((from) => !within(from) && !from.startsWith('node:'))
    .map((from) =>
      from
        .split('/')
        .slice(0, from.startsWith('@') ? 2 : 1)
        .join('/'),
    );
  assert.deepEqual([...new Set(named)].sort(), Object.keys(dependencies).sort());
});

test('node:http is imported for its types alone: whatever else names it loads a second HTTP client (decision 14)', () => {
  const all = files.flatMap(({ path, imports }) =>
    imports.filter(({ from }) => ['node:http', 'http'].includes(from)).map(({ typeOnly }) => ({ path, typeOnly })),
  );
  assert.ok(all.length > 5);
  assert.deepEqual(
    all.filter(({ typeOnly }) => !typeOnly).map(({ path }) => path),
    [],
  );
});

test('no file has a name that refuses nothing', () => {
  const everywhere = ['src', ...packageSources, 'test', 'demo', 'bench'].filter((folder) =>
    existsSync(join(root, folder)),
  );
  const paths = everywhere.flatMap((folder) => sourcesBelow(folder).map(({ path }) => path));
  const wrong = paths.filter((path) =>
    path.split('/').some((step) => /^(utils?|helpers?|lib|common|misc|shared|types|interfaces)(\.\w+)*$/.test(step)),
  );
  assert.deepEqual(wrong, []);
});

test('the folder map of ARCHITECTURE.md names every folder and every lone file of src, and every package', () => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const missing = ['src', 'packages']
    .flatMap((folder) => readdirSync(join(root, folder), { withFileTypes: true }))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => !name.endsWith('.test.ts') && !page.includes(name));
  assert.deepEqual(missing, []);
});
