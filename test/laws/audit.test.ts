import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditActions } from '../../src/audit/actions.ts';
import { product } from './source.ts';

const files = product();

test('the audit log is append-only: no source file updates or deletes its rows', () => {
  const wrong = files.flatMap(({ path, spoken }) =>
    [
      /(?:updateTable|deleteFrom|replaceInto|mergeInto)\(\s*['"`]audit\b/g,
      /\b(?:update|delete\s+from|truncate(?:\s+table)?|drop\s+table|alter\s+table|replace\s+into)\s+["`]?audit\b/gi,
    ].flatMap((pattern) => [...spoken.matchAll(pattern)].map(([text]) => `${path}: ${text}`)),
  );
  assert.deepEqual(wrong, []);
});

test('every audit action is used in the source', () => {
  const used = new Set(
    files
      .filter(({ path }) => path !== 'src/audit/actions.ts')
      .flatMap(({ spoken }) => [...spoken.matchAll(/action: '([\w.]+)'/g)].map(([, action]) => action)),
  );
  const unused = Object.keys(auditActions).filter((action) => !used.has(action));
  assert.deepEqual(unused, []);
});
