import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPlainText, toPrintable, toPrintableJson } from './control-characters.ts';

const every = (...ranges: readonly (readonly [number, number])[]) =>
  ranges.flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, index) => String.fromCharCode(from + index)),
  );

const CONTROLS = every([0, 0x1f], [0x7f, 0x9f], [0x2028, 0x2029], [0x202a, 0x202e], [0x2066, 0x2069]);

test('every control character is detected and escaped for terminals', () => {
  assert.equal(CONTROLS.length, 76);
  for (const char of CONTROLS) {
    const name = `U+${char.charCodeAt(0).toString(16)}`;
    assert.equal(isPlainText(`a${char}b`), false, name);
    assert.ok(
      [...toPrintable(`a${char}b`)].every((one) => !CONTROLS.includes(one)),
      name,
    );
    const json = toPrintableJson(JSON.stringify({ [char]: `a${char}b` }));
    assert.ok(
      [...json].every((one) => !CONTROLS.includes(one)),
      name,
    );
    assert.deepEqual(JSON.parse(json), { [char]: `a${char}b` }, 'it is the same value');
  }
});

test('other text is unchanged, in every script', () => {
  for (const text of ['', 'Büro in Zürich', '日本語', 'שלום', 'مرحبا', '👩‍💻 é', 'a  b\u00a0c']) {
    assert.ok(isPlainText(text));
    assert.equal(toPrintable(text), text);
    assert.equal(toPrintableJson(JSON.stringify(text)), JSON.stringify(text));
  }
  assert.equal(toPrintable('a\r\n  b\tc'), 'a b c');
});
