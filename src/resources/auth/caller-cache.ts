import type { Caller } from '../../permissions.ts';
import type { Store } from '../../store/store.ts';

/** Who was let in, and when they last came. */
export type CachedCaller = { readonly caller: Caller; lastUsed: number };

/** Callers that are remembered at the most, of each door. */
const MAX_CACHED = 10_000;

/**
 * Who was let in, by what they showed (hashed), for as long as nothing has changed that could matter: no key revoked, no
 * session ended and no user changed here, nothing at all changed by another process. So what is taken away is taken away
 * at once.
 */
export class CallerCache<V extends CachedCaller> {
  readonly #store: Store;
  readonly #visitors = new Map<string, V>();
  readonly #byCaller = new Map<Caller, V>();
  /** Who is being asked for, since nothing has changed. */
  readonly #lookups = new Map<string, Promise<V | undefined>>();
  #foreignVersion: number;

  constructor(store: Store) {
    this.#store = store;
    this.#foreignVersion = store.externalVersion();
    store.onCommitted((news) => {
      if (news.access) this.#clear();
    });
  }

  /**
   * Whoever shows this: at once if they are known. The database is asked once, however many show it meanwhile: where it has
   * much to do, each of them would wait for an answer of its own.
   *
   * @param shown the hash of what they show, and whatever belongs to it
   * @param ask asks the database
   */
  find(shown: string, ask: () => Promise<V | undefined>): V | Promise<V | undefined> {
    this.#invalidateIfChanged();
    return this.#visitors.get(shown) ?? this.#lookups.get(shown) ?? this.#lookUp(shown, ask());
  }

  /** The same, by who it is; undefined if anything has changed since this caller was let in. */
  of(caller: Caller): V | undefined {
    this.#invalidateIfChanged();
    return this.#byCaller.get(caller);
  }

  #lookUp(shown: string, asking: Promise<V | undefined>): Promise<V | undefined> {
    // What was read before something changed is good for those alone who came before that.
    const isOn = () => this.#lookups.get(shown) === asked;
    const asked: Promise<V | undefined> = asking
      .then((visitor) => {
        if (visitor !== undefined && isOn()) this.#add(shown, visitor);
        return visitor;
      })
      .finally(() => {
        if (isOn()) this.#lookups.delete(shown);
      });
    this.#lookups.set(shown, asked);
    return asked;
  }

  #add(shown: string, visitor: V): void {
    if (this.#visitors.size >= MAX_CACHED) this.#clear();
    this.#visitors.set(shown, visitor);
    this.#byCaller.set(visitor.caller, visitor);
  }

  #invalidateIfChanged(): void {
    const foreignVersion = this.#store.externalVersion();
    if (foreignVersion === this.#foreignVersion) return;
    this.#foreignVersion = foreignVersion;
    this.#clear();
  }

  #clear(): void {
    this.#visitors.clear();
    this.#byCaller.clear();
    this.#lookups.clear();
  }
}
