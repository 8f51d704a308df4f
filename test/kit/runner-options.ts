/** Options of Node's test runner for all tests: preloaded modules, the timeout of a test, the shared PostgreSQL. */
export const runnerOptions: readonly string[] = [
  ...['--import', './test/kit/without-async-tracking.ts', '--import', './test/kit/keep-alive.ts'],
  ...['--test', '--test-timeout=120000', '--test-global-setup=test/kit/global-setup.ts'],
];
