import { readdirSync, readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from './store.ts';

/**
 * The differences between databases in migrations. In the SQL of a migration, each name in braces, such as `{id}`, is
 * replaced by its value in `templateValues`.
 */
export type Dialect = { readonly name: string; readonly templateValues: Readonly<Record<string, string>> };

type Migration = { readonly version: number; readonly name: string; readonly sql: string };

const migrationsFolder = new URL('./migrations/', import.meta.url);

/**
 * Returns the migrations for one database, in order. They are numbered from 1 without a gap, and forward only. A file
 * `NNNN_name.{database}.sql` contains SQL that only this database needs, and runs right after `NNNN_name.sql`.
 */
export function loadMigrations(dialect: Dialect): Migration[] {
  const files = readdirSync(migrationsFolder).sort();
  const commonFiles = files.filter((file) => /^\d{4}_\w+\.sql$/.test(file));
  return commonFiles.map((file, index) => {
    const version = Number(file.slice(0, 4));
    if (version !== index + 1) throw new Error(`migration ${file} is out of order`);
    const name = file.slice(5, -4);
    const dialectFile = file.replace(/sql$/, `${dialect.name}.sql`);
    const sqlFiles = [file, ...files.filter((other) => other === dialectFile)];
    return {
      version,
      name,
      sql: sqlFiles
        .map((sqlFile) => fillTemplate(readFileSync(new URL(sqlFile, migrationsFolder), 'utf8'), dialect))
        .join(''),
    };
  });
}

/** Returns the number of the newest migration. */
export function getNewestSchemaVersion(): number {
  return readdirSync(migrationsFolder).filter((file) => /^\d{4}_\w+\.sql$/.test(file)).length;
}

function fillTemplate(sql: string, dialect: Dialect): string {
  return sql.replace(/^--.*$/gm, '').replace(/\{(\w+)\}/g, (_, templateName: string) => {
    const value = dialect.templateValues[templateName];
    if (value === undefined) throw new Error(`unknown word {${templateName}} in a migration`);
    return value;
  });
}

/**
 * Migrates the database in one transaction, so a crash leaves the old version intact. Processes that start concurrently
 * wait for each other. Throws `StoreError` for a database of a newer version.
 */
export function migrate(database: DatabaseSync, dialect: Dialect): void {
  const allMigrations = loadMigrations(dialect);
  if (schemaVersionOf(database) === allMigrations.length) return;
  database.exec('begin immediate');
  try {
    database.exec('create table if not exists migrations (version integer primary key, name text not null) strict');
    const version = schemaVersionOf(database);
    if (version > allMigrations.length) {
      throw new StoreError(
        `The database is at version ${version}, from a newer Carillon; this one knows ${allMigrations.length}. Update Carillon.`,
      );
    }
    for (const migration of allMigrations.slice(version)) {
      database.exec(migration.sql);
      database.prepare('insert into migrations (version, name) values (?, ?)').run(migration.version, migration.name);
    }
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

/** Returns the number of the last applied migration; 0 for an empty database. */
export function schemaVersionOf(database: DatabaseSync): number {
  const migrationsTable = database
    .prepare("select 1 from sqlite_master where type = 'table' and name = 'migrations'")
    .get();
  if (migrationsTable === undefined) return 0;
  return Number(database.prepare('select coalesce(max(version), 0) as version from migrations').get()?.version);
}
