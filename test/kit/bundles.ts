import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type InlineConfig, build as viteBuild } from 'vite';
import { BUNDLE_VARIABLE } from './service/entry-point.ts';

// A run starts hundreds of processes, and most of their start-up is loading files. Bundles have few files.

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The folder of the bundles, which later runs use again. */
const folder = fileURLToPath(new URL('../node_modules/.compiled/', import.meta.url));

/** Age at which bundles of earlier source or other dependencies are deleted. */
const MAX_AGE_MS = 3_600_000;

/** The environment variable with the URLs of the bundled packages as JSON, read by `preloaded.js`. */
const PACKAGES_VARIABLE = 'TEST_PACKAGES';

/**
 * Makes every process that starts after this call load each dependency of the service from one bundled file. The
 * dependencies have 500 files, two thirds of all files that a service loads. Processes with the environment of a new user
 * (`environment.ts`) load the packages unchanged.
 */
export async function useBundledPackages(): Promise<void> {
  // The run that started this process, for example from a copy of the source, has already set the variable.
  if (process.env[PACKAGES_VARIABLE] !== undefined) return;
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  // These are only loaded by one command, and imported by the paths of their files.
  const names = Object.keys(JSON.parse(manifest).dependencies).filter((name) => !name.startsWith('@'));
  const entries = new Map<string, string>();
  for (const name of names) entries.set(join(root, `${name}.entry.mjs`), await reexport(name));
  const bundle = await buildOnce('packages', ['node_modules/.package-lock.json'], {
    plugins: [
      {
        name: 'entries',
        enforce: 'pre',
        resolveId: (id) => (entries.has(id) ? id : undefined),
        load: (id) => entries.get(id),
      },
    ],
    build: {
      rolldownOptions: { input: Object.fromEntries(names.map((name) => [name, join(root, `${name}.entry.mjs`)])) },
    },
  });
  const urls = names.map((name) => [name, new URL(`file://${join(bundle, 'dist', `${name}.js`)}`).href]);
  process.env[PACKAGES_VARIABLE] = JSON.stringify(Object.fromEntries(urls));
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${new URL('preloaded.js', import.meta.url)}`;
}

/** Makes tests start the service from a bundle of its source and dependencies (see `service/entry-point.ts`). */
export async function useBundledService(): Promise<void> {
  // A copy of the source is not bundled, because its run is short.
  if (process.env[BUNDLE_VARIABLE] !== undefined) return;
  const sources = ['src/**/*.*', 'packages/sdk/src/**/*.ts', 'node_modules/.package-lock.json'];
  const bundle = await buildOnce('service', sources, {
    build: {
      rolldownOptions: { input: { main: 'src/main.ts', 'parser-process': 'src/ical/parser-process.ts' } },
    },
  });
  process.env[BUNDLE_VARIABLE] = JSON.stringify({ [root]: join(bundle, 'dist/main.js') });
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

/**
 * Builds a bundle unless there is one of the same files. Around it are the same files and folders as around the source,
 * because the service finds its own files by relative paths.
 *
 * @returns the folder of the bundle, which is in `dist`
 */
async function buildOnce(name: string, sources: readonly string[], config: InlineConfig): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)));
  for (const file of globSync(sources, { cwd: root }).sort()) hash.update(file).update(readFileSync(join(root, file)));
  const bundle = join(folder, `${name}-${hash.digest('hex').slice(0, 12)}`);
  for (const other of globSync(join(folder, `${name}-*`)))
    if (other !== bundle && Date.now() - statSync(other).mtimeMs > MAX_AGE_MS) rmSync(other, { recursive: true });
  if (existsSync(bundle)) return bundle;
  // Another process may be building concurrently: write to a temporary folder, then rename.
  const temporaryFolder = `${bundle}.${process.pid}`;
  await build(join(temporaryFolder, 'dist'), config);
  cpSync(join(root, 'src/store/migrations'), join(temporaryFolder, 'dist/migrations'), { recursive: true });
  for (const path of ['package.json', 'console']) symlinkSync(join(root, path), join(temporaryFolder, path));
  try {
    renameSync(temporaryFolder, bundle);
  } catch (error) {
    if (!existsSync(bundle)) throw error;
    rmSync(temporaryFolder, { recursive: true });
  }
  return bundle;
}

async function build(outDir: string, { build: options = {}, ...config }: InlineConfig): Promise<void> {
  const { NODE_ENV } = process.env;
  await viteBuild({
    root,
    configFile: false,
    logLevel: 'silent',
    publicDir: false,
    ssr: { noExternal: true },
    ...config,
    build: {
      outDir,
      emptyOutDir: true,
      minify: false,
      ssr: true,
      target: 'node24',
      rolldownOptions: {
        ...options.rolldownOptions,
        external: ['pg-native'],
        output: {
          // One folder, so that relative URLs still work.
          entryFileNames: '[name].js',
          chunkFileNames: '[name]-[hash].js',
          minify: { compress: false, mangle: false, codegen: true },
        },
      },
    },
  });
  // Vite sets NODE_ENV to production, and npm then omits development dependencies.
  if (NODE_ENV === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = NODE_ENV;
}
