import type { Queries } from '../store.ts';
import { type AddressOptions, createQueries, createQueryFunction, toProblem } from './connection.ts';
import type { Pool } from './pool.ts';

/** Runs `work` in a repeatable-read transaction: it sees the database as of its first query. */
export async function readInSnapshot<T>(
  pool: Pool,
  addressOptions: AddressOptions,
  work: (queries: Queries) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw toProblem(error);
  });
  let hasFailed = true;
  try {
    await client.query('begin isolation level repeatable read, read only');
    const value = await work(createQueries(createQueryFunction(client, addressOptions, toProblem)));
    await client.query('commit');
    hasFailed = false;
    return value;
  } finally {
    // After an error the connection is closed, which ends the transaction.
    client.release(hasFailed);
  }
}
