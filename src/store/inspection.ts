import type { Queries } from './store.ts';

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
