import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { test } from 'node:test';
import { benches, checkThresholds } from '../../bench/benches.ts';
import { resultOf as measured } from '../../bench/results.ts';
import { connectionVariableNames } from '../../src/cli/client/connection-options.ts';
import { createProgram } from '../../src/cli/commands.ts';
import { environmentVariableOf, options } from '../../src/config/options.ts';
import { clauses, findClauseTests, isClause } from '../conformance/clauses.ts';
import { sections } from '../conformance/rows.ts';
import { decisions, testsByClause } from '../documents/conformance.ts';
import { derivedDocuments } from '../documents/index.ts';
import { anchorOf } from '../documents/markdown.ts';
import { chartFiles, charts } from '../documents/performance-charts.ts';
import { documentedRoutes } from '../documents/routes.ts';
import { sdkFile } from '../documents/sdk.ts';
import { reliabilityTests } from '../reliability/index.ts';
import { resultOf as proved } from '../reliability/results.ts';
import { root, sourcesBelow } from './source.ts';

const IGNORED_FOLDERS = ['node_modules', 'build', 'dist', 'data'];

/** Returns the paths of the files below a folder, relative to the repository. */
function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    // Skip hidden folders of editors and git.
    const isHidden = entry.name.startsWith('.') && entry.name !== '.ci';
    if (isHidden || IGNORED_FOLDERS.includes(entry.name)) return [];
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

type MarkdownPage = { readonly path: string; readonly text: string; readonly prose: string };

/** All Markdown documents; `prose` excludes fenced code. */
const pages: readonly MarkdownPage[] = filesBelow('.')
  .filter((path) => path.endsWith('.md'))
  .map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    return { path, text, prose: text.replace(/^```.*?^```$/gms, '') };
  });

/** Returns the matches of `find` in all documents, as `path: match`. */
function findInPages(find: (page: MarkdownPage) => readonly string[]): string[] {
  return pages.flatMap((page) => find(page).map((what) => `${page.path}: ${what}`));
}

test('every row of the specification is listed once and has a clause', () => {
  const rows = sections.flatMap((section) => section.rows);
  assert.ok(rows.length > 100);
  assert.deepEqual([...new Set(rows.map((row) => row.id))].length, rows.length);
  const wrong = rows.filter((row) => !/^S\d-/.test(row.id) || row.summary === '' || row.clauses.join('') === '');
  assert.deepEqual(wrong, []);
  const unknown = rows.filter((row) => row.clauses.some((clause) => !Object.hasOwn(clauses, clause)));
  assert.deepEqual(unknown, []);
});

test('every clause has a test whose name begins with it', () => {
  const proofs = testsByClause(findClauseTests());
  const unproved = Object.keys(clauses).filter((clause) => (proofs.get(clause) ?? []).length === 0);
  assert.deepEqual(unproved, []);
});

test('every derived document is up to date (npm run docs)', () => {
  const outdated = [...derivedDocuments(), sdkFile(documentedRoutes())].filter(
    ({ path, text }) => !existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== text,
  );
  assert.deepEqual(
    outdated.map(({ path }) => path),
    [],
  );
});

test('docs/performance has six charts, light and dark, and performance.md shows all of them', () => {
  const files = filesBelow('docs/performance').map((path) => relative('docs', path));
  const page = readFileSync(join(root, 'docs/performance.md'), 'utf8');
  const shown = [...page.matchAll(/ (?:src|srcset)="([^"]+)"/g)].map((match) => match[1] ?? '');
  assert.equal(files.length, 12);
  assert.deepEqual(shown.sort(), files.sort());
});

test('charts are deterministic', () => {
  const render = () => chartFiles(Object.values(charts()));
  assert.deepEqual(render(), render());
});

test('performance.md has at most 900 words', () => {
  const page = readFileSync(join(root, 'docs/performance.md'), 'utf8');
  const words = page.split(/\s+/).filter((word) => /\w/.test(word)).length;
  assert.ok(words <= 900, `${words} words`);
});

test('every relative link leads to an existing file and heading', () => {
  const wrong = findInPages(({ path, prose, text }) =>
    [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
      .map((match) => match[1] ?? '')
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [file = '', anchor] = link.split('#');
        const target = file === '' ? path : normalize(join(dirname(path), file));
        if (!existsSync(join(root, target))) return true;
        if (anchor === undefined) return false;
        const headings = (file === '' ? text : readFileSync(join(root, target), 'utf8')).matchAll(/^#+ (.+)$/gm);
        return ![...headings].some((heading) => anchorOf(heading[1] ?? '') === anchor);
      }),
  );
  assert.deepEqual(wrong, []);
});

