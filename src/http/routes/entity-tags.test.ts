import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/kit/fast-check.ts';
import { parseEntityTags } from './entity-tags.ts';

const opaque = fc
  .string({ unit: fc.constantFrom('!', '#', 'a', 'W', '/', ',', '\\', '*', '~', '\x80', '\xff') })
  .map((text) => `"${text}"`);
const tag = fc.record({ opaque, isWeak: fc.boolean() }, { noNullPrototype: true });
const blanks = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 });
/** An element of the list in RFC 9110, 5.6.1: a tag or nothing, with optional whitespace around it. */
const element = fc.tuple(blanks, fc.option(tag, { nil: undefined }), blanks);

test('X5 every valid list is parsed into its tags, without empty elements', () => {
  fc.assert(
    fc.property(fc.array(element, { minLength: 1, maxLength: 8 }), (elements) => {
      const text = elements
        .map(([before, one, behind]) => {
          const written = one === undefined ? '' : `${one.isWeak ? 'W/' : ''}${one.opaque}`;
          return before + written + behind;
        })
        .join(',');
      const tags = elements.flatMap(([, one]) => (one === undefined ? [] : [one]));
      assert.deepEqual(parseEntityTags(text), tags.length === 0 ? undefined : tags);
    }),
  );
});

test('X5 anything but a comma and whitespace between two tags makes a list malformed', () => {
  const between = fc.constantFrom('', ' ', '\t', 'x', ', x', ',W', ',w/', '\u00a0,', ',\u00a0', ';', ', *', ',"');
  fc.assert(
    fc.property(tag, between, tag, (first, text, second) => {
      assert.equal(parseEntityTags(`${first.opaque}${text}${second.opaque}x`), undefined);
      if (!text.includes('"')) assert.equal(parseEntityTags(`${first.opaque}${text}${second.opaque}`), undefined);
    }),
  );
  for (const text of ['', ' ', ',', 'x', '*', 'W/', 'W/a', '"', '"a', 'a"', '"a b"', '"\x7f"', '"\u0100"', 'W/ "a"']) {
    assert.equal(parseEntityTags(text), undefined, text);
  }
});

test('X5 a malformed list of maximum header length is rejected quickly', () => {
  for (const part of [', ', ',', ' ', '\t,', '"",', '"a" ,', 'W/', 'W/"', '"', 'W']) {
    assert.equal(parseEntityTags(`"a"${part.repeat(16_384 / part.length)}x`), undefined, part);
  }
});
