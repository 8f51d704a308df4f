import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closingOf, packageSources, read, sourcesBelow } from './source.ts';

test('the source reader separates code from comments and literals', () => {
  const text = [
    "import { a, type B, c as d } from './other.ts'; // import './not.ts'",
    "import type { E } from 'pack'; /* console.log() */",
    "const text = 'console.log(\\'' + \"fetch()\"; const f = `fetch(@{g(`}`, { h: 1 })}) @{i}`;".replaceAll('@', '$'),
    'const pattern = /[/"]fetch\\(/.test(text) ? 4 / 2 / 1 : `}`;',
    'test(name, () => { assert.ok(/\\)/); });',
  ].join('\n');
  const source = read('src/one/file.ts', text);
  assert.equal(source.code.length, text.length);
  assert.equal(source.spoken.length, text.length);
  assert.doesNotMatch(source.code, /console|fetch|not\.ts|['"]\w/);
  assert.match(source.code, /g\(` `, \{ h: 1 \}\)/);
  assert.match(source.code, /4 \/ 2 \/ 1/);
  assert.deepEqual(source.imports, [
    { from: 'src/one/other.ts', names: ['a', 'c'], typeOnly: false },
    { from: 'pack', names: ['E'], typeOnly: true },
  ]);
  const call = source.code.indexOf('(name');
  assert.equal(text.slice(call, closingOf(source.code, call) + 1), '(name, () => { assert.ok(/\\)/); })');
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
