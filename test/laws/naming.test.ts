import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { parseSync } from 'vite';
import { isNotTest, packageSources, parseSource, type SourceFile, sourcesBelow } from './source.ts';

const serviceSources = ['src', ...packageSources].flatMap(sourcesBelow);
const allSources = ['src', 'packages', 'console/src', 'test', 'bench', 'integrations', 'demo'].flatMap(sourcesBelow);

/** Maximum number of source files, and of tests, in one folder. Tests do not count as source files. */
const MAX_FILES_PER_FOLDER = 20;

type SourceComment = { readonly line: number; readonly text: string };

/** Returns the comments of a file. Consecutive `//` lines are one comment. */
function commentsOf({ text, withoutComments }: SourceFile): SourceComment[] {
  const lines = text.split('\n');
  const code = withoutComments.split('\n');
  const comments: { line: number; text: string; end: number }[] = [];
  let isOpen = false;
  for (const [index, line] of lines.entries()) {
    const from = [...line].findIndex((char, at) => char !== ' ' && code[index]?.[at] === ' ');
    if (from < 0) continue;
    const comment = line.slice(from);
    const last = comments.at(-1);
    const continues = last?.end === index - 1 && (isOpen || (/^\s*\/\//.test(line) && !last.text.startsWith('/*')));
    if (!isOpen && comment.startsWith('/*')) isOpen = true;
    if (continues && last !== undefined) {
      last.text += `\n${comment}`;
      last.end = index;
    } else comments.push({ line: index + 1, text: comment, end: index });
    if (comment.includes('*/')) isOpen = false;
  }
  return comments;
}

/** Everyday words that comments once used in place of a standard term. */
const VAGUE_WORDS = /\b(?:whoever|nobody|told|owed|so\s(?:\*\s)?many|beside)\b/i;
const BEGINS_WITH_WHAT = /^\/[/*]\*?\s*(?:\*\s*)?What\b/;

function unclearComments(source: SourceFile): string[] {
  return commentsOf(source)
    .filter(({ text }) => VAGUE_WORDS.test(text) || BEGINS_WITH_WHAT.test(text))
    .map(({ line }) => `${source.path}:${line}`);
}

test('comments name things: none begins with "What", and none uses a vague word for a standard term', () => {
  assert.deepEqual(serviceSources.flatMap(unclearComments), []);
  const sample = [
    "const text = 'told'; // Fine: a text is no comment.",
    '/** What is sent. */',
    '/**',
    ' * What is sent.',
    ' */',
    '// Sent to whoever',
    '// has asked.',
    '// What stands first',
    'const other = 1; // owed',
  ];
  const found = unclearComments(parseSource('sample.ts', sample.join('\n')));
  assert.deepEqual(found, ['sample.ts:2', 'sample.ts:3', 'sample.ts:6', 'sample.ts:9']);
});

const BOUNDS_BY_OTHER_NAMES =
  /\b(?:MOST|LONGEST|LARGEST|LEAST|SHORTEST|FEWEST|OLDEST|WIDEST|HIGHEST)_[A-Z]\w*|\b[A-Z][A-Z0-9]*_AN?_[A-Z]\w*/g;

test('a limit is MAX_ or MIN_, a batch size X_PER_Y, in every source', () => {
  assert.deepEqual('MOST_ROWS MAX_ROWS ROWS_A_WRITE ROWS_PER_WRITE'.match(BOUNDS_BY_OTHER_NAMES), [
    'MOST_ROWS',
    'ROWS_A_WRITE',
  ]);
  const found = allSources.flatMap(({ path, code }) =>
    [...code.matchAll(BOUNDS_BY_OTHER_NAMES)].map(([name]) => `${path}: ${name}`),
  );
  assert.deepEqual(found, []);
});

test('no folder has more than 20 source files, or more than 20 tests', () => {
  const sources = allSources.filter(isNotTest);
  const tests = allSources.filter((source) => !isNotTest(source));
  for (const files of [sources, tests]) {
    const perFolder = Map.groupBy(files, ({ path }) => dirname(path));
    const crowded = [...perFolder].filter(([, paths]) => paths.length > MAX_FILES_PER_FOLDER);
    assert.deepEqual(
      crowded.map(([folder, paths]) => `${folder}: ${paths.length}`),
      [],
    );
  }
});

/** Maximum number of lines of a file, also in the console. */
const MAX_FILE_LINES = 300;
const MAX_FUNCTION_LINES = 60;
const MAX_TYPE_PARAMETERS = 3;
/** Maximum number of casts that the compiler cannot check: `as never` and `as unknown as`. */
const MAX_UNCHECKED_CASTS = 5;

