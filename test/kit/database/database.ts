import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import pg from 'pg';
import { systemClock } from '../../../src/clock.ts';
import { createLog } from '../../../src/log.ts';
import { parseDatabaseUrl, type StoreOptions } from '../../../src/store/database-url.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { atEnd, type Cleanup } from '../cleanup.ts';
import type { Json } from '../service/service.ts';

/** Returns the options with which a test opens the store of a database. */
export function openOptionsOf(database: string): StoreOptions {
  const parsed = parseDatabaseUrl(database);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return {
    database: parsed.value,
    openAs: 'service',
    onFatal: (error) => assert.fail(String(error)),
    clock: systemClock,
    log: createLog('silent'),
    durability: 'any',
  };
}

/** Opens a store on a database and closes it when the test ends. */
export async function openStoreAt(
  context: Cleanup,
  database: string,
  options: Partial<Omit<StoreOptions, 'database'>> = {},
): Promise<Store> {
  const store = await openStore({ ...openOptionsOf(database), ...options });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= store.close();
    return closed;
  };
  atEnd(context, close);
  return { ...store, close };
}

const storeFolder = fileURLToPath(new URL('../../../src/store/', import.meta.url));
const templateFolder = fileURLToPath(new URL('../../node_modules/.compiled/', import.meta.url));

let sqliteTemplate: Promise<string> | undefined;

/**
 * Creates a SQLite database with the current schema, for a service. To copy a file takes a hundredth of the time of
 * the migrations, and a test run starts a thousand services.
 */
export async function createMigratedSqlite(path: string): Promise<void> {
  sqliteTemplate ??= createSqliteTemplate();
  copyFileSync(await sqliteTemplate, path);
}

/** Returns the path of an empty, migrated database. Later runs use it again until the code of the store changes. */
async function createSqliteTemplate(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['migrations', 'sqlite', '']) {
    for (const entry of readdirSync(join(storeFolder, folder), { withFileTypes: true }))
      if (entry.isFile()) hash.update(readFileSync(join(entry.parentPath, entry.name)));
  }
  const template = join(templateFolder, `migrated-${hash.digest('hex').slice(0, 16)}.db`);
  if (existsSync(template)) return template;
  mkdirSync(templateFolder, { recursive: true });
  // Another process may be creating it concurrently: write to a temporary file, then rename.
  const temporaryFile = `${template}.${process.pid}`;
  const store = await openStore({ ...openOptionsOf(`sqlite:${temporaryFile}`), openAs: 'command' });
  await store.close();
  renameSync(temporaryFile, template);
  return template;
}

/** Runs a query on a separate connection, concurrently with the service on the database. */
export function queryRows(database: string, query: string): Promise<Json[]> {
  return withQueryRunner(database, (runQuery) => runQuery(query));
}

/**
 * Returns all bytes of a database, to assert that a secret is not stored: the SQLite file with its WAL, or all
 * rows of all PostgreSQL tables.
 */
export async function readAllBytes(database: string): Promise<Buffer> {
  const { value } = parseDatabaseUrl(database) as { value: StoreOptions['database'] };
  if (value.scheme === 'sqlite') {
    return Buffer.concat([value.path, `${value.path}-wal`].filter(existsSync).map((file) => readFileSync(file)));
  }
  const allRows = await withQueryRunner(database, async (runQuery) => {
    // Read weekly partitions through their parent tables, because retention may drop a partition meanwhile.
    const tables = await runQuery(`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`);
    const rows: Json[][] = [];
    for (const { name } of tables) rows.push(await runQuery(`select * from "${name}"`));
    return rows;
  });
  return Buffer.from(JSON.stringify(allRows));
}

async function withQueryRunner<T>(
  database: string,
  read: (runQuery: (query: string) => Promise<Json[]>) => Promise<T>,
): Promise<T> {
  const store = await openStore({ ...openOptionsOf(database), openAs: 'command' });
  try {
    return await read(async (query) => (await sql.raw<Json>(query).execute(store.read)).rows);
  } finally {
    await store.close();
  }
}

/** Copies a closed database, as a restore with other tools would. Returns the value for `--database`. */
export async function copyDatabase(context: Cleanup, database: string): Promise<string> {
  if (database.startsWith('sqlite:')) {
    const copy = `${database}.copy`;
    copyFileSync(database.slice('sqlite:'.length), copy.slice('sqlite:'.length));
    return copy;
  }
  const url = new URL(database);
  const name = url.pathname.slice(1);
  const copy = `${name}_copy`;
  url.pathname = '/postgres';
  const runStatement = async (statement: string) => {
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  await runStatement(`create database ${copy} template ${name}`);
  atEnd(context, () => runStatement(`drop database if exists ${copy} with (force)`));
  const copyUrl = new URL(database);
  copyUrl.pathname = `/${copy}`;
  return copyUrl.href;
}
