import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';

/** The parsed value of the option `--database`. */
export type DatabaseLocation =
  | { readonly scheme: 'sqlite'; readonly path: string }
  | { readonly scheme: 'postgres'; readonly url: string };

export type StoreOptions<L extends DatabaseLocation = DatabaseLocation> = {
  readonly database: L;
  /**
   * The kind of process that opens the database. A service locks an SQLite file against a second service; a command
   * can run at the same time as a service.
   */
  readonly openAs: 'service' | 'command';
  /** Called when the outcome of a commit is unknown or the file is corrupt; the process is expected to end. */
  readonly onFatal: (error: unknown) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** `any` accepts a database with settings that may lose acknowledged writes. */
  readonly durability?: 'full' | 'any';
  /** Maximum pages of an SQLite file, for tests of a full disk. */
  readonly maxPages?: number;
  /** Replaces SQLite in simulations that inject faults. */
  readonly sqlite?: typeof DatabaseSync;
  /** Real-time clock for timeouts and heartbeats; replaced only in a full simulation. */
  readonly realClock?: Clock;
};

/** Parses `sqlite:path` or `postgres://…`. */
export function parseDatabaseUrl(text: string): { value: DatabaseLocation } | { fault: string } {
  if (/^postgres(ql)?:\/\//.test(text)) {
    return URL.canParse(text)
      ? { value: { scheme: 'postgres', url: text } }
      : { fault: 'must be an address such as postgres://user:password@host:5432/name' };
  }
  const path = text.startsWith('sqlite:') ? text.slice('sqlite:'.length).trim() : '';
  // For SQLite, `:memory:` and `file:` have a special meaning: they do not name a single persistent file.
  return path === '' || path === ':memory:' || path.startsWith('file:')
    ? { fault: 'must be sqlite: and the path of a file, such as sqlite:data/carillon.db, or postgres://…' }
    : { value: { scheme: 'sqlite', path } };
}

/** Formats a location for display, without its password. */
export function formatDatabaseLocation(database: DatabaseLocation): string {
  if (database.scheme === 'sqlite') return `sqlite:${database.path}`;
  const url = new URL(database.url);
  if (url.password !== '') url.password = '…';
  for (const name of url.searchParams.keys()) if (/password/i.test(name)) url.searchParams.set(name, '…');
  return decodeURI(url.href);
}
