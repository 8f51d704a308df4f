import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runnerOptions } from './kit/environment.ts';

// Runs all tests. The reliability tests (`npm run prove`) are apart; their checkers are tested here.
// Most suites run on SQLite only, or with `--all` on both databases (see kit/service/stores.ts).
// With `--slow`, runs only the slow tests, as continuous integration does after the other ones.
const isAll = process.argv.includes('--all');
if (isAll) process.env.TEST_STORES = 'SQLite,PostgreSQL';
const root = fileURLToPath(new URL('..', import.meta.url));
/** More than the two processors of a small machine, because many tests wait. */
const PARALLEL_FILES = 4;
/** Number of files that share a process (see kit/group.ts). */
const GROUP_SIZE = 14;

/**
 * The files that take longest and that few changes can break: npm packages and the container image, commands in the
 * documents, stories of operators (several nodes, full disks, upgrades, mails), every screen, killed imports, backups,
 * large accounts, regular expressions.
 */
const SLOW_TESTS = [
  'test/packages/*.test.ts',
  'test/stories/{documents,operations}/*.test.ts',
  'test/stories/api/queries.test.ts',
  'test/properties/removal-across-nodes.test.ts',
  'test/console/{pages,hostile-text}.test.ts',
  'test/stories/api/large-data.test.ts',
  'test/laws/patterns.test.ts',
  'src/transfer/transfer.test.ts',
  'src/cli/admin/backup.test.ts',
];

/** Slow files that install packages, in the folder that they share. */
const PACKAGE_TESTS = ['test/packages/*.test.ts'];

/** Files with a process of their own, because they change or measure it, or run for long. */
const OWN_PROCESS = [
  'test/kit/*.test.ts',
  'test/laws/runner.test.ts',
  'src/delivery/transport/attempt.test.ts',
  'src/cli/server/serve.test.ts',
  'src/cli/admin/{accounts,doctor,export-import}.test.ts',
];

/** Files that share a browser, and how many of them. */
const BROWSER_TESTS = ['test/console/*.test.ts'];
const BROWSER_GROUP_SIZE = 5;

/** Files that parse the whole source. They share a process, and so parse it once. */
const LAWS = ['test/laws/*.test.ts'];

const folders = ['src', 'packages/*/src', 'test', 'bench'];
const allFiles = globSync(
  folders.map((below) => `${below}/**/*.test.ts`),
  { cwd: root, exclude: (path) => path.includes('node_modules') },
).sort();

/** Returns the files that match a pattern, and the other ones. */
function partition(files: readonly string[], patterns: readonly string[]): [string[], string[]] {
  const isMatch = (path: string) => patterns.some((pattern) => matchesGlob(path, pattern));
  return [files.filter(isMatch), files.filter((path) => !isMatch(path))];
}

/** Divides files into groups. Neighbors, which often take equally long, go to different groups. */
function groupsOf(files: readonly string[], size: number): string[][] {
  const count = Math.ceil(files.length / size);
  return Array.from({ length: count }, (_, group) => files.filter((_file, index) => index % count === group));
}

/** Free memory that tests may take for files. A run needs a tenth of it. */
const MIN_MEMORY_BYTES = 4 * 2 ** 30;

/**
 * Creates the folder for the temporary files of the run: in memory if there is enough. Tests commit thousands of
 * times, and on a disk they would mostly wait. `npm run prove` uses the disk.
 */
function createTemporaryRoot(): string {
  const memory = '/dev/shm';
  const { bavail, bsize } = existsSync(memory) ? statfsSync(memory) : { bavail: 0, bsize: 0 };
  if (bavail * bsize < MIN_MEMORY_BYTES) return mkdtempSync(join(tmpdir(), 'carillon-tests-'));
  const folder = mkdtempSync(join(memory, 'carillon-tests-'));
  // Tests write scripts and run them, which is not allowed in the memory of some containers.
  const script = join(folder, 'runs');
  writeFileSync(script, '#!/bin/sh\n', { mode: 0o700 });
  if (spawnSync(script).status === 0) return folder;
  rmSync(folder, { recursive: true });
  return mkdtempSync(join(tmpdir(), 'carillon-tests-'));
}

process.env.TEST_LASTING_FOLDER ??= tmpdir();
const temporaryRoot = createTemporaryRoot();
// PostgreSQL and services of an unprivileged user also have files in it.
chmodSync(temporaryRoot, 0o755);
process.env.TMPDIR = temporaryRoot;
let entryCount = 0;

/** Writes the file with which a process starts that runs one test file or a group. The runner takes them by name. */
function writeEntry(group: readonly string[]): string {
  entryCount += 1;
  const [first = ''] = group;
  const name = `${String(entryCount).padStart(3, '0')}-${first.replace(/\W/g, '_')}.test.mjs`;
  const paths = group.map((path) => join(root, path));
  const groupModule = new URL('kit/group.ts', import.meta.url).href;
  const source =
    group.length === 1
      ? `await import(${JSON.stringify(pathToFileURL(paths[0] ?? '').href)});\n`
      : `import { runFiles } from '${groupModule}';\nrunFiles(${JSON.stringify(paths, undefined, 2)});\n`;
  writeFileSync(join(temporaryRoot, name), source);
  return join(temporaryRoot, name);
}

const [slowTests, files] = partition(allFiles, SLOW_TESTS);
const [packageTests, otherSlowTests] = partition(slowTests, PACKAGE_TESTS);
const [own, sharing] = partition(files, OWN_PROCESS);
const [browserTests, others] = partition(sharing, BROWSER_TESTS);
const [laws, rest] = partition(others, LAWS);
/** The longest files come first, so that no processor is idle at the end. */
const entries = [
  ...groupsOf(browserTests, BROWSER_GROUP_SIZE).map(writeEntry),
  ...groupsOf(rest, GROUP_SIZE).map(writeEntry),
  writeEntry(laws),
  ...own.map((path) => writeEntry([path])),
];
const testStage = { concurrency: PARALLEL_FILES, files: entries };
const slowStages = [
  { concurrency: PARALLEL_FILES, files: otherSlowTests.map((path) => writeEntry([path])) },
  { concurrency: 1, files: packageTests },
];
const stages = process.argv.includes('--slow') ? slowStages : isAll ? [testStage, ...slowStages] : [testStage];
let failed = false;
try {
  for (const { concurrency, files } of stages) {
    const parameters = [...runnerOptions, `--test-concurrency=${concurrency}`, ...files];
    const { status } = spawnSync(process.execPath, parameters, { cwd: root, stdio: 'inherit' });
    failed ||= status !== 0;
  }
} finally {
  rmSync(temporaryRoot, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
