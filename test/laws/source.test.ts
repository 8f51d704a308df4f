import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tableColumns } from '../../src/store/tables.ts';
import { closingBracketOf, packageSources, parseSource, productSources, sourcesBelow } from './source.ts';

test('the source reader separates code from comments and literals', () => {
  const text = [
    "import { a, type B, c as d } from './other.ts'; // import './not.ts'",
    "import type { E } from 'pack'; /* console.log() */",
    "const text = 'console.log(\\'' + \"fetch()\"; const f = `fetch(@{g(`}`, { h: 1 })}) @{i}`;".replaceAll('@', '$'),
    'const pattern = /[/"]fetch\\(/.test(text) ? 4 / 2 / 1 : `}`;',
    'test(name, () => { assert.ok(/\\)/); });',
  ].join('\n');
  const source = parseSource('src/one/file.ts', text);
  assert.equal(source.code.length, text.length);
  assert.equal(source.withoutComments.length, text.length);
  assert.doesNotMatch(source.code, /console|fetch|not\.ts|['"]\w/);
  assert.match(source.code, /g\(` `, \{ h: 1 \}\)/);
  assert.match(source.code, /4 \/ 2 \/ 1/);
  assert.deepEqual(source.imports, [
    { from: 'src/one/other.ts', names: ['a', 'c'], typeOnly: false },
    { from: 'pack', names: ['E'], typeOnly: true },
  ]);
  const call = source.code.indexOf('(name');
  assert.equal(text.slice(call, closingBracketOf(source.code, call) + 1), '(name, () => { assert.ok(/\\)/); })');
});

test('the source reader parses every file completely: all brackets are balanced', () => {
  for (const { path, code } of ['src', ...packageSources, 'test'].flatMap(sourcesBelow)) {
    let depth = 0;
    for (const char of code) {
      if ('([{'.includes(char)) depth += 1;
      if (')]}'.includes(char)) depth -= 1;
      assert.ok(depth >= 0, path);
    }
    assert.equal(depth, 0, path);
  }
});

/** Calls that abandon a request, although its response may have arrived. */
const ABANDONING_CALL = /\b(abort|cancel|cut|destroy|fail|give|giveUp|reject)\(/;

test('network timeouts use only startDeadline, which reads already received data before it gives up', () => {
  const found: string[] = [];
  for (const { path, code, text } of productSources()) {
    if (!/^src\/(delivery|mail)\//.test(path) || path === 'src/delivery/transport/dial.ts') continue;
    for (const { index } of code.matchAll(/\.after\(/g)) {
      const open = index + '.after'.length;
      const call = text.slice(open, closingBracketOf(code, open) + 1);
      if (ABANDONING_CALL.test(call)) found.push(`${path}: after${call}`);
    }
  }
  assert.deepEqual(found, []);
});

test('the stored timestamps that something waits for are known, because their readers must handle clock changes', () => {
  const waitedFor = Object.entries(tableColumns).flatMap(([table, columnsOfTable]) =>
    Object.keys(columnsOfTable)
      .filter((column) => /(^|_)(due|next|retry|wake|until)(_at)?$/.test(column))
      .map((column) => `${table}.${column}`),
  );
  // Their readers, remainingMs (src/delivery/dispatcher/retry-policy.ts) and claimMails (src/mail/queue.ts), treat a
  // timestamp that is further ahead than any wait as due now (decision 34).
  assert.deepEqual(waitedFor, ['hooks.due_at', 'mails.due_at']);
});
