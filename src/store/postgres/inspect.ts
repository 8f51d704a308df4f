import { sql } from 'kysely';
import pg from 'pg';
import type { DatabaseLocation } from '../database-url.ts';
import { loadMigrations } from '../migrate.ts';
import type { DatabaseInspection, Queries } from '../store.ts';
import { createClientOptions, createQueries, createQueryFunction, parseDatabaseAddress } from './connection.ts';
import { NODE_LOCK_CLASS } from './notifier.ts';
import { dialect } from './open.ts';

/** Settings that must be on: otherwise a crash may lose or corrupt acknowledged writes. */
const REQUIRED_SETTINGS = ['fsync', 'synchronous_commit', 'full_page_writes'];

/**
 * The result of one query: version of the server, size of the database, its clock (`at`), whether it contains the
 * migrations table (`made`), and the number of connected nodes.
 */
type DatabaseFacts = { engine: string; bytes: number; at: number; made: boolean; nodes: number };

export async function inspect(
  { url }: Extract<DatabaseLocation, { scheme: 'postgres' }>,
  now: () => number,
): Promise<DatabaseInspection> {
  const { address, addressOptions } = parseDatabaseAddress(url);
  const client = new pg.Client(createClientOptions(address));
  // Ignore errors of the connection: the next query reports that it is lost.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const queries = createQueries(createQueryFunction(client, addressOptions, (error) => error));
    const { clockAheadMs, facts } = await readFacts(queries, now);
    return {
      engine: `PostgreSQL ${facts.engine}`,
      schemaVersion: facts.made ? await schemaVersionOf(queries) : 0,
      newestSchemaVersion: loadMigrations({
        ...dialect,
        templateValues: { ...dialect.templateValues, unicode: '"default"' },
      }).length,
      weakSettings: await findWeakSettings(queries),
      integrityErrors: [],
      sizeBytes: facts.bytes,
      freeBytes: undefined,
      locationProblems: [],
      clockAheadMs,
      isServiceRunning: facts.nodes > 0,
      queries,
      close: () => client.end(),
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

/**
 * Reads the facts, and compares the clocks. Assumes that the database reads its clock in the middle of the round trip.
 */
async function readFacts(queries: Queries, now: () => number): Promise<{ facts: DatabaseFacts; clockAheadMs: number }> {
  const startedAt = now();
  const { rows } = await sql<DatabaseFacts>`
    select current_setting('server_version') as engine, pg_database_size(current_database()) as bytes,
      floor(extract(epoch from clock_timestamp()) * 1000)::bigint as at, to_regclass('migrations') is not null as made,
      (select count(*) from pg_locks where locktype = 'advisory' and granted and classid::bigint = ${NODE_LOCK_CLASS}
        and objsubid = 2 and database = (select oid from pg_database where datname = current_database())) as nodes`.execute(
    queries,
  );
  const [facts] = rows;
  if (facts === undefined) throw new Error('The database did not return its version.');
  return { facts, clockAheadMs: facts.at - (startedAt + now()) / 2 };
}

async function schemaVersionOf(queries: Queries): Promise<number> {
  const { rows } = await sql<{ version: number }>`
    select coalesce(max(version), 0) as version from migrations`.execute(queries);
  return rows[0]?.version ?? 0;
}

async function findWeakSettings(queries: Queries): Promise<string[]> {
  const { rows } = await sql<{ name: string; setting: string }>`
    select name, setting from pg_settings where name in (${sql.join(REQUIRED_SETTINGS)}) order by name`.execute(
    queries,
  );
  return rows.filter(({ setting }) => setting === 'off').map(({ name }) => `${name} is off`);
}
