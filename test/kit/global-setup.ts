import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
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
  await useBundledPackages(compileCacheFolder);
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

/** The environment variable with the URLs of the bundled packages as JSON, read by `preloaded.js`. */
const PACKAGES_VARIABLE = 'TEST_PACKAGES';

/**
 * Makes every process that starts after this call load each dependency of the service from one bundled file. The
 * dependencies have 500 files, two thirds of all files that a service loads, and one test run starts a thousand
 * processes. Processes with the environment of a new user (`environment.ts`) load the packages unchanged.
 *
 * @param folder the folder of the bundles, reused by later runs
 */
async function useBundledPackages(folder: URL): Promise<void> {
  // The run that started this process, for example from a copy of the source, has already set the variable.
  if (process.env[PACKAGES_VARIABLE] !== undefined) return;
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  // These are only loaded by one command, and imported by the paths of their files.
  const names = Object.keys(JSON.parse(manifest).dependencies).filter((name) => !name.startsWith('@'));
  const hash = createHash('sha256')
    .update(readFileSync(new URL('../../node_modules/.package-lock.json', import.meta.url)))
    .update(readFileSync(fileURLToPath(import.meta.url)))
    .digest('hex')
    .slice(0, 12);
  const bundleFolder = new URL(`packages-${hash}/`, folder);
  if (!existsSync(bundleFolder)) await bundlePackages(names, bundleFolder);
  const urls = names.map((name) => [name, new URL(`${name}.js`, bundleFolder).href]);
  process.env[PACKAGES_VARIABLE] = JSON.stringify(Object.fromEntries(urls));
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${new URL('preloaded.js', import.meta.url)}`;
}

/** Returns the source of a module that exports what Node exports for an import of the package. */
async function reexport(name: string): Promise<string> {
  const names = Object.keys(await import(name));
  if (!names.includes('module.exports')) {
    return `export * from '${name}';${names.includes('default') ? ` export { default } from '${name}';` : ''}`;
  }
  const exported = names.filter((one) => one !== 'default' && one !== 'module.exports').join(', ');
  return `import all from '${name}'; export default all; export const { ${exported} } = all;`;
}

async function bundlePackages(names: readonly string[], folder: URL): Promise<void> {
  const { NODE_ENV } = process.env;
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const entries = new Map<string, string>();
  for (const name of names) entries.set(join(root, `${name}.entry.mjs`), await reexport(name));
  // Another process may be bundling concurrently: write to a temporary folder, then rename.
  const temporaryFolder = new URL(`../packages-${process.pid}/`, folder);
  await build({
    root,
    configFile: false,
    logLevel: 'silent',
    publicDir: false,
    plugins: [
      {
        name: 'entries',
        enforce: 'pre',
        resolveId: (id) => (entries.has(id) ? id : undefined),
        load: (id) => entries.get(id),
      },
    ],
    build: {
      outDir: fileURLToPath(temporaryFolder),
      minify: false,
      ssr: true,
      rolldownOptions: {
        input: Object.fromEntries(names.map((name) => [name, join(root, `${name}.entry.mjs`)])),
        external: ['pg-native'],
        output: { entryFileNames: '[name].js', minify: { compress: false, mangle: false, codegen: true } },
      },
    },
    ssr: { noExternal: true },
  });
  // Vite sets NODE_ENV to production, and npm then omits development dependencies.
  if (NODE_ENV === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = NODE_ENV;
  try {
    renameSync(temporaryFolder, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(temporaryFolder, { recursive: true });
  }
}
