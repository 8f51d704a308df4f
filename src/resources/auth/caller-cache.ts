import { SingleFlight } from '../../async/single-flight.ts';
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
  /** Lookups in flight. An access change forgets them, so that their results are not cached. */
  readonly #lookups = new SingleFlight<string, Entry | undefined>();
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
      this.#lookups.run(credentialsHash, loadEntry, (entry) => this.#addEntry(credentialsHash, entry))
    );
  }

  #addEntry(credentialsHash: string, entry: Entry | undefined): void {
    if (entry === undefined) return;
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
    this.#lookups.forgetRuns();
  }
}
