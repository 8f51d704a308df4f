import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runnerOptions } from './kit/environment.ts';

// Runs all tests: first test files in parallel, then the files that measure how long requests take, one at a time.
// Most suites run on SQLite only, or with `--all` on both databases (see kit/service/stores.ts).
if (process.argv.includes('--all')) process.env.TEST_STORES = 'SQLite,PostgreSQL';
const root = fileURLToPath(new URL('..', import.meta.url));
const PARALLEL_FILES = 3;
const stages = [
  {
    concurrency: PARALLEL_FILES,
    files: ['src', 'packages/*/src', 'test', 'bench'].map((below) => `${below}/**/*.test.ts`),
  },
  { concurrency: 1, files: ['test/**/*.test-alone.ts'] },
];
let failed = false;
for (const { concurrency, files } of stages) {
  const parameters = [...runnerOptions, `--test-concurrency=${concurrency}`, ...files];
  const { status } = spawnSync(process.execPath, parameters, { cwd: root, stdio: 'inherit' });
  failed ||= status !== 0;
}
process.exit(failed ? 1 : 0);
