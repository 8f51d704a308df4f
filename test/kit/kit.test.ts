import assert from 'node:assert/strict';
import { executionAsyncId } from 'node:async_hooks';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findFreePort } from './network/port.ts';
import { createTemporaryFolder } from './service/service.ts';

const preload = fileURLToPath(new URL('preload.ts', import.meta.url));

test('promises are not tracked', async () => {
  await null;
  assert.equal(executionAsyncId(), 0);
});

test('an uncaught error fails its file without naming a test, and the passing tests are still reported', (t) => {
  const file = join(createTemporaryFolder(t), 'stray.test.mjs');
  writeFileSync(
    file,
    `import { once } from 'node:events';
    import { test } from 'node:test';
    test('passes', async () => {
      const heard = once(process, 'unhandledRejection');
      void Promise.reject(new Error('not caught'));
      await heard;
    });`,
  );
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const ran = spawnSync(process.execPath, ['--import', preload, '--test', file], {
    env: environment,
    encoding: 'utf8',
  });
  assert.equal(ran.status, 1);
  assert.match(ran.stdout, /not caught/);
  assert.match(ran.stdout, /✔ passes|ok 1 - passes/);
});

test('the same port is never returned to two callers before one of them listens', async () => {
  const returnedPorts = new Set<number>();
  while (returnedPorts.size < 1_000) {
    const port = await findFreePort();
    assert.ok(!returnedPorts.has(port), `${port} was given twice, of ${returnedPorts.size}`);
    returnedPorts.add(port);
  }
});

test('in a group of files, a failed test, import and hook fail the run, and the other files still run', (t) => {
  const folder = createTemporaryFolder(t);
  const sources = {
    fails: `import { test } from 'node:test'; test('fails', () => { throw new Error('no'); }); test('second', () => {});`,
    breaks: `import { test } from 'node:test'; import './none.mjs'; test('unseen', () => {});`,
    leaks: `import { after, test } from 'node:test'; after(() => { throw new Error('kept'); }); test('third', () => {});`,
    hangs: `import { test } from 'node:test'; test('hangs', { timeout: 100 }, () => new Promise(() => {}));`,
    holds: `import { test } from 'node:test'; test('last', () => {});`,
  };
  const paths = Object.entries(sources).map(([name, source]) => {
    const path = join(folder, `${name}.mjs`);
    writeFileSync(path, source);
    return path;
  });
  const file = join(folder, 'group.test.mjs');
  const group = new URL('group.ts', import.meta.url).href;
  writeFileSync(file, `import { runFiles } from '${group}'; runFiles(${JSON.stringify(paths)});`);
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const ran = spawnSync(process.execPath, ['--import', preload, '--test', '--test-reporter=tap', file], {
    env: environment,
    encoding: 'utf8',
  });
  assert.equal(ran.status, 1);
  const results = [...ran.stdout.matchAll(/^ *((?:not )?ok) \d+ - (?:.*\/)?([\w.]+)/gm)].map(
    ([, ok, name]) => `${ok} ${name}`,
  );
  assert.deepEqual(results, [
    ...['not ok fails', 'ok second', 'not ok fails.mjs', 'not ok breaks.mjs', 'ok third', 'not ok leaks.mjs'],
    ...['not ok hangs', 'not ok hangs.mjs', 'ok last', 'ok holds.mjs'],
  ]);
});
