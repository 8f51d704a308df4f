import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

/** Queries over every table. Only the machinery holds one; resources go through `AccountView` and `AccountWrite`. */
export type Queries = Kysely<Tables>;

/** What a committed write means for those who remember something: hooks by id, and whether access has changed. */
export type News = {
  /** Something more is owed to these. */
  readonly owed: ReadonlySet<number>;
  /** Something was asked for on these: a test, a redelivery. */
  readonly asked: ReadonlySet<number>;
  /** These have ended, each for a reason: nothing may go out to them any more. */
  readonly ended: ReadonlyMap<number, string>;
  /** A key was revoked, or a user changed or deleted: who was let in may not be let in now. */
  readonly access: boolean;
};

/** One transaction: queries, and what is to be told when, and only when, it has committed. */
export type Tx = {
  readonly queries: Queries;
  announceOwed(hookIds: Iterable<number>): void;
  announceAsked(hookIds: Iterable<number>): void;
  announceEnded(hookIds: Iterable<number>, reason: string): void;
  announceAccess(): void;
  /** Something in the same commit has changed access already: what is remembered is not to be relied on. */
  readonly accessInDoubt: boolean;
};

/**
 * The database, behind two verbs. Every implementation exports the same names and keeps the same promises.
 */
export type Store = {
  /** Queries outside a transaction, over what has been committed. */
  readonly read: Queries;
  /**
   * Runs `work` in a transaction. Durable when the promise resolves, rolled back when it rejects. The work awaits
   * queries of its `tx` and nothing else. Rejects with the problem `storage_unavailable` when the database cannot
   * take it (full, busy for too long), `overloaded` when too many writes are waiting.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Called with the news of each commit, before the writes of that commit resolve. */
  onCommitted(listener: (news: News) => void): void;
  /** Changes whenever another process has changed the database; at most a turn of the event loop old. */
  foreignVersion(): number;
  /** Rejects unless the database can be written at this moment. */
  probe(): Promise<void>;
  /** Waits for the writes under way and closes every connection. */
  close(): Promise<void>;
  /** How many writes each commit has carried, and what one cost, for the metrics. */
  onGroup(listener: (writes: number, seconds: number) => void): void;
};

/** A store that cannot be opened; the message is one line for the operator. */
export class StoreFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StoreFault';
  }
}