test('no document mentions a path of the repository that does not exist', () => {
  const mentioned =
    /`((?:src|packages|test|docs|demo|bench|proof|deploy|integrations|\.ci)\/[^`\s]*|[\w.-]+\.(?:md|json))`/g;
  const wrong = findInPages(({ path, prose }) =>
    [...prose.matchAll(mentioned)]
      .map((match) => match[1] ?? '')
      .filter((name) => !name.includes('<'))
      .filter((name) => globSync([name, join(dirname(path), name)], { cwd: root }).length === 0),
  );
  assert.deepEqual(wrong, []);
});

test('every npm command in a document is a script of package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const wrong = findInPages(({ text }) =>
    [...text.matchAll(/\bnpm (?:run (?:-s )?([\w:-]+)|(start|test)\b)/g)]
      .map((match) => match[1] ?? match[2] ?? '')
      .filter((name) => !Object.hasOwn(scripts, name)),
  );
  assert.deepEqual(wrong, []);
});

test('every carillon command in a document exists', async () => {
  const program = await createProgram(() => true);
  const isCommand = (name = '', inner = '') => {
    const command = program.commands.find((one) => one.name() === name);
    // A word after a command without subcommands is an argument.
    return command?.commands.length === 0 || command?.commands.some((one) => inner === '' || one.name() === inner);
  };
  const wrong = findInPages(({ text }) =>
    [...text.matchAll(/\bcarillon (?:-- )?(serve|accounts|users|keys|doctor|[a-z]+)(?: ([a-z][\w-]*))?(?=[ `])/g)]
      .filter((match) => match[0].startsWith('carillon -- ') || text[match.index - 1] === '`')
      .filter(([, name, inner]) => !isCommand(name, inner))
      .map(([words]) => words),
  );
  assert.deepEqual(wrong, []);
});

test('every variable in a document exists, and operating.md lists exactly the existing metrics', () => {
  const ofServe = Object.values(options).map(({ flag }) => environmentVariableOf(flag));
  const variables = new Set([...ofServe, ...connectionVariableNames]);
  const unknown = findInPages(({ text }) =>
    [...text.matchAll(/\bCARILLON_[A-Z]\w*/g)].map(([name]) => name).filter((name) => !variables.has(name)),
  );
  assert.deepEqual(unknown, []);

  const source = readFileSync(join(root, 'src/metrics.ts'), 'utf8');
  const metrics = [...source.matchAll(/name: '(carillon_\w+)'/g)].map((match) => match[1] ?? '');
  const listed = readFileSync(join(root, 'docs/operating.md'), 'utf8').match(/(?<=^\| `)carillon_\w+/gm) ?? [];
  assert.deepEqual([...listed].sort(), metrics.sort());
});

test('operating.md explains exactly the log events that the source writes', () => {
  const files = filesBelow('src').filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
  const written = files.flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/log\.\w+\(\{\s*event: '([\w.]+)'/g)].map((match) => match[1]),
  );
  const [section = ''] = /^## Logs$.*?^## /ms.exec(readFileSync(join(root, 'docs/operating.md'), 'utf8')) ?? [];
  const cells = [...section.matchAll(/^\| (`[^|]+) \|/gm)].map((match) => match[1] ?? '');
  const explained = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''));
  assert.deepEqual(explained.filter((name) => name !== 'event').sort(), [...new Set(written)].sort());
});

