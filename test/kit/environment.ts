/**
 * Environment variables that child processes must not inherit: variables of this repository, of npm and of node:test,
 * and variables that redirect folders.
 */
const EXCLUDED_VARIABLES = /^(npm_|NODE_(?!EXTRA_CA_CERTS$|COMPILE_CACHE$)|CARILLON_|INIT_CWD$|XDG_)/i;

/**
 * The environment for a child process that runs as if from the shell of a new user. The compile cache is kept:
 * hundreds of processes would otherwise compile the same source.
 */
export const cleanEnvironment: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !EXCLUDED_VARIABLES.test(name)),
);

/** Options of Node's test runner for all tests: preloaded modules, the timeout of a test, the shared PostgreSQL. */
export const runnerOptions: readonly string[] = [
  ...['--import', './test/kit/preload.ts'],
  ...['--test', '--test-timeout=120000', '--test-global-setup=test/kit/global-setup.ts'],
];
