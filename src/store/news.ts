import type { Compilable } from 'kysely';
import { sendNow } from './prepared.ts';
import type { Announcements, News, Queries } from './store.ts';

const NOBODY: ReadonlySet<number> = new Set();
const NONE_ENDED: ReadonlyMap<number, string> = new Map();

/** The news of one transaction while it runs: what nearly all of them have none of is not made. */
export class NewsInTheMaking implements News, Announcements {
  #owed: Set<number> | undefined;
  #asked: Set<number> | undefined;
  #ended: Map<number, string> | undefined;
  #changed: Set<number> | undefined;
  #happened: Set<number> | undefined;
  #access = false;
  readonly from: News['from'];

  constructor(from: News['from'] = 'here') {
    this.from = from;
  }

  get owed(): ReadonlySet<number> {
    return this.#owed ?? NOBODY;
  }

  get asked(): ReadonlySet<number> {
    return this.#asked ?? NOBODY;
  }

  get ended(): ReadonlyMap<number, string> {
    return this.#ended ?? NONE_ENDED;
  }

  get changed(): ReadonlySet<number> {
    return this.#changed ?? NOBODY;
  }

  get happened(): ReadonlySet<number> {
    return this.#happened ?? NOBODY;
  }

  get access(): boolean {
    return this.#access;
  }

  announceOwed(hookIds: Iterable<number>): void {
    this.#owed = withAll(this.#owed, hookIds);
  }

  announceAsked(hookIds: Iterable<number>): void {
    this.#asked = withAll(this.#asked, hookIds);
  }

  announceEnded(hookIds: Iterable<number>, reason: string): void {
    for (const hookId of hookIds) {
      this.#ended ??= new Map();
      this.#ended.set(hookId, reason);
    }
  }

  announceChanged(hookIds: Iterable<number>): void {
    this.#changed = withAll(this.#changed, hookIds);
  }

  announceHappened(accountIds: Iterable<number>): void {
    this.#happened = withAll(this.#happened, accountIds);
  }

  announceAccess(): void {
    this.#access = true;
  }

  /** The news of one more write of the same commit. */
  add(news: News): void {
    this.announceOwed(news.owed);
    this.announceAsked(news.asked);
    for (const [hookId, reason] of news.ended) this.announceEnded([hookId], reason);
    this.announceChanged(news.changed);
    this.announceHappened(news.happened);
    if (news.access) this.announceAccess();
  }
}

function withAll(known: Set<number> | undefined, items: Iterable<number>): Set<number> | undefined {
  let all = known;
  for (const item of items) {
    all ??= new Set();
    all.add(item);
  }
  return all;
}

/** Keeps what is sent with the commit; that it failed is heard there, and nowhere if the work fails before. */
export function trail(
  trailing: Promise<unknown>[],
  queries: Queries,
  query: Compilable<unknown> | Promise<unknown>,
): void {
  const sent = 'compile' in query ? sendNow(queries, query) : query;
  sent.catch(() => undefined);
  trailing.push(sent);
}

/** Those who hear of commits. */
export class Listeners {
  readonly #listeners: ((news: News) => Promise<void> | void)[] = [];

  add(listener: (news: News) => Promise<void> | void): void {
    this.#listeners.push(listener);
  }

  /** Tells all of them; undefined when there is nothing to wait for. */
  tell(news: News): Promise<void> | undefined {
    const waits = this.#listeners.map((listener) => listener(news)).filter((wait) => wait !== undefined);
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }
}
