import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from './json.ts';

const parse = (text: string) => parseJson(Buffer.from(text));
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test('JSON is parsed like JSON.parse does', () => {
  for (const text of ['{"a":[1,{"b":null}],"c":"é"}', '[]', '7', 'null', '"\\u005f"', '\ufeff{}'])
    assert.deepEqual(parse(text), JSON.parse(text.replace('\ufeff', '')), text);
});

test('__proto__ is rejected as a key at any depth, plain or escaped, and accepted as a value', () => {
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

test('lists and objects may be nested to any depth and repeated any number of times', () => {
  assert.throws(() => parse(`${'{"a":['.repeat(10_000)}{"__proto__":1}${']}'.repeat(10_000)}`));
  assert.doesNotThrow(() => parse(nested(30_000)));
  assert.equal((parse(`[${'[],'.repeat(200_000)}1]`) as unknown[]).length, 200_001);
});

test('bytes that are not UTF-8 are rejected', () => {
  assert.throws(() => parseJson(Buffer.from([0x22, 0xff, 0x22])));
});
