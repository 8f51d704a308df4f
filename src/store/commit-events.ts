import type { Compilable } from 'kysely';
import { sendPipelined } from './prepared-queries.ts';
import type { CommitEventSink, CommitEvents, NewPendingDeliveries, Queries } from './store.ts';

const NOBODY: ReadonlySet<number> = new Set();
const NO_PENDING: CommitEvents['pending'] = new Map();
const NONE_ENDED: ReadonlyMap<number, string> = new Map();

/** The news of one transaction while it runs: what nearly all of them have none of is not made. */
export class CommitEventsBuilder implements CommitEvents, CommitEventSink {
  #pending: Map<number, NewPendingDeliveries[] | undefined> | undefined;
  #asked: Set<number> | undefined;
  #ended: Map<number, string> | undefined;
  #changed: Set<number> | undefined;
  #happened: Set<number> | undefined;
  #access = false;
  readonly from: CommitEvents['from'];

  constructor(from: CommitEvents['from'] = 'here') {
    this.from = from;
  }

  get pending(): CommitEvents['pending'] {
    return this.#pending ?? NO_PENDING;
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

  addPending(hookIds: Iterable<number>): void {
    for (const hookId of hookIds) {
      this.#pending ??= new Map();
      this.#pending.set(hookId, undefined);
    }
  }

  /** Where something is to be read of a hook, all of it is. */
  addNewPending(rows: readonly NewPendingDeliveries[]): void {
    for (const row of rows) {
      this.#pending ??= new Map();
      const known = this.#pending.get(row.hook_id);
      if (known !== undefined) known.push(row);
      else if (!this.#pending.has(row.hook_id)) this.#pending.set(row.hook_id, [row]);
    }
  }

  addManual(hookIds: Iterable<number>): void {
    this.#asked = withAll(this.#asked, hookIds);
  }

  addEnded(hookIds: Iterable<number>, reason: string): void {
    for (const hookId of hookIds) {
      this.#ended ??= new Map();
      this.#ended.set(hookId, reason);
    }
  }

  addChanged(hookIds: Iterable<number>): void {
    this.#changed = withAll(this.#changed, hookIds);
  }

  addOccurred(accountIds: Iterable<number>): void {
    this.#happened = withAll(this.#happened, accountIds);
  }

  addAccessChange(): void {
    this.#access = true;
  }

  /** The news of one more write of the same commit. */
  add(news: CommitEvents): void {
    for (const [hookId, rows] of news.pending) {
      if (rows === undefined) this.addPending([hookId]);
      else this.addNewPending(rows);
    }
    this.addManual(news.asked);
    for (const [hookId, reason] of news.ended) this.addEnded([hookId], reason);
    this.addChanged(news.changed);
    this.addOccurred(news.happened);
    if (news.access) this.addAccessChange();
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
  const sent = 'compile' in query ? sendPipelined(queries, query) : query;
  sent.catch(() => undefined);
  trailing.push(sent);
}

/** Those who hear of commits. */
export class Listeners {
  readonly #listeners: ((news: CommitEvents) => Promise<void> | void)[] = [];

  add(listener: (news: CommitEvents) => Promise<void> | void): void {
    this.#listeners.push(listener);
  }

  /** Tells all of them; undefined when there is nothing to wait for. */
  publish(news: CommitEvents): Promise<void> | undefined {
    const waits = this.#listeners.map((listener) => listener(news)).filter((wait) => wait !== undefined);
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }
}
