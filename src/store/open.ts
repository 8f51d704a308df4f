import type { DatabaseLocation, StoreOptions } from './database-url.ts';
import type { DatabaseInspection, Store } from './store.ts';

/** Opens and migrates the database. Throws `StoreError` with one line for the operator. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { database } = options;
  // Dynamic imports load only the driver that is needed.
  switch (database.scheme) {
    case 'sqlite':
      return (await import('./sqlite/open.ts')).openStore({ ...options, database });
    case 'postgres':
      return (await import('./postgres/open.ts')).openStore({ ...options, database });
  }
}

/**
 * Inspects a database; undefined if it does not exist. Rejects if it cannot be reached or is not a database.
 *
 * @param now the time on this machine, milliseconds since the epoch
 */
export async function inspectDatabase(
  database: DatabaseLocation,
  now: () => number,
): Promise<DatabaseInspection | undefined> {
  // Dynamic imports load only the driver that is needed.
  switch (database.scheme) {
    case 'sqlite':
      return (await import('./sqlite/inspect.ts')).inspect(database);
    case 'postgres':
      return (await import('./postgres/inspect.ts')).inspect(database, now);
  }
}
