import { copyFileSync } from 'node:fs';
import pg from 'pg';
import { atEnd, type Cleanup } from './cleanup.ts';

/** Copies a closed database, as a restore with other tools would. Returns the value for `--database`. */
export async function copyOf(context: Cleanup, database: string): Promise<string> {
  if (database.startsWith('sqlite:')) {
    const copy = `${database}.copy`;
    copyFileSync(database.slice('sqlite:'.length), copy.slice('sqlite:'.length));
    return copy;
  }
  const url = new URL(database);
  const name = url.pathname.slice(1);
  const copy = `${name}_copy`;
  url.pathname = '/postgres';
  const run = async (statement: string) => {
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  await run(`create database ${copy} template ${name}`);
  atEnd(context, () => run(`drop database if exists ${copy} with (force)`));
  const address = new URL(database);
  address.pathname = `/${copy}`;
  return address.href;
}
