import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Cleanup } from '../cleanup.ts';
import { cleanEnvironment } from '../environment.ts';
import { createTemporaryFolder, type Json } from './service.ts';

/** An npm tarball and the paths in it. */
export type PackedPackage = { readonly tarball: string; readonly paths: readonly string[] };

/** Runs `npm pack` in the folder of a package, which builds it first. */
export async function packPackage(cwd: string, destination: string): Promise<PackedPackage> {
  const args = ['pack', '--json', '--silent', '--pack-destination', destination];
  const { stdout } = await promisify(execFile)('npm', args, { cwd, env: cleanEnvironment, maxBuffer: 2 ** 24 });
  // The build may print lines before the JSON.
  const [{ filename, files }]: Json = JSON.parse(stdout.slice(stdout.indexOf('[\n')));
  return { tarball: join(destination, filename), paths: files.map(({ path }: Json) => path) };
}

const releasesFolder = fileURLToPath(new URL('../../releases/', import.meta.url));

/** The database of a release, as SQL. */
export type Release = {
  readonly version: string;
  readonly sql: string;
  /** API keys in the database, by their names in `test/releases/make.ts`. */
  readonly keys: Readonly<Record<string, string>>;
  /** Hooks in the database, by their names in `test/releases/make.ts`. */
  readonly hooks: Readonly<Record<string, { readonly id: string }>>;
};

/** Every release, oldest first. */
export const releases: readonly Release[] = readdirSync(releasesFolder)
  .filter((file) => file.endsWith('.sql'))
  .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  .map((file) => {
    const sql = readFileSync(join(releasesFolder, file), 'utf8');
    return { version: file.slice(0, -'.sql'.length), sql, ...JSON.parse(sql.slice('-- '.length, sql.indexOf('\n'))) };
  });

/** Creates the database of a release, with `target` as the URL of its hooks. Returns its path. */
export function createReleaseDatabase(context: Cleanup, { sql }: Release, target = 'http://target.invalid'): string {
  const path = join(createTemporaryFolder(context), 'carillon.db');
  const database = new DatabaseSync(path);
  database.exec('pragma journal_mode = wal');
  database.exec(sql.replaceAll('http://target.invalid', target));
  database.close();
  return path;
}
