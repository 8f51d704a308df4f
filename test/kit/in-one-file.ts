import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/** Where a process of the tests finds Kysely, see `preloaded.js`. */
const KYSELY = 'TEST_KYSELY';

/**
 * Has every process that begins from here on load Kysely out of one file: it is 255 of them, a third of all that a process
 * of this service loads, and one run of the tests begins a thousand processes. What is started as a newcomer would start it
 * (`environment.ts`) takes the package as it came.
 *
 * @param folder where it is put, for later runs as well
 */
export async function loadInOneFile(folder: URL): Promise<void> {
  // Begun by a run that has done so: a copy of the source, for one.
  if (process.env[KYSELY] !== undefined) return;
  const entry = import.meta.resolve('kysely');
  const { version } = JSON.parse(readFileSync(new URL('../package.json', entry), 'utf8'));
  const file = new URL(`kysely-${version}.js`, folder);
  if (!existsSync(file)) await bundle(fileURLToPath(entry), file, folder);
  process.env[KYSELY] = file.href;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${new URL('preloaded.js', import.meta.url)}`;
}

async function bundle(entry: string, file: URL, folder: URL): Promise<void> {
  const { NODE_ENV } = process.env;
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: false, ssr: true, rolldownOptions: { input: entry } },
    ssr: { noExternal: true },
  });
  // Building says that all of this process is for production, and npm leaves much out then.
  if (NODE_ENV === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = NODE_ENV;
  if (!('output' in built)) throw new Error('not built');
  mkdirSync(folder, { recursive: true });
  // Others may begin at the same time.
  const own = new URL(`kysely-${process.pid}.js`, folder);
  writeFileSync(own, built.output[0].code);
  renameSync(own, file);
}
