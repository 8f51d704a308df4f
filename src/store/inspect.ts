import type { Location } from './database-url.ts';
import type { Queries } from './store.ts';

/**
 * Inspects a database; undefined if it does not exist. Rejects if it cannot be reached or is not a database.
 *
 * @param now the time on this machine, milliseconds since the epoch
 */
export async function inspect(database: Location, now: () => number): Promise<Inspection | undefined> {
  // Loads only the driver that is needed.
  switch (database.scheme) {
    case 'sqlite':
      return (await import('./sqlite/inspect.ts')).inspect(database);
    case 'postgres':
      return (await import('./postgres/inspect.ts')).inspect(database, now);
  }
}

/** The state of a database, found without creating, migrating or changing it. */
export type Inspection = {
  /** Name and version of the database engine. */
  readonly engine: string;
  /** The last applied migration (0: empty), and the newest that this version of Carillon knows. */
  readonly version: number;
  readonly newest: number;
  /** Settings that may lose acknowledged writes; empty for none. */
  readonly weak: readonly string[];
  /** Findings of the engine's integrity check; empty for none, or if the engine has no check. */
  readonly problems: readonly string[];
  readonly bytes: number;
  /** Free disk space, bytes; undefined if the database is on another machine. */
  readonly freeBytes: number | undefined;
  /** Problems of its location, such as a network file system; empty for none. */
  readonly place: readonly string[];
  /** How far its clock is ahead of this machine's, milliseconds; undefined if it is the same clock. */
  readonly clockAheadMs: number | undefined;
  /** Whether a service is running on it. */
  readonly isServed: boolean;
  readonly queries: Queries;
  close(): Promise<void>;
};
