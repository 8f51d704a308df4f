import pg from 'pg';
import { systemClock } from '../../../src/clock.ts';
import { openStore } from '../../../src/store/open.ts';
import { atEnd, type Cleanup } from '../cleanup.ts';
import { createTestClock } from '../clock.ts';
import { openOptionsOf } from './database.ts';
import { getTestServerUrl } from './postgres.ts';

/** Environment variable that passes the name of the template database to the processes of a test run. */
const TEMPLATE_VARIABLE = 'TEST_DATABASE_TEMPLATE';
/** Environment variable with the hash of the template's schema and settings. */
const SHAPE_VARIABLE = 'TEST_DATABASE_SHAPE';
/** Environment variable with the names of the template's weekly partitions. */
const PARTITIONS_VARIABLE = 'TEST_DATABASE_RANGES';

/** Size limit for reuse: to empty a larger database would take as long as to copy the template. */
const MAX_REUSED_BYTES = 32 * 1024 * 1024;

/** Timeout to terminate the remaining connections of a database. */
const CLOSE_TIMEOUT_MS = 5_000;

/** SQLSTATE codes of a rename when another process took the database first: it does not exist, or it is in use. */
const DATABASE_TAKEN_CODES = new Set(['3D000', '55006']);

/**
 * Query for a hash of everything except rows that a test could change: columns, indexes, triggers, settings,
 * migrations.
 */
const SHAPE_QUERY = `
  select md5(concat(
    (select string_agg(concat_ws(' ', relname, relkind, attname, atttypid, attnotnull, atthasdef), ',' order by relname, attnum)
       from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0
      where relnamespace = 'public'::regnamespace),
    (select string_agg(concat_ws(' ', conname, convalidated), ',' order by conname)
       from pg_constraint where connamespace = 'public'::regnamespace),
    (select string_agg(concat_ws(' ', tgname, tgenabled), ',' order by tgname) from pg_trigger where not tgisinternal),
    (select count(*) from pg_proc where pronamespace = 'public'::regnamespace),
    (select string_agg(setconfig::text, ',') from pg_db_role_setting
      where setdatabase = (select oid from pg_database where datname = current_database())),
    (select string_agg(migrations::text, ',' order by version) from migrations)
  )) as shape, pg_database_size(current_database())::float8 as bytes`;

/** Query for the names of the weekly partitions, for the real time and for the time of test clocks. */
const PARTITIONS_QUERY = `
  select relname as name from pg_class join pg_inherits on inhrelid = pg_class.oid
  where relkind = 'r' and relname ~ '_w[0-9]+$'`;

/** Deletes all rows, ignoring foreign keys. TRUNCATE and RESTART IDENTITY create new files, which is slower. */
const DELETE_ALL_ROWS = `
  do $$ declare one record; begin
    set local session_replication_role = replica;
    for one in select tablename from pg_tables where schemaname = 'public' and tablename <> 'migrations' loop
      execute format('delete from %I', one.tablename);
    end loop;
    perform setval(format('%I', sequencename)::regclass, start_value, false)
      from pg_sequences where schemaname = 'public' and last_value is not null;
  end $$`;

let databaseCount = 0;

/** Creates an empty database on the test server and drops it when the test ends. */
export async function newPostgresDatabase(context: Cleanup): Promise<string> {
  const name = createDatabaseName();
  await copyTemplate('template1', name);
  atEnd(context, () => dropDatabase(name));
  return databaseUrlOf(name);
}

/**
 * Returns a database with the current schema: a copy of the template, or an emptied database of an earlier test. When
 * the test ends, the database is emptied for reuse by any process, which is many times faster than to drop it and to
 * copy the template again.
 */
export async function newServiceDatabase(context: Cleanup): Promise<string> {
  const template = process.env[TEMPLATE_VARIABLE];
  if (template === undefined) return newPostgresDatabase(context);
  const name = createDatabaseName();
  if (!(await claimEmptiedDatabase(template, name))) await copyTemplate(template, name);
  atEnd(context, async () => {
    const isReusable =
      (await withDatabase(name, emptyDatabase)) && (await renameDatabase(name, `${template}_emptied_${name}`));
    if (!isReusable) await dropDatabase(name);
  });
  return databaseUrlOf(name);
}