/** Files and functions that may be longer, and why. */
const LONG_ONES: Readonly<Record<string, string>> = {
  'src/store/tables.ts': 'the table of all columns',
  'src/config/options.ts': 'the table of all options',
  'src/server.ts': 'composition of the service, in order',
  'packages/sdk/src/resources.ts': 'the types of all resources, which npm run docs writes',
  'src/app.ts: createApp': 'composition of the HTTP app, in order',
  'src/server.ts: startService': 'composition of the service, in order',
  'src/metrics.ts: createMetrics': 'the table of all metrics',
  'src/delivery/transport/attempt.ts: sendWebhook': 'one exchange, whose callbacks share its state',
  'src/store/sqlite/open.ts: createStore': 'composition of the store',
  'src/store/postgres/open.ts: createStore': 'composition of the store',
  'src/resources/core/define-resource.ts: defineResource': 'an object with one method for each operation',
  'src/resources/hooks/routes.ts: createHookRoutes': 'a list of route definitions',
  'packages/sdk/src/receiver/receiver.ts: createReceiver': 'an object with its methods, which share its state',
  'packages/sdk/src/receiver/handle-notification.ts: createNotificationHandler':
    'a function with helpers that share its state',
  'src/resources/keys/authenticate.ts: createKeyAuthenticator': 'a function with helpers that share its cache',
};

type AstNode = {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [name: string]: unknown;
};

const isNode = (value: unknown): value is AstNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;

/** Calls `visit` with each node of a syntax tree, and with the name of the declaration around it. */
function walk(node: unknown, visit: (node: AstNode, name: string) => void, name = ''): void {
  if (Array.isArray(node)) {
    for (const one of node) walk(one, visit, name);
    return;
  }
  if (!isNode(node)) return;
  const declared = [node.id, node.key].find((one) => isNode(one) && typeof one.name === 'string');
  const own = isNode(declared) ? String(declared.name) : name;
  visit(node, own);
  for (const [key, child] of Object.entries(node)) if (key !== 'parent') walk(child, visit, own);
}

const isLongFile = ({ text }: SourceFile) => text.split('\n').length - 1 > MAX_FILE_LINES;

/** Lists the declarations of a file that are longer than allowed, as `path: name`, and counts its unchecked casts. */
function measureSource({ path, text }: SourceFile): { long: string[]; castCount: number } {
  const lineCount = (from: number, to: number) => text.slice(from, to).split('\n').length;
  const long: string[] = [];
  let castCount = 0;
  walk(parseSync(path, text).program, (node, name) => {
    if (/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type))
      if (isNode(node.body) && lineCount(node.start, node.end) > MAX_FUNCTION_LINES) long.push(`${path}: ${name}`);
    if (
      node.type === 'TSTypeParameterDeclaration' &&
      Array.isArray(node.params) &&
      node.params.length > MAX_TYPE_PARAMETERS
    )
      long.push(`${path}: ${name} (type parameters)`);
    if (node.type === 'TSAsExpression' && isNode(node.typeAnnotation)) {
      const isUnchecked = ['TSNeverKeyword', 'TSUnknownKeyword'].includes(node.typeAnnotation.type);
      if (isUnchecked) castCount += 1;
    }
  });
  return { long, castCount };
}

test('files, functions and lists of type parameters are short, with listed exceptions, and casts are checked', () => {
  const longFiles = [...serviceSources, ...sourcesBelow('console/src')].filter(isNotTest).filter(isLongFile);
  const measured = serviceSources.filter(isNotTest).map(measureSource);
  const long = new Set([...longFiles.map(({ path }) => path), ...measured.flatMap((one) => one.long)]);
  assert.deepEqual([...long].sort(), Object.keys(LONG_ONES).sort());
  const castCount = measured.reduce((sum, one) => sum + one.castCount, 0);
  assert.ok(castCount <= MAX_UNCHECKED_CASTS, `${castCount} unchecked casts`);

  const sample = `const long = () => {${'\n'.repeat(MAX_FUNCTION_LINES)}};\nfunction wide<A, B, C, D>() { return 1 as unknown as never; }`;
  assert.deepEqual(measureSource(parseSource('src/http/sample.ts', sample)), {
    long: ['src/http/sample.ts: long', 'src/http/sample.ts: wide (type parameters)'],
    castCount: 2,
  });
  const isLong = (lineCount: number) => isLongFile(parseSource('sample.ts', '\n'.repeat(lineCount)));
  assert.deepEqual([MAX_FILE_LINES, MAX_FILE_LINES + 1].map(isLong), [false, true]);
});
