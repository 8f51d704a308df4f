import type { DatabaseLocation } from './database-url.ts';
import type { DatabaseInspection } from './inspection.ts';

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
