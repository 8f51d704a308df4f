import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTROL_CHARACTERS } from '../../src/control-characters.ts';
import type { JsonSchema } from '../../src/http/fields/field.ts';
import { apiRoutes, consoleOnlyRoutes, publicRoutes } from '../kit/api/routes.ts';
import { productSources } from './source.ts';

/** The only files that write to standard output or standard error. Both files escape control characters. */
const WRITER_FILES = ['src/cli/output/screen.ts', 'src/log-writer.ts'];

const WRITE_CALLS = [
  /\bprocess\s*\??\.\s*(?:stdout|stderr)\b/g,
  /\bconsole\s*\.\s*\w+/g,
  /\b(?:writeSync|writeFileSync|appendFileSync|createWriteStream)\s*\(\s*(?:[12]\b|['"]\/dev\/(?:std|tty))/g,
];

test('all output goes through screen.ts and all log lines through log-writer.ts, which escape control characters', () => {
  const found = productSources().flatMap(({ path, code, withoutComments }) =>
    [
      ...WRITE_CALLS.slice(0, 2).flatMap((way) => [...code.matchAll(way)]),
      ...withoutComments.matchAll(WRITE_CALLS[2] ?? /$^/g),
    ].map(([text]) => ({ path, text })),
  );
  assert.deepEqual(
    found.filter(({ path }) => !WRITER_FILES.includes(path)),
    [],
  );
  assert.deepEqual([...new Set(found.map(({ path }) => path))].sort(), WRITER_FILES, 'the check finds the writers');
});

test('C4 every label and email field rejects control characters, in all route groups', () => {
  const named: { name: string; schema: JsonSchema; where: string }[] = [];
  for (const { method, path, bodySchema } of [...apiRoutes, ...consoleOnlyRoutes, ...publicRoutes]) {
    const { properties = {} } = (bodySchema ?? {}) as { properties?: Readonly<Record<string, JsonSchema>> };
    for (const [name, schema] of Object.entries(properties))
      if (/(?:^|_)(?:label|email)$/.test(name)) named.push({ name, schema, where: `${method} ${path}` });
  }
  assert.ok(named.length >= 10, `only ${named.length} found`);
  const controls = Array.from({ length: 0x2100 }, (_, code) => String.fromCharCode(code)).filter((char) =>
    new RegExp(`[${CONTROL_CHARACTERS}]`).test(char),
  );
  assert.equal(controls.length, 76);
  for (const { name, schema, where } of named) {
    const pattern = new RegExp(String(schema.pattern), 'u');
    const good = name.endsWith('email') ? 'a@b.test' : 'for the calendar';
    assert.ok(pattern.test(good), where);
    for (const char of controls) {
      const code = char.charCodeAt(0).toString(16);
      for (const text of [char + good, good + char, good.replace('b', `b${char}`)])
        if (text !== good) assert.ok(!pattern.test(text), `${where}: ${name} takes U+${code}`);
    }
  }
});
