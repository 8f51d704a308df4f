import type { Compilable } from 'kysely';
import { sendNow } from './prepared.ts';
import type { Announcements, NewlyOwed, News, Queries } from './store.ts';

const NOBODY: ReadonlySet<number> = new Set();
const NONE_OWED: News['owed'] = new Map();
const NONE_ENDED: ReadonlyMap<number, string> = new Map();

/** The news of one transaction while it runs: what nearly all of them have none of is not made. */
export class NewsInTheMaking implements News, Announcements {
  #owed: Map<number, NewlyOwed[] | undefined> | undefined;
  #asked: Set<number> | undefined;
  #ended: Map<number, string> | undefined;
  #changed: Set<number> | undefined;
  #happened: Set<number> | undefined;
  #access = false;
  readonly from: News['from'];

  constructor(from: News['from'] = 'here') {
    this.from = from;
  }

  get owed(): News['owed'] {
    return this.#owed ?? NONE_OWED;
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
    for (const hookId of hookIds) {
      this.#owed ??= new Map();
      this.#owed.set(hookId, undefined);
    }
  }

  /** Where something is to be read of a hook, all of it is. */
  announceNewlyOwed(rows: readonly NewlyOwed[]): void {
    for (const row of rows) {
      this.#owed ??= new Map();
      const known = this.#owed.get(row.hook_id);
      if (known !== undefined) known.push(row);
      else if (!this.#owed.has(row.hook_id)) this.#owed.set(row.hook_id, [row]);
    }
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
    for (const [hookId, rows] of news.owed) {
      if (rows === undefined) this.announceOwed([hookId]);
      else this.announceNewlyOwed(rows);
    }
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
