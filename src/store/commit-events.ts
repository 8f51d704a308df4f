import type { Compilable } from 'kysely';
import { sendPipelined } from './prepared-queries.ts';
import type { BeforeCommitAction, CommitEventSink, CommitEvents, NewPendingDelivery, Queries, Tx } from './store.ts';

const NO_IDS: ReadonlySet<number> = new Set();
const NO_PENDING: CommitEvents['pending'] = new Map();
const NO_ENDED: ReadonlyMap<number, string> = new Map();

/** Collects the commit events of one transaction or commit group. Collections are allocated lazily: most stay empty. */
export class CommitEventsBuilder implements CommitEvents, CommitEventSink {
  #pending: Map<number, NewPendingDelivery[] | undefined> | undefined;
  #manualAttempts: Set<number> | undefined;
  #ended: Map<number, string> | undefined;
  #changedSecrets: Set<number> | undefined;
  #accountsWithOccurrences: Set<number> | undefined;
  #accessChanged = false;
  readonly origin: CommitEvents['origin'];

  constructor(from: CommitEvents['origin'] = 'here') {
    this.origin = from;
  }

  get pending(): CommitEvents['pending'] {
    return this.#pending ?? NO_PENDING;
  }

  get manualAttempts(): ReadonlySet<number> {
    return this.#manualAttempts ?? NO_IDS;
  }

  get ended(): ReadonlyMap<number, string> {
    return this.#ended ?? NO_ENDED;
  }

  get changedSecrets(): ReadonlySet<number> {
    return this.#changedSecrets ?? NO_IDS;
  }

  get accountsWithOccurrences(): ReadonlySet<number> {
    return this.#accountsWithOccurrences ?? NO_IDS;
  }

  get accessChanged(): boolean {
    return this.#accessChanged;
  }

  addPending(hookIds: Iterable<number>): void {
    for (const hookId of hookIds) {
      this.#pending ??= new Map();
      this.#pending.set(hookId, undefined);
    }
  }

  /**
   * Adds new deliveries. They are ignored for a hook that `addPending` has added: its deliveries have to be read
   * anyway.
   */
  addNewPending(rows: readonly NewPendingDelivery[]): void {
    for (const row of rows) {
      this.#pending ??= new Map();
      const rowsOfHook = this.#pending.get(row.hook_id);
      if (rowsOfHook !== undefined) rowsOfHook.push(row);
      else if (!this.#pending.has(row.hook_id)) this.#pending.set(row.hook_id, [row]);
    }
  }

  addManualAttempts(hookIds: Iterable<number>): void {
    this.#manualAttempts = addToSet(this.#manualAttempts, hookIds);
  }

  addEnded(hookIds: Iterable<number>, reason: string): void {
    for (const hookId of hookIds) {
      this.#ended ??= new Map();
      this.#ended.set(hookId, reason);
    }
  }

  addChangedSecrets(hookIds: Iterable<number>): void {
    this.#changedSecrets = addToSet(this.#changedSecrets, hookIds);
  }

  addAccountsWithOccurrences(accountIds: Iterable<number>): void {
    this.#accountsWithOccurrences = addToSet(this.#accountsWithOccurrences, accountIds);
  }

  addAccessChange(): void {
    this.#accessChanged = true;
  }

  /** Adds the events of another write of the same commit. */
  add(events: CommitEvents): void {
    for (const [hookId, rows] of events.pending) {
      if (rows === undefined) this.addPending([hookId]);
      else this.addNewPending(rows);
    }
    this.addManualAttempts(events.manualAttempts);
    for (const [hookId, reason] of events.ended) this.addEnded([hookId], reason);
    this.addChangedSecrets(events.changedSecrets);
    this.addAccountsWithOccurrences(events.accountsWithOccurrences);
    if (events.accessChanged) this.addAccessChange();
  }
}

function addToSet(set: Set<number> | undefined, items: Iterable<number>): Set<number> | undefined {
  let all = set;
  for (const item of items) {
    all ??= new Set();
    all.add(item);
  }
  return all;
}

/**
 * Sends a query that is awaited with the commit. Its error rejects the commit; it is ignored if the write has failed
 * before.
 */
export function addPipelined(
  trailing: Promise<unknown>[],
  queries: Queries,
  query: Compilable<unknown> | Promise<unknown>,
): void {
  const sent = 'compile' in query ? sendPipelined(queries, query) : query;
  sent.catch(() => undefined);
  trailing.push(sent);
}

/** The listeners of a store for commit events. */
export class CommitListeners {
  readonly #listeners: ((events: CommitEvents) => Promise<void> | void)[] = [];

  add(listener: (events: CommitEvents) => Promise<void> | void): void {
    this.#listeners.push(listener);
  }

  /** Calls all listeners; returns undefined if none of them returned a promise. */
  publish(events: CommitEvents): Promise<void> | undefined {
    const pending = this.#listeners.map((listener) => listener(events)).filter((result) => result !== undefined);
    return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined);
  }
}

/** The `beforeCommit` actions of a write or of a commit group, with the items for each action. */
export class BeforeCommitActions {
  #items: Map<BeforeCommitAction<never>, unknown[]> | undefined;

  add<Item>(act: BeforeCommitAction<Item>, item: Item): void {
    this.#items ??= new Map();
    const items = this.#items.get(act as BeforeCommitAction<never>);
    if (items === undefined) this.#items.set(act as BeforeCommitAction<never>, [item]);
    else items.push(item);
  }

  /** Adds the items of another write of the same commit. */
  addAll(other: BeforeCommitActions): void {
    for (const [act, items] of other.#items ?? [])
      for (const item of items) this.add(act as BeforeCommitAction<unknown>, item);
  }

  /** Runs each action once, with all its items. */
  async act(tx: Tx): Promise<void> {
    await Promise.all([...(this.#items ?? [])].map(([act, items]) => (act as BeforeCommitAction<unknown>)(tx, items)));
  }
}
