import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { mutations } from '../reliability/mutations.ts';
import { root } from './source.ts';

test('every mutation matches its source file exactly once (npm run prove -- mutations applies them)', () => {
  assert.ok(mutations.length > 20);
  const wrong = mutations.flatMap(({ says, file, changes, caughtBy }) => {
    const text = readFileSync(join(root, file), 'utf8');
    const misfits = changes.filter(([from]) => text.split(from).length !== 2).map(([from]) => `${says}: ${from}`);
    return existsSync(join(root, caughtBy.file)) ? misfits : [...misfits, `${says}: no file ${caughtBy.file}`];
  });
  assert.deepEqual(wrong, []);
});
