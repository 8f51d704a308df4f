import type { Compilable } from 'kysely';
import { sendPipelined } from './prepared-queries.ts';
import type { BeforeCommitAction, CommitEventSink, CommitEvents, NewPendingDelivery, Queries, Tx } from './store.ts';

/** Collects the commit events of one transaction or commit group. */
export class CommitEventsBuilder implements CommitEvents, CommitEventSink {
  readonly pendingDeliveriesByHook = new Map<number, NewPendingDelivery[] | undefined>();
  readonly hookIdsWithManualAttempts = new Set<number>();
  readonly endedHooks = new Map<number, string>();
  readonly hookIdsWithChangedSettings = new Set<number>();
  readonly accountsWithOccurrences = new Set<number>();
  readonly origin: CommitEvents['origin'];
  #hasAccessChanged = false;

  constructor(origin: CommitEvents['origin'] = 'here') {
    this.origin = origin;
  }

  get hasAccessChanged(): boolean {
    return this.#hasAccessChanged;
  }

  addPendingHooks(hookIds: Iterable<number>): void {
    for (const hookId of hookIds) this.pendingDeliveriesByHook.set(hookId, undefined);
  }

  /**
   * Adds new deliveries to their hooks. Ignores the deliveries of a hook that `addPendingHooks` has added, because all
   * pending deliveries of that hook will be read from the database.
   */
  addPendingDeliveries(rows: readonly NewPendingDelivery[]): void {
    for (const row of rows) {
      const rowsOfHook = this.pendingDeliveriesByHook.get(row.hook_id);
      if (rowsOfHook !== undefined) rowsOfHook.push(row);
      else if (!this.pendingDeliveriesByHook.has(row.hook_id)) this.pendingDeliveriesByHook.set(row.hook_id, [row]);
    }
  }

  addManualAttempts(hookIds: Iterable<number>): void {
    for (const hookId of hookIds) this.hookIdsWithManualAttempts.add(hookId);
  }

  addEndedHooks(hookIds: Iterable<number>, reason: string): void {
    for (const hookId of hookIds) this.endedHooks.set(hookId, reason);
  }

  addChangedSettings(hookIds: Iterable<number>): void {
    for (const hookId of hookIds) this.hookIdsWithChangedSettings.add(hookId);
  }

  addAccountsWithOccurrences(accountIds: Iterable<number>): void {
    for (const accountId of accountIds) this.accountsWithOccurrences.add(accountId);
  }

  addAccessChange(): void {
    this.#hasAccessChanged = true;
  }

  /** Adds the events of another write of the same commit. */
  merge(events: CommitEvents): void {
    for (const [hookId, rows] of events.pendingDeliveriesByHook) {
      if (rows === undefined) this.addPendingHooks([hookId]);
      else this.addPendingDeliveries(rows);
    }
    this.addManualAttempts(events.hookIdsWithManualAttempts);
    for (const [hookId, reason] of events.endedHooks) this.addEndedHooks([hookId], reason);
    this.addChangedSettings(events.hookIdsWithChangedSettings);
    this.addAccountsWithOccurrences(events.accountsWithOccurrences);
    if (events.hasAccessChanged) this.addAccessChange();
  }
}

/**
 * Sends a query, and adds its promise to the queries that are awaited with the commit. If the query fails, the commit
 * fails. If the write has already failed, an error of the query is ignored.
 */
export function addPipelinedQuery(
  pipelinedQueries: Promise<unknown>[],
  queries: Queries,
  query: Compilable<unknown> | Promise<unknown>,
): void {
  const sentQuery = 'compile' in query ? sendPipelined(queries, query) : query;
  sentQuery.catch(() => undefined);
  pipelinedQueries.push(sentQuery);
}

/** The listeners of a store for commit events. */
export class CommitListeners {
  readonly #listeners: ((events: CommitEvents) => Promise<void> | void)[] = [];

  add(listener: (events: CommitEvents) => Promise<void> | void): void {
    this.#listeners.push(listener);
  }

  /** Calls all listeners; returns undefined if none of them returned a promise. */
  publish(events: CommitEvents): Promise<void> | undefined {
    const listenerPromises = this.#listeners
      .map((listener) => listener(events))
      .filter((result) => result !== undefined);
    return listenerPromises.length === 0 ? undefined : Promise.all(listenerPromises).then(() => undefined);
  }
}

/** The `beforeCommit` actions of a write or of a commit group, with the items for each action. */
export class BeforeCommitActions {
  readonly #itemsByAction = new Map<BeforeCommitAction<never>, unknown[]>();

  add<Item>(action: BeforeCommitAction<Item>, item: Item): void {
    const items = this.#itemsByAction.get(action as BeforeCommitAction<never>);
    if (items === undefined) this.#itemsByAction.set(action as BeforeCommitAction<never>, [item]);
    else items.push(item);
  }

  /** Adds the items of another write of the same commit. */
  addAll(other: BeforeCommitActions): void {
    for (const [action, items] of other.#itemsByAction)
      for (const item of items) this.add(action as BeforeCommitAction<unknown>, item);
  }

  /** Runs each action once, with all its items. */
  async runAll(tx: Tx): Promise<void> {
    await Promise.all(
      [...this.#itemsByAction].map(([action, items]) => (action as BeforeCommitAction<unknown>)(tx, items)),
    );
  }
}
