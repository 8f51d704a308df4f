import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { startPostgres } from './database/postgres.ts';
import { createTemplate, dropTemplate } from './database/postgres-databases.ts';

/** Runs after all tests: drops the template, or stops the shared PostgreSQL if TEST_DATABASE_URL names no server. */
let stopDatabase = dropTemplate;

/** Folder of the compile cache, which the hundreds of processes of a run share. It halves their start-up time. */
const compileCacheFolder = new URL('../node_modules/.compiled/', import.meta.url);

export async function globalSetup(): Promise<void> {
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(compileCacheFolder);
  await useBundledKysely(compileCacheFolder);
  if (process.env.TEST_STORES === 'SQLite') return;
  if (!process.env.TEST_DATABASE_URL) {
    const server = await startPostgres();
    process.env.TEST_DATABASE_URL = server.url;
    stopDatabase = server.stop;
  }
  await createTemplate();
}

export async function globalTeardown(): Promise<void> {
  await stopDatabase();
}

/** The environment variable with the URL of the bundled Kysely, read by `preloaded.js`. */
const KYSELY_VARIABLE = 'TEST_KYSELY';

/**
 * Makes every process that starts after this call load Kysely from one bundled file. Kysely has 255 files, a third of
 * all files that a service loads, and one test run starts a thousand processes. Processes with the environment of a
 * new user (`environment.ts`) load the package unchanged.
 *
 * @param folder the folder of the bundle, reused by later runs
 */
async function useBundledKysely(folder: URL): Promise<void> {
  // The run that started this process, for example from a copy of the source, has already set the variable.
  if (process.env[KYSELY_VARIABLE] !== undefined) return;
  const entry = import.meta.resolve('kysely');
  const { version } = JSON.parse(readFileSync(new URL('../package.json', entry), 'utf8'));
  const file = new URL(`kysely-${version}.js`, folder);
  if (!existsSync(file)) await bundleKysely(fileURLToPath(entry), file, folder);
  process.env[KYSELY_VARIABLE] = file.href;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${new URL('preloaded.js', import.meta.url)}`;
}

async function bundleKysely(entry: string, file: URL, folder: URL): Promise<void> {
  const { NODE_ENV } = process.env;
  const buildResult = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: false, ssr: true, rolldownOptions: { input: entry } },
    ssr: { noExternal: true },
  });
  // Vite sets NODE_ENV to production, and npm then omits development dependencies.
  if (NODE_ENV === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = NODE_ENV;
  if (!('output' in buildResult)) throw new Error('not built');
  mkdirSync(folder, { recursive: true });
  // Another process may be bundling concurrently: write to a temporary file, then rename.
  const temporaryFile = new URL(`kysely-${process.pid}.js`, folder);
  writeFileSync(temporaryFile, buildResult.output[0].code);
  renameSync(temporaryFile, file);
}
