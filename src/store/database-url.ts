import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';

/** Where everything is kept: what `--database` says. */
export type Location =
  | { readonly scheme: 'sqlite'; readonly path: string }
  | { readonly scheme: 'postgres'; readonly url: string };

/** What a store is opened with. */
export type OpenOptions<L extends Location = Location> = {
  readonly database: L;
  /** A running service holds an SQLite file against a second one; a command works beside it. */
  readonly as: 'service' | 'command';
  /** Called when the outcome of a commit is unknown or the file is corrupt; the process is expected to end. */
  readonly onFatal: (error: unknown) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a database is taken that may lose what it has confirmed. */
  readonly durability?: 'full' | 'any';
  /** The most pages an SQLite file may have; for tests of a full disk. */
  readonly maxPages?: number;
  /** What stands in for SQLite itself, with faults of its own. */
  readonly sqlite?: typeof DatabaseSync;
  /** What waiting for another process is measured by; the machine's own unless all of the world is simulated. */
  readonly beats?: Clock;
};

/** Reads `sqlite:path` or `postgres://…`. */
export function parseDatabase(text: string): { value: Location } | { fault: string } {
  if (/^postgres(ql)?:\/\//.test(text)) {
    return URL.canParse(text)
      ? { value: { scheme: 'postgres', url: text } }
      : { fault: 'must be an address such as postgres://user:password@host:5432/name' };
  }
  const path = text.startsWith('sqlite:') ? text.slice('sqlite:'.length).trim() : '';
  // SQLite itself gives these two a meaning, and none of it outlives the process or is one file.
  return path === '' || path === ':memory:' || path.startsWith('file:')
    ? { fault: 'must be sqlite: and the path of a file, such as sqlite:data/carillon.db, or postgres://…' }
    : { value: { scheme: 'sqlite', path } };
}

/** A location as it may be shown: without the password. */
export function showDatabase(database: Location): string {
  if (database.scheme === 'sqlite') return `sqlite:${database.path}`;
  const url = new URL(database.url);
  if (url.password !== '') url.password = '…';
  for (const name of url.searchParams.keys()) if (/password/i.test(name)) url.searchParams.set(name, '…');
  return decodeURI(url.href);
}
