import { readdirSync, readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from './store.ts';

/** What differs between databases in a migration: the words in braces that each fills in. */
export type Dialect = { readonly name: string; readonly words: Readonly<Record<string, string>> };

type Migration = { readonly version: number; readonly name: string; readonly sql: string };

const folder = new URL('./migrations/', import.meta.url);

/**
 * The migrations in order, as this database reads them. Numbered from 1 without a gap; forward only. Where a database
 * needs more than the others, it stands beside, in `NNNN_name.{database}.sql`, and runs right after.
 */
export function migrations(dialect: Dialect): Migration[] {
  const files = readdirSync(folder).sort();
  const common = files.filter((file) => /^\d{4}_\w+\.sql$/.test(file));
  return common.map((file, index) => {
    const version = Number(file.slice(0, 4));
    if (version !== index + 1) throw new Error(`migration ${file} is out of order`);
    const name = file.slice(5, -4);
    const own = file.replace(/sql$/, `${dialect.name}.sql`);
    const parts = [file, ...files.filter((other) => other === own)];
    return {
      version,
      name,
      sql: parts.map((part) => fill(readFileSync(new URL(part, folder), 'utf8'), dialect)).join(''),
    };
  });
}

/** The version of a database that is up to date. */
export function newestVersion(): number {
  return readdirSync(folder).filter((file) => /^\d{4}_\w+\.sql$/.test(file)).length;
}

function fill(sql: string, dialect: Dialect): string {
  return sql.replace(/^--.*$/gm, '').replace(/\{(\w+)\}/g, (_, word: string) => {
    const meaning = dialect.words[word];
    if (meaning === undefined) throw new Error(`unknown word {${word}} in a migration`);
    return meaning;
  });
}

/**
 * Brings the database up to date in one transaction, so that a crash leaves the old version whole; two processes that
 * start together take turns. Refuses a database from a newer version.
 */
export function migrate(database: DatabaseSync, dialect: Dialect): void {
  const all = migrations(dialect);
  if (versionOf(database) === all.length) return;
  database.exec('begin immediate');
  try {
    database.exec('create table if not exists migrations (version integer primary key, name text not null) strict');
    const version = versionOf(database);
    if (version > all.length) {
      throw new StoreError(
        `The database is at version ${version}, from a newer Carillon; this one knows ${all.length}. Update Carillon.`,
      );
    }
    for (const migration of all.slice(version)) {
      database.exec(migration.sql);
      database.prepare('insert into migrations (version, name) values (?, ?)').run(migration.version, migration.name);
    }
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

/** Up to which migration a database is; 0 for an empty one. */
export function versionOf(database: DatabaseSync): number {
  const known = database.prepare("select 1 from sqlite_master where type = 'table' and name = 'migrations'").get();
  if (known === undefined) return 0;
  return Number(database.prepare('select coalesce(max(version), 0) as version from migrations').get()?.version);
}
