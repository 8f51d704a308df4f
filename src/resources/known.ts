import type { Caller } from '../access.ts';
import type { Store } from '../store/store.ts';

/** Who was let in, and when they last came. */
export type Visitor = { readonly caller: Caller; lastUsed: number };

/** Callers that are remembered at the most, of each door. */
const MOST_KNOWN = 10_000;

/**
 * Who was let in, by what they showed (hashed), for as long as nothing has changed that could matter: no key revoked, no
 * session ended and no user changed here, nothing at all changed by another process. So what is taken away is taken away
 * at once.
 */
export class Known<V extends Visitor> {
  readonly #store: Store;
  readonly #visitors = new Map<string, V>();
  readonly #byCaller = new Map<Caller, V>();
  #foreignVersion: number;
  /** How often everything was forgotten. */
  changes = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#foreignVersion = store.foreignVersion();
    store.onCommitted((news) => {
      if (news.access) this.#forget();
    });
  }

  /** @param shown the hash of what they show, and whatever belongs to it */
  find(shown: string): V | undefined {
    this.#lookAround();
    return this.#visitors.get(shown);
  }

  /** The same, by who it is; undefined if anything has changed since this caller was let in. */
  of(caller: Caller): V | undefined {
    this.#lookAround();
    return this.#byCaller.get(caller);
  }

  add(shown: string, visitor: V): void {
    if (this.#visitors.size >= MOST_KNOWN) this.#forget();
    this.#visitors.set(shown, visitor);
    this.#byCaller.set(visitor.caller, visitor);
  }

  #lookAround(): void {
    const foreignVersion = this.#store.foreignVersion();
    if (foreignVersion === this.#foreignVersion) return;
    this.#foreignVersion = foreignVersion;
    this.#forget();
  }

  #forget(): void {
    this.#visitors.clear();
    this.#byCaller.clear();
    this.changes += 1;
  }
}
