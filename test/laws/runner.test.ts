import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditActions } from '../../src/audit/actions.ts';
import { runnerOptions } from '../kit/environment.ts';
import { createTemporaryFolder } from '../kit/service/service.ts';
import { mutations } from '../reliability/mutations.ts';
import { productSources, root } from './source.ts';

/** Runs a test file with the options of `npm test`. */
function runTestFile(folder: string, source: string) {
  const file = join(folder, 'some.test.mjs');
  writeFileSync(file, `import { test } from 'node:test';\n${source}`);
  // Remove the variable, or the nested runner would report to the outer runner.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const limits = runnerOptions.map((word) => word.replace(/^--test-timeout=\d+$/, '--test-timeout=1000'));
  return spawnSync(process.execPath, [...limits, file], { cwd: root, env, encoding: 'utf8', timeout: 30_000 });
}

test('npm test fails when a test fails or never finishes', (t) => {
  const folder = createTemporaryFolder(t);
  assert.equal(runTestFile(folder, `test('holds', () => {});`).status, 0);

  const failed = runTestFile(folder, `test('does not hold', () => { throw new Error('no'); });`);
  assert.equal(failed.status, 1);
  assert.match(failed.stdout, /✖ does not hold/);

  const never = 'new Promise(() => {})';
  const timedOut = runTestFile(
    folder,
    `test('waits', async () => { await ${never}; });\ntest('comes after', () => {});`,
  );
  assert.equal(timedOut.status, 1);
  assert.match(timedOut.stdout, /✖ waits/);
  assert.match(timedOut.stdout, /✔ comes after/);
});

test('every mutation matches its source file exactly once (npm run prove -- mutations applies them)', () => {
  assert.ok(mutations.length > 20);
  const wrong = mutations.flatMap(({ description, file, changes, caughtBy }) => {
    const text = readFileSync(join(root, file), 'utf8');
    const misfits = changes
      .filter(([from]) => text.split(from).length !== 2)
      .map(([from]) => `${description}: ${from}`);
    return existsSync(join(root, caughtBy.file)) ? misfits : [...misfits, `${description}: no file ${caughtBy.file}`];
  });
  assert.deepEqual(wrong, []);
});

const files = productSources();

test('the audit log is append-only: no source file updates or deletes its rows', () => {
  const wrong = files.flatMap(({ path, withoutComments }) =>
    [
      /(?:updateTable|deleteFrom|replaceInto|mergeInto)\(\s*['"`]audit\b/g,
      /\b(?:update|delete\s+from|truncate(?:\s+table)?|drop\s+table|alter\s+table|replace\s+into)\s+["`]?audit\b/gi,
    ].flatMap((pattern) => [...withoutComments.matchAll(pattern)].map(([text]) => `${path}: ${text}`)),
  );
  assert.deepEqual(wrong, []);
});

test('every audit action is used in the source', () => {
  const used = new Set(
    files
      .filter(({ path }) => path !== 'src/audit/actions.ts')
      .flatMap(({ withoutComments }) =>
        [...withoutComments.matchAll(/action: '([\w.]+)'/g)].map(([, action]) => action),
      ),
  );
  const unused = Object.keys(auditActions).filter((action) => !used.has(action));
  assert.deepEqual(unused, []);
});
