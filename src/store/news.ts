import type { Compilable } from 'kysely';
import { sendNow } from './prepared.ts';
import type { News, Queries, Tx } from './store.ts';

/** The news of one transaction while it runs. */
export class NewsInTheMaking implements News {
  readonly owed = new Set<number>();
  readonly asked = new Set<number>();
  readonly ended = new Map<number, string>();
  readonly changed = new Set<number>();
  readonly happened = new Set<number>();
  access = false;
  readonly from: News['from'];

  constructor(from: News['from'] = 'here') {
    this.from = from;
  }

  /** The news of one more write of the same commit. */
  add(news: News): void {
    addAll(this.owed, news.owed);
    addAll(this.asked, news.asked);
    for (const [hookId, reason] of news.ended) this.ended.set(hookId, reason);
    addAll(this.changed, news.changed);
    addAll(this.happened, news.happened);
    this.access ||= news.access;
  }

  /** What a transaction says to it. */
  readonly announcements: Pick<
    Tx,
    'announceOwed' | 'announceAsked' | 'announceEnded' | 'announceChanged' | 'announceHappened' | 'announceAccess'
  > = {
    announceOwed: (hookIds) => addAll(this.owed, hookIds),
    announceAsked: (hookIds) => addAll(this.asked, hookIds),
    announceEnded: (hookIds, reason) => {
      for (const hookId of hookIds) this.ended.set(hookId, reason);
    },
    announceChanged: (hookIds) => addAll(this.changed, hookIds),
    announceHappened: (accountId) => void this.happened.add(accountId),
    announceAccess: () => {
      this.access = true;
    },
  };
}

function addAll(set: Set<number>, items: Iterable<number>): void {
  for (const item of items) set.add(item);
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
