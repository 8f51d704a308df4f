import type { Queries } from '../store.ts';
import { asProblem, type Extras, queriesOver, queryFunctionOf } from './connection.ts';
import type { Pool } from './pool.ts';

/** Reads of one transaction that sees the database as it was at its first query, however much is written meanwhile. */
export async function snapshot<T>(pool: Pool, extras: Extras, work: (queries: Queries) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw asProblem(error);
  });
  let broken = true;
  try {
    await client.query('begin isolation level repeatable read, read only');
    const value = await work(queriesOver(queryFunctionOf(client, extras, asProblem)));
    await client.query('commit');
    broken = false;
    return value;
  } finally {
    // Whatever is left of a transaction goes with its connection.
    client.release(broken);
  }
}
