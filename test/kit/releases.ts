import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from './cleanup.ts';
import { temporaryFolder } from './service.ts';

const folder = fileURLToPath(new URL('../releases/', import.meta.url));

/** The database of a release, as SQL. */
export type Release = {
  readonly version: string;
  readonly sql: string;
  /** The API keys and hooks in it, by the names in `test/releases/make.ts`. */
  readonly keys: Readonly<Record<string, string>>;
  readonly hooks: Readonly<Record<string, { readonly id: string }>>;
};

/** Every release, oldest first. */
export const releases: readonly Release[] = readdirSync(folder)
  .filter((file) => file.endsWith('.sql'))
  .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  .map((file) => {
    const sql = readFileSync(join(folder, file), 'utf8');
    return { version: file.slice(0, -'.sql'.length), sql, ...JSON.parse(sql.slice('-- '.length, sql.indexOf('\n'))) };
  });

/** Creates the database of a release, with `target` as the URL of its hooks. Returns its path. */
export function load(context: Cleanup, { sql }: Release, target = 'http://target.invalid'): string {
  const path = join(temporaryFolder(context), 'carillon.db');
  const database = new DatabaseSync(path);
  database.exec('pragma journal_mode = wal');
  database.exec(sql.replaceAll('http://target.invalid', target));
  database.close();
  return path;
}
