import type { Caller } from '../../permissions.ts';
import type { Store } from '../../store/store.ts';

/** An authenticated caller and the time of its last recorded use, in milliseconds since the epoch. */
export type CachedCaller = { readonly caller: Caller; lastUsedAt: number };

/** Maximum number of cached callers per route group. A full cache is cleared. */
const MAX_CACHED_CALLERS = 10_000;

/**
 * Caches authenticated callers by the hash of their credentials. The cache is cleared when this process commits an
 * access change (a revoked key, an ended session, a changed user) and when any other process has written, so that a
 * revocation is effective immediately.
 */
export class CallerCache<V extends CachedCaller> {
  readonly #store: Store;
  readonly #entriesByCredentials = new Map<string, V>();
  readonly #entriesByCaller = new Map<Caller, V>();
  /** Lookups in flight. An access change removes them, so that their results are not cached. */
  readonly #activeLookups = new Map<string, Promise<V | undefined>>();
  /** The result of `store.externalVersion()` at the last check. It changes when another process has written. */
  #lastExternalVersion: number;

  constructor(store: Store) {
    this.#store = store;
    this.#lastExternalVersion = store.externalVersion();
    store.onCommitted((events) => {
      if (events.hasAccessChanged) this.#clear();
    });
  }

  /**
   * Finds the caller with these credentials; the result is synchronous if it is cached. Concurrent lookups of the same
   * credentials share one query, which matters when the database is busy.
   *
   * @param credentialsHash hash of the credentials; for an API key, followed by the domain
   * @param loadEntry queries the database
   */
  findOrLoadEntry(credentials: string, loadEntry: () => Promise<V | undefined>): V | Promise<V | undefined> {
    this.#clearIfStoreChanged();
    return (
      this.#entriesByCredentials.get(credentials) ??
      this.#activeLookups.get(credentials) ??
      this.#trackLookup(credentials, loadEntry())
    );
  }

  /** Returns the cache entry of a caller; undefined if the cache was cleared since the caller was authenticated. */
  getCachedEntry(caller: Caller): V | undefined {
    this.#clearIfStoreChanged();
    return this.#entriesByCaller.get(caller);
  }

  /** Shares a lookup with concurrent requests until it ends, and then caches its result. */
  #trackLookup(credentials: string, entryPromise: Promise<V | undefined>): Promise<V | undefined> {
    // A result that was read before an access change is valid for the requests that wait for it, but it must not be
    // cached.
    const isStillRegistered = () => this.#activeLookups.get(credentials) === lookup;
    const lookup: Promise<V | undefined> = entryPromise
      .then((entry) => {
        if (entry !== undefined && isStillRegistered()) this.#addEntry(credentials, entry);
        return entry;
      })
      .finally(() => {
        if (isStillRegistered()) this.#activeLookups.delete(credentials);
      });
    this.#activeLookups.set(credentials, lookup);
    return lookup;
  }

  #addEntry(credentials: string, entry: V): void {
    if (this.#entriesByCredentials.size >= MAX_CACHED_CALLERS) this.#clear();
    this.#entriesByCredentials.set(credentials, entry);
    this.#entriesByCaller.set(entry.caller, entry);
  }

  #clearIfStoreChanged(): void {
    const externalVersion = this.#store.externalVersion();
    if (externalVersion === this.#lastExternalVersion) return;
    this.#lastExternalVersion = externalVersion;
    this.#clear();
  }

  #clear(): void {
    this.#entriesByCredentials.clear();
    this.#entriesByCaller.clear();
    this.#activeLookups.clear();
  }
}
