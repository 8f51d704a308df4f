import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
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
