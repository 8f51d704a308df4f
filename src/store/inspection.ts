import type { Queries } from './store.ts';

/** The state of a database, found without creating, migrating or changing it. */
export type DatabaseInspection = {
  /** Name and version of the database engine. */
  readonly engine: string;
  /** Number of the last applied migration; 0 for an empty database. */
  readonly schemaVersion: number;
  /** Number of the newest migration that this version of Carillon knows. */
  readonly newestSchemaVersion: number;
  /** Settings with which acknowledged writes may be lost; empty for none. */
  readonly weakSettings: readonly string[];
  /** Findings of the engine's integrity check; empty for none, or if the engine has no check. */
  readonly integrityErrors: readonly string[];
  /** Size of the database in bytes. */
  readonly sizeBytes: number;
  /** Free disk space, bytes; undefined if the database is on another machine. */
  readonly freeBytes: number | undefined;
  /** Problems of the place where the database is stored, such as a network file system; empty for none. */
  readonly locationProblems: readonly string[];
  /**
   * How far the clock of the database is ahead of this machine's clock, milliseconds; undefined if they are the same
   * clock.
   */
  readonly clockAheadMs: number | undefined;
  /** Whether a service is running on the database. */
  readonly isServiceRunning: boolean;
  readonly queries: Queries;
  close(): Promise<void>;
};
