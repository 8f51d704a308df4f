import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerOptions } from './kit/environment.ts';

// Runs all tests: first test files in parallel, then the files that measure how long requests take, one at a time.
// Most suites run on SQLite only, or with `--all` on both databases (see kit/service/stores.ts).
// With `--packages`, runs only the tests of the npm packages and of the container image.
const isAll = process.argv.includes('--all');
if (isAll) process.env.TEST_STORES = 'SQLite,PostgreSQL';
const root = fileURLToPath(new URL('..', import.meta.url));
const PARALLEL_FILES = 3;
/** Number of files that share a process (see kit/group.ts). */
const GROUP_SIZE = 14;

const PACKAGE_TESTS = 'test/packages/*.test.ts';

/** Files with a process of their own: they change or measure the process, or run for long. */
const OWN_PROCESS = [
  'test/reliability/*/*.test.ts',
  'test/kit/*.test.ts',
  'test/laws/{patterns,runner}.test.ts',
  'test/stories/operations/*.test.ts',
  'test/stories/documents/*.test.ts',
  'test/properties/removal-across-nodes.test.ts',
  'src/delivery/transport/attempt.test.ts',
  'src/cli/server/serve.test.ts',
  'src/cli/admin/*.test.ts',
  'src/transfer/transfer.test.ts',
];

const folders = ['src', 'packages/*/src', 'test', 'bench'];
const allFiles = globSync(
  folders.map((below) => `${below}/**/*.test.ts`),
  { cwd: root, exclude: (path) => path.includes('node_modules') },
).sort();
const matches = (path: string, patterns: readonly string[]) => patterns.some((pattern) => matchesGlob(path, pattern));
const packageTests = allFiles.filter((path) => matches(path, [PACKAGE_TESTS]));
const files = allFiles.filter((path) => isAll || !matches(path, [PACKAGE_TESTS]));
const groupFolder = mkdtempSync(join(tmpdir(), 'carillon-groups-'));

/** Writes files that each run a group of test files. Returns their paths. */
function writeGroups(paths: readonly string[]): string[] {
  const groupModule = new URL('kit/group.ts', import.meta.url).href;
  return Array.from({ length: Math.ceil(paths.length / GROUP_SIZE) }, (_, index) => {
    const group = paths.slice(index * GROUP_SIZE, (index + 1) * GROUP_SIZE).map((path) => join(root, path));
    const file = join(groupFolder, `group-${index}.test.mjs`);
    writeFileSync(
      file,
      `import { runFiles } from '${groupModule}';\nrunFiles(${JSON.stringify(group, undefined, 2)});\n`,
    );
    return file;
  });
}

const single = files.filter((path) => matches(path, OWN_PROCESS) || matches(path, [PACKAGE_TESTS]));
const grouped = files.filter((path) => !single.includes(path));
const stages = process.argv.includes('--packages')
  ? [{ concurrency: 1, files: packageTests }]
  : [
      { concurrency: PARALLEL_FILES, files: [...single, ...writeGroups(grouped)] },
      { concurrency: 1, files: ['test/**/*.test-alone.ts'] },
    ];
let failed = false;
try {
  for (const { concurrency, files } of stages) {
    const parameters = [...runnerOptions, `--test-concurrency=${concurrency}`, ...files];
    const { status } = spawnSync(process.execPath, parameters, { cwd: root, stdio: 'inherit' });
    failed ||= status !== 0;
  }
} finally {
  rmSync(groupFolder, { recursive: true });
}
process.exit(failed ? 1 : 0);
