import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { systemClock } from '../../src/clock.ts';
import { createLog } from '../../src/log.ts';
import { type OpenOptions, parseDatabase } from '../../src/store/database-url.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { Cleanup } from './cleanup.ts';
import { atEnd } from './cleanup.ts';
import type { Json } from './service.ts';

/** What a store of a test is opened with, beside its database. */
export function openingOf(database: string): OpenOptions {
  const parsed = parseDatabase(database);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return {
    database: parsed.value,
    as: 'service',
    onFatal: (error) => assert.fail(String(error)),
    clock: systemClock,
    log: createLog('silent'),
    durability: 'any',
  };
}

/** A store on a database; closed when the test ends. */
export async function openAt(
  context: Cleanup,
  database: string,
  options: Partial<Omit<OpenOptions, 'database'>> = {},
): Promise<Store> {
  const store = await openStore({ ...openingOf(database), ...options });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= store.close();
    return closed;
  };
  atEnd(context, close);
  return { ...store, close };
}

/** What a query answers, on a connection of its own, beside whatever runs on the database. */
export function rowsOf(database: string, query: string): Promise<Json[]> {
  return reading(database, (ask) => ask(query));
}

/** Every byte that a database holds, for what must not stand in it: a file with its log, or all rows of all tables. */
export async function bytesOf(database: string): Promise<Buffer> {
  const { value } = parseDatabase(database) as { value: OpenOptions['database'] };
  if (value.scheme === 'sqlite') {
    return Buffer.concat([value.path, `${value.path}-wal`].filter(existsSync).map((file) => readFileSync(file)));
  }
  const all = await reading(database, async (ask) => {
    // Their weeks are read with the tables that have such: by itself, one may just be dropped.
    const tables = await ask(`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`);
    const rows: Json[][] = [];
    for (const { name } of tables) rows.push(await ask(`select * from "${name}"`));
    return rows;
  });
  return Buffer.from(JSON.stringify(all));
}

async function reading<T>(database: string, read: (ask: (query: string) => Promise<Json[]>) => Promise<T>): Promise<T> {
  const store = await openStore({ ...openingOf(database), as: 'command' });
  try {
    return await read(async (query) => (await sql.raw<Json>(query).execute(store.read)).rows);
  } finally {
    await store.close();
  }
}
