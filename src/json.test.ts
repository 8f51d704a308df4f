import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from './json.ts';

const parse = (text: string) => parseJson(Buffer.from(text));
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test('JSON is parsed with the meaning that JSON.parse gives it', () => {
  for (const text of ['{"a":[1,{"b":null}],"c":"é"}', '[]', '7', 'null', '"\\u005f"', '\ufeff{}'])
    assert.deepEqual(parse(text), JSON.parse(text.replace('\ufeff', '')), text);
});

test('__proto__ is refused as a key at any depth, plain or escaped, and taken as a text', () => {
  for (const text of [
    '{"__proto__":1}',
    '{"a":[{"b":{"\\u005f_proto__":{}}}]}',
    '[[{"\\u005F\\u005Fproto\\u005f_":1}]]',
  ])
    assert.throws(() => parse(text), text);
  assert.deepEqual(parse('{"a":"__proto__","constructor":{"prototype":1}}'), {
    a: '__proto__',
    constructor: { prototype: 1 },
  });
});

test('lists and objects may be nested as deep as there may be values', () => {
  assert.throws(() => parse(`${'{"a":['.repeat(9_000)}{"__proto__":1}${']}'.repeat(9_000)}`), /__proto__/);
  assert.doesNotThrow(() => parse(nested(20_000)));
});

test('bytes that are no UTF-8 are refused', () => {
  assert.throws(() => parseJson(Buffer.from([0x22, 0xff, 0x22])));
});

test('C4 JSON with too many values is refused before it is parsed, and commas in strings are no values', () => {
  const values = (count: number) => `[${Array.from({ length: count }, () => '1').join(',')}]`;
  assert.equal((parse(values(20_000)) as unknown[]).length, 20_000);
  for (const text of [values(20_001), '[],'.repeat(10_001), '{"a":'.repeat(20_001), '['.repeat(20_001)]) {
    assert.throws(() => parse(text), /too many values/);
  }
  const text = `,[{"\\`.repeat(30_000);
  assert.equal(parse(JSON.stringify(text)), text);
});