test('every decision is numbered in order, has all sections and at most 250 words', () => {
  const all = decisions();
  assert.ok(all.length > 30 && all.length <= 35);
  for (const [index, { file, title, text }] of all.entries()) {
    assert.ok(file.startsWith(String(index + 1).padStart(4, '0')), `${file} is out of order`);
    assert.ok(title.startsWith(`${index + 1}. `), `${file} has another number in its title`);
    const parts = [...text.matchAll(/^## (.+)\n\n\S/gm)].map((match) => match[1]);
    assert.deepEqual(parts, ['Context', 'Decision', 'Consequences'], file);
    const words = text.split(/\s+/).filter((word) => /\w/.test(word)).length;
    assert.ok(words <= 250, `${file} has ${words} words`);
  }
  const index = readFileSync(join(root, 'docs/decisions/README.md'), 'utf8');
  for (const { file } of all) assert.ok(index.includes(`(${file})`), `${file} is in the index`);
  const others = readdirSync(join(root, 'docs/decisions')).filter((file) => !all.some((one) => one.file === file));
  assert.deepEqual(others, ['README.md']);
});

test('every clause that a decision interprets exists', () => {
  const unknown = decisions().flatMap(({ file, text }) => {
    const [, names = ''] = /^\*Clauses?: (.*)\*$/m.exec(text) ?? [];
    return names
      .split(', ')
      .filter((name) => name !== '' && !isClause(name))
      .map((name) => `${file}: ${name}`);
  });
  assert.deepEqual(unknown, []);
});

test('every dependency has its reason in docs/reference/dependencies.md', () => {
  const page = readFileSync(join(root, 'docs/reference/dependencies.md'), 'utf8');
  for (const path of ['package.json', 'test/package.json', ...globSync('integrations/*/package.json', { cwd: root })]) {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(join(root, path), 'utf8'));
    const missing = Object.keys({ ...dependencies, ...devDependencies }).filter(
      (name) => !page.includes(`| \`${name}\` |`),
    );
    assert.deepEqual(missing, [], path);
  }
});

/** Folders whose row in the folder map covers their subfolders. */
const COVERED_WITH_SUBFOLDERS = [
  'src/resources',
  'src/store/migrations',
  'packages/sdk',
  'packages/chaos-receiver',
  'console/src/screens',
  'test/reliability',
  'bench/peers',
  'integrations/n8n',
  'integrations/zapier',
];

test('the folder map of ARCHITECTURE.md has every folder that contains files', () => {
  const [map = ''] = /^## Folders$.*?^## /ms.exec(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')) ?? [];
  const folders = new Set(filesBelow('.').map((path) => relative('.', dirname(path))));
  const missing = [...folders].filter((folder) => {
    if (COVERED_WITH_SUBFOLDERS.some((whole) => folder.startsWith(`${whole}/`) || folder === 'src/store/migrations'))
      return false;
    const isListed = map.includes(`\`${folder}/\``) || map.includes(`\`${folder.split('/').at(-1)}/\``);
    return folder !== '' && statSync(join(root, folder)).isDirectory() && !isListed;
  });
  assert.deepEqual(missing, []);
});

test('ARCHITECTURE.md explains at most 20 terms', () => {
  const [terms = ''] = /^## Terms$.*/ms.exec(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')) ?? [];
  const rows = terms.match(/^\| (?!Term |---)/gm) ?? [];
  assert.ok(rows.length > 10 && rows.length <= 20, `${rows.length} terms`);
});

/** Returns the ids of rows that miss a limit without a stated reason. */
function withoutReason(rows: readonly { id: string; isMissed: boolean; heldBack?: string | undefined }[]): string[] {
  return rows.filter(({ isMissed, heldBack }) => isMissed && heldBack === undefined).map(({ id }) => id);
}

test('a failing reliability test states the reason', () => {
  const rows = reliabilityTests.map((proof) => ({ ...proof, isMissed: (proved(proof)?.broken.length ?? 0) > 0 }));
  assert.deepEqual(withoutReason(rows), []);
});

test('a performance row that misses a limit states the reason', () => {
  const rows = benches.map((bench) => {
    const result = measured(bench);
    return {
      ...bench,
      isMissed: result !== undefined && checkThresholds(result).some(({ holds }) => !holds),
    };
  });
  assert.deepEqual(withoutReason(rows), []);
});

test('the check detects a row that misses a limit without a reason', () => {
  const missed = { id: 'R0', isMissed: true };
  assert.deepEqual(withoutReason([missed, { ...missed, heldBack: 'the disk' }, { id: 'R00', isMissed: false }]), [
    'R0',
  ]);
});

/** The integrations, each with the platform package that it may import. */
const platformPackages = { n8n: 'n8n-workflow', zapier: 'zapier-platform-core' };

const readManifest = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));

for (const [name, platform] of Object.entries(platformPackages)) {
  const folder = `integrations/${name}`;
  const files = sourcesBelow(folder).filter(({ path }) => !path.startsWith(`${folder}/test/`));

  test(`${folder} imports only its platform package and its own files`, () => {
    assert.ok(files.length > 5);
    const outside = files.flatMap(({ path, imports }) =>
      imports
        .filter(({ from }) => from !== platform && !from.startsWith(`${folder}/`))
        .map(({ from }) => `${path}: ${from}`),
    );
    assert.deepEqual(outside, []);
  });

  test(`${folder} sends requests only through its platform, does not use console, and suppresses no checks`, () => {
    const wrong = files.filter(
      ({ code, text }) =>
        /\bfetch\s*\(|\bconsole\s*[.[]/.test(code) ||
        /eslint-disable|biome-ignore|@ts-(?:ignore|expect-error)/.test(text),
    );
    assert.deepEqual(
      wrong.map(({ path }) => path),
      [],
    );
  });

  test(`${folder} has the version of the service, pinned dependencies and no install scripts`, () => {
    const { version, dependencies = {}, devDependencies = {}, scripts } = readManifest(folder);
    assert.equal(version, readManifest('.').version);
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, range]) => !/^\d/.test(`${range}`),
    );
    assert.deepEqual(loose, []);
    assert.deepEqual(
      Object.keys(scripts).filter((script) => /^(?:pre|post)|install|prepare/.test(script)),
      [],
    );
  });
}
