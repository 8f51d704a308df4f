import { registerHooks } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Runs several test files in one process, one after the other. To start a process and to load the service takes longer
// than most test files. Files of a group import this module instead of `node:test`.

const nodeTest: typeof import('node:test') = process.getBuiltinModule('node:test');
const root = fileURLToPath(new URL('../..', import.meta.url));

type TestFunction = NonNullable<Parameters<typeof nodeTest.test>[0]>;
type TestOptions = { readonly timeout?: number };
type RegisteredTest = { readonly name: string; readonly options: TestOptions; readonly run: TestFunction };

/** The tests and hooks of the file that is loading or running. */
let tests: RegisteredTest[] = [];
let beforeHooks: (() => unknown)[] = [];
let afterHooks: (() => unknown)[] = [];

/** Registers a test of the current file, like `test` of node:test at the top level of a file. */
export function test(name: string, ...rest: [TestFunction] | [TestOptions, TestFunction]): void {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  tests.push({ name, options, run });
}

export function before(run: () => unknown): void {
  beforeHooks.push(run);
}

export function after(run: () => unknown): void {
  afterHooks.push(run);
}

export const { mock } = nodeTest;
export default test;

/** Default timeout of a test, as `--test-timeout` sets it for files with their own process. */
const TIMEOUT_MS = 120_000;

/** Longer than any file takes. With `Infinity`, `--test-timeout` would end a file instead of its slow test. */
const FILE_TIMEOUT_MS = 3_600_000;

/** Runs test files in this process. Each is reported as a test that contains the tests of the file. */
export function runFiles(paths: readonly string[]): void {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'node:test' ? { url: import.meta.url, shortCircuit: true } : next(specifier, context),
  });
  // Register all files before the first one runs. Otherwise the runner could end the process after the first one.
  for (const path of paths) {
    void nodeTest.test(relative(root, path), { timeout: FILE_TIMEOUT_MS }, async (context) => {
      [tests, beforeHooks, afterHooks] = [[], [], []];
      try {
        await import(pathToFileURL(path).href);
        for (const run of beforeHooks) await run();
        for (const { name, options, run } of tests) await context.test(name, { timeout: TIMEOUT_MS, ...options }, run);
      } finally {
        for (const run of afterHooks) await run();
      }
    });
  }
}
