import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isClause } from '../conformance/clauses.ts';
import { closingBracketOf, packageSources, root, type SourceFile, sourcesBelow } from './source.ts';

/** The clauses of the contract that need a test. */
const CLAUSES = [...Array.from({ length: 39 }, (_, index) => `C${index + 1}`), 'C41', 'C42'];

/** A test, the clauses at the beginning of its name, and its number of assertions. */
type ClauseTest = {
  readonly path: string;
  readonly name: string;
  readonly clauses: readonly string[];
  readonly asserts: number;
};

const TEST_CALL = /\b(?:test|it|describe|suite)\s*\(\s*(?=['"`])/g;
const ASSERTION_CALL = /\bassert(?:\s*\.\s*\w+)?\s*\(/g;
const FUNCTION_START = /\b(?:function\s+(\w+)\s*(?=\()|(?:const|let)\s+(\w+)\s*=\s*(?:async\s*)?(?=\())/g;

function clauseTestsIn(source: SourceFile): ClauseTest[] {
  const helpers = assertingFunctions(source);
  return [...source.code.matchAll(TEST_CALL)].map((match) => {
    const begin = match.index + match[0].length;
    const name = testNameAt(source, begin);
    const body = source.code.slice(begin, closingBracketOf(source.code, source.code.indexOf('(', match.index)));
    return { path: source.path, name, clauses: clausesOf(name), asserts: assertsIn(body, helpers) };
  });
}

function testNameAt({ text, code }: SourceFile, begin: number): string {
  const quote = text[begin] ?? '';
  return text.slice(begin + 1, code.indexOf(quote, begin + 1));
}

/** Returns the clause numbers at the beginning of a test name: C17 and C18 for `C17 C18 a target …`. */
function clausesOf(name: string): string[] {
  const [numbers = ''] = /^(?:[CX]\d+\s+)*/.exec(name) ?? [];
  return numbers.split(/\s+/).filter((number) => number !== '');
}

function assertsIn(code: string, helpers: ReadonlySet<string>): number {
  const own = [...code.matchAll(ASSERTION_CALL)].length;
  const called = [...code.matchAll(/\b(\w+)\s*\(/g)].filter(([, name = '']) => helpers.has(name)).length;
  return own + called;
}

/** Returns the names of the functions in a file that contain assertions. */
function assertingFunctions({ code }: SourceFile): Set<string> {
  const found = new Set<string>();
  for (const match of code.matchAll(FUNCTION_START)) {
    const parameters = closingBracketOf(code, code.indexOf('(', match.index + match[0].length - 1));
    const opening = code.slice(parameters).search(/[{;]/) + parameters;
    const body = code.slice(opening, closingBracketOf(code, opening));
    if (body.search(ASSERTION_CALL) >= 0) found.add(match[1] ?? match[2] ?? '');
  }
  return found;
}

function allClauseTests(): ClauseTest[] {
  const folders = ['src', ...packageSources, 'test', 'demo', 'bench'].filter((folder) =>
    existsSync(join(root, folder)),
  );
  const files = folders.flatMap(sourcesBelow).filter(({ path }) => path.endsWith('.test.ts'));
  return files.flatMap(clauseTestsIn);
}

/** Prints the number of assertions and tests by clause. */
test('every clause has a test that begins with its number and asserts something', (t) => {
  const counted = new Map(CLAUSES.map((clause) => [clause, { tests: 0, asserts: 0 }]));
  for (const { clauses, asserts } of allClauseTests()) {
    for (const clause of clauses) {
      const count = counted.get(clause);
      if (count === undefined || asserts === 0) continue;
      count.tests += 1;
      count.asserts += asserts;
    }
  }
  t.diagnostic([...counted].map(([clause, { tests, asserts }]) => `${clause} ${asserts} in ${tests}`).join(', '));
  const missing = [...counted].filter(([, { tests }]) => tests === 0).map(([clause]) => clause);
  assert.deepEqual(missing, [], `no test with an assertion proves ${missing.join(', ')}`);
});

test('every test that names a clause has an assertion', () => {
  const empty = allClauseTests().filter(({ clauses, asserts }) => clauses.length > 0 && asserts === 0);
  assert.deepEqual(
    empty.map(({ path, name }) => `${path}: ${name}`),
    [],
  );
});

test('no test names an unknown clause', () => {
  const wrong = allClauseTests().filter(({ clauses }) => clauses.some((clause) => !isClause(clause)));
  assert.deepEqual(
    wrong.map(({ path, name }) => `${path}: ${name}`),
    [],
  );
});

test('no test is marked skip, todo or only', () => {
  const files = ['src', ...packageSources, 'test']
    .flatMap(sourcesBelow)
    .filter(({ path }) => path.endsWith('.test.ts'));
  const marked = files.filter(({ code }) =>
    /\b(?:test|it|describe|suite|t)\s*\.\s*(?:skip|todo|only)\b|\b(?:skip|todo|only)\s*:/.test(code),
  );
  assert.deepEqual(
    marked.map(({ path }) => path),
    [],
  );
});
