import type { Location } from './database-url.ts';
import type { Inspection } from './inspection.ts';

/**
 * Looks at a database; undefined where there is none yet. Rejects when it cannot be reached or is none.
 *
 * @param now the time on this machine, milliseconds since the epoch
 */
export async function inspect(database: Location, now: () => number): Promise<Inspection | undefined> {
  // Only what is needed is loaded.
  switch (database.scheme) {
    case 'sqlite':
      return (await import('./sqlite/inspect.ts')).inspect(database);
    case 'postgres':
      return (await import('./postgres/inspect.ts')).inspect(database, now);
  }
}
