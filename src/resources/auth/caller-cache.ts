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
export class CallerCache<Entry extends CachedCaller> {
  readonly #store: Store;
  readonly #entriesByCredentialsHash = new Map<string, Entry>();
  /** Lookups in flight. An access change removes them, so that their results are not cached. */
  readonly #activeLookups = new Map<string, Promise<Entry | undefined>>();
  /** The result of `store.externalVersion()` at the last check. It changes when another process has written. */
  #lastExternalVersion: number;

  constructor(store: Store) {
    this.#store = store;
    this.#lastExternalVersion = store.getExternalChangeNumber();
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
  findOrLoadEntry(
    credentialsHash: string,
    loadEntry: () => Promise<Entry | undefined>,
  ): Entry | Promise<Entry | undefined> {
    this.#clearIfOtherProcessWrote();
    return (
      this.#entriesByCredentialsHash.get(credentialsHash) ??
      this.#activeLookups.get(credentialsHash) ??
      this.#registerLookup(credentialsHash, loadEntry())
    );
  }

  /** Shares a lookup with concurrent requests until it ends, and then caches its result. */
  #registerLookup(credentialsHash: string, entryPromise: Promise<Entry | undefined>): Promise<Entry | undefined> {
    // A result that was read before an access change is valid for the requests that wait for it, but it must not be
    // cached.
    const isStillRegistered = () => this.#activeLookups.get(credentialsHash) === lookup;
    const lookup: Promise<Entry | undefined> = entryPromise
      .then((entry) => {
        if (entry !== undefined && isStillRegistered()) this.#addEntry(credentialsHash, entry);
        return entry;
      })
      .finally(() => {
        if (isStillRegistered()) this.#activeLookups.delete(credentialsHash);
      });
    this.#activeLookups.set(credentialsHash, lookup);
    return lookup;
  }

  #addEntry(credentialsHash: string, entry: Entry): void {
    if (this.#entriesByCredentialsHash.size >= MAX_CACHED_CALLERS) this.#clear();
    this.#entriesByCredentialsHash.set(credentialsHash, entry);
  }

  #clearIfOtherProcessWrote(): void {
    const externalVersion = this.#store.getExternalChangeNumber();
    if (externalVersion === this.#lastExternalVersion) return;
    this.#lastExternalVersion = externalVersion;
    this.#clear();
  }

  #clear(): void {
    this.#entriesByCredentialsHash.clear();
    this.#activeLookups.clear();
  }
}