/** Creates the template of service databases, with the weekly partitions that most tests need. */
export async function createTemplate(): Promise<void> {
  const name = `carillon_template_${process.pid}`;
  await runOnServer(`create database ${name}`);
  for (const clock of [systemClock, createTestClock()]) {
    const store = await openStore({ ...openOptionsOf(await databaseUrlOf(name)), openAs: 'command', clock });
    await store.close();
  }
  process.env[TEMPLATE_VARIABLE] = name;
  process.env[SHAPE_VARIABLE] = (await withDatabase(name, readShape)).shape;
  process.env[PARTITIONS_VARIABLE] = (await withDatabase(name, readPartitions)).join();
}

/** Drops the template and its copies, for a server that outlives the tests. */
export async function dropTemplate(): Promise<void> {
  const template = process.env[TEMPLATE_VARIABLE];
  if (template === undefined) return;
  for (const name of [...(await emptiedDatabasesOf(template)), template]) await dropDatabase(name);
}

function createDatabaseName(): string {
  databaseCount += 1;
  return `carillon_${process.pid}_${databaseCount}`;
}

function copyTemplate(template: string, name: string): Promise<void> {
  // The default strategy copies through the WAL, which makes creating and dropping 1.5 times as slow.
  return runOnServer(`create database ${name} template ${template} strategy file_copy`);
}

function dropDatabase(name: string): Promise<void> {
  return runOnServer(`drop database if exists ${name} with (force)`);
}

async function claimEmptiedDatabase(template: string, name: string): Promise<boolean> {
  for (const emptied of await emptiedDatabasesOf(template)) if (await renameDatabase(emptied, name)) return true;
  return false;
}

async function emptiedDatabasesOf(template: string): Promise<string[]> {
  return withConnection(await getTestServerUrl(), async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1) order by random()',
      [`${template}_emptied_`],
    );
    return rows.map(({ datname }) => datname);
  });
}

/** Takes ownership of a database. When several processes rename the same database, only one of them succeeds. */
async function renameDatabase(name: string, targetName: string): Promise<boolean> {
  try {
    await runOnServer(`alter database ${name} rename to ${targetName}`);
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && DATABASE_TAKEN_CODES.has(error.code ?? '')) return false;
    throw error;
  }
}

/**
 * Empties a database after a test.
 *
 * @returns whether the database now equals a new copy of the template; otherwise it must not be reused
 */
async function emptyDatabase(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ gone: boolean }>(`
    select pg_terminate_backend(pid, ${CLOSE_TIMEOUT_MS}) as gone from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`);
  if (rows.some(({ gone }) => !gone)) return false;
  const keptPartitions = process.env[PARTITIONS_VARIABLE]?.split(',') ?? [];
  const addedPartitions = (await readPartitions(client)).filter((range) => !keptPartitions.includes(range));
  if (addedPartitions.length > 0) await client.query(`drop table ${addedPartitions.join()}`);
  const { shape, bytes } = await readShape(client);
  if (shape !== process.env[SHAPE_VARIABLE] || bytes > MAX_REUSED_BYTES) return false;
  await client.query(DELETE_ALL_ROWS);
  return true;
}

async function readShape(client: pg.Client): Promise<{ shape: string; bytes: number }> {
  const { rows } = await client.query<{ shape: string; bytes: number }>(SHAPE_QUERY);
  if (rows[0] === undefined) throw new Error('no shape');
  return rows[0];
}

async function readPartitions(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(PARTITIONS_QUERY);
  return rows.map(({ name }) => name);
}

async function databaseUrlOf(name: string): Promise<string> {
  const url = new URL(await getTestServerUrl());
  url.pathname = `/${name}`;
  return url.href;
}

async function runOnServer(statement: string): Promise<void> {
  await withConnection(await getTestServerUrl(), (client) => client.query(statement));
}

async function withDatabase<T>(name: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withConnection(await databaseUrlOf(name), work);
}

async function withConnection<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
