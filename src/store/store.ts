import type { Compilable, Kysely, Selectable } from 'kysely';
import type { Sequences } from './sequences.ts';
import type { Tables } from './tables.ts';

/** Queries over every table. Only the machinery holds one; resources go through `AccountView` and `AccountWrite`. */
export type Queries = Kysely<Tables>;

/** What is newly pending for a hook, as its commit has written it down. */
export type NewPendingDeliveries = Pick<
  Selectable<Tables['pending_deliveries']>,
  'hook_id' | 'delivery_id' | 'position' | 'kind' | 'record_id' | 'created_at'
>;

/** What a committed write means for those who remember something: hooks by id, and whether access has changed. */
export type CommitEvents = {
  /** Something more is pending for these: what it is, or undefined where that is to be read. */
  readonly pending: ReadonlyMap<number, readonly NewPendingDeliveries[] | undefined>;
  /** Something was asked for on these: a test, a redelivery. */
  readonly asked: ReadonlySet<number>;
  /** These have ended, each for a reason: nothing may go out to them any more. */
  readonly ended: ReadonlyMap<number, string>;
  /** What the lanes of these remember has changed: what their notifications are signed by. */
  readonly changed: ReadonlySet<number>;
  /** Something occurred in these accounts. */
  readonly happened: ReadonlySet<number>;
  /** A key was revoked, or a user changed or deleted: who was let in may not be let in now. */
  readonly access: boolean;
  /** Where it was committed: here, at a node that takes up what is pending itself, or at one that leaves it to others. */
  readonly from: 'here' | 'deliverer' | 'other';
};

/** What is to be told when, and only when, a transaction has committed. */
export type CommitEventSink = {
  addPending(hookIds: Iterable<number>): void;
  addNewPending(rows: readonly NewPendingDeliveries[]): void;
  addManual(hookIds: Iterable<number>): void;
  addEnded(hookIds: Iterable<number>, reason: string): void;
  addChanged(hookIds: Iterable<number>): void;
  addOccurred(accountIds: Iterable<number>): void;
  addAccessChange(): void;
};

/** One transaction: queries, and the news of its commit. */
export type Tx = {
  readonly queries: Queries;
  readonly news: CommitEventSink;
  /**
   * Keeps an account's other writes away until this one is through: all of them (`alone`), or those that are alone
   * (`beside`). To be asked for before anything else.
   */
  lockAccount(accountId: number, how: LockMode): void;
  /** Takes a name for this transaction alone, on every node; false when another transaction has it at this moment. */
  tryLockAccount(name: string): Promise<boolean>;
  /**
   * A query whose result the work need not wait for: it is sent with the commit. Or the results of prepared ones, which
   * are on their way the moment they are asked.
   */
  withCommit(query: Compilable<unknown> | Promise<unknown>): void;
  /** Commits only if this resolves, which it waits for; else all of it is undone. */
  commitIf(condition: Promise<void>): void;
  /** Leaves something for what is done once for all writes of this commit, when each of them has run. */
  beforeCommit<Item>(act: AtCommit<Item>, item: Item): void;
  /** Asks once for all writes of this commit what each would ask; about the same thing, the answer is the same. */
  dedupe<T>(about: object, ask: () => Promise<T>): Promise<T>;
  /** What is remembered of who may do what is not to be relied on: it may have changed since, or in this very commit. */
  readonly mayHaveStaleAccess: boolean;
};

/**
 * Done once for all writes of a commit, as the last thing before it: with what each has left for it, in their order. It
 * sends all that it asks before it waits for anything.
 */
export type AtCommit<Item> = (tx: Tx, items: readonly Item[]) => Promise<void>;

/** An account that writes, and what its other writes may do meanwhile. */
export type Writer = { readonly accountId: number; readonly how: LockMode };

/** `alone`: what it reads stays true until it commits. `beside`: it adds, and reads only what is there or is not. */
export type LockMode = 'alone' | 'beside';

/**
 * The database, behind two verbs. Every implementation exports the same names and keeps the same promises.
 */
export type Store = {
  /** Queries outside a transaction, over what has been committed. */
  readonly read: Queries;
  /**
   * Runs the reads of one call: after those that came before it, where so many are under way that they would keep each
   * other waiting. The work awaits reads and nothing else. Rejects with the problem `overloaded` when it would begin too
   * late.
   */
  limitedRead<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction. Durable when the promise resolves, rolled back when it rejects. The work awaits
   * queries of its `tx` and nothing else. Rejects with the problem `storage_unavailable` when the database cannot
   * take it (full, busy for too long), `overloaded` when too many writes are waiting.
   *
   * @param whose the account that writes, and how it will hold its writes: so that no account's keep all others waiting
   */
  write<T>(work: (tx: Tx) => Promise<T>, whose?: Writer): Promise<T>;
  /**
   * Runs `work` over the database as it is at one moment, on a connection of its own: what others write meanwhile is
   * not seen, and keeps nobody waiting. The work may take its time and await what it likes.
   */
  snapshot<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** The same for what must not wait behind callers: lanes and settlements. */
  writeInBackground<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Called with the news of each commit; the writes of that commit resolve when what it answers has. */
  onCommitted(listener: (news: CommitEvents) => Promise<void> | void): void;
  /** Changes whenever another process has changed the database; at most a turn of the event loop old. */
  externalVersion(): number;
  /** From here on what is read is as it is now. Answers whether what was read just before may have been older. */
  refreshSnapshot(): boolean;
  /** Rejects unless the database can be written at this moment. */
  probe(): Promise<void>;
  /** Waits for the writes under way and closes every connection. */
  close(): Promise<void>;
  /** Where several nodes share the database; undefined where this process has it alone. */
  readonly sessions: Sessions | undefined;
  /** How its rows are numbered, for the start of a new epoch. */
  readonly sequences: Sequences;
  /**
   * Drops what is older than a moment from a table that only grows, by ranges, a little at a time.
   *
   * @param before milliseconds since the epoch
   * @param isStopped asked between two bites
   */
  dropPartitions(table: Growing, before: number, isStopped: () => boolean): Promise<number>;
  /** How many writes each commit has carried, and what one cost, for the metrics. */
  onGroup(listener: (writes: number, seconds: number) => void): void;
};

/** The tables that are only added to, and the column by whose time their rows grow old. */
export const growing = {
  attempts: 'attempted_at',
  finalized_deliveries: 'finalized_at',
  occurrences: 'occurred_at',
} as const;

export type Growing = keyof typeof growing;

/** How the nodes on one database know of each other. */
export type Sessions = {
  /** Whether this node delivers: what it commits, it takes up itself. The others are told so. */
  delivers: boolean;
  /** Queries on this node's own connection, each for itself, that wait for no other; throws while it is lost. */
  readonly queries: Queries;
  /** Shows the others that this node's connection is open, for as long as it is. */
  hold(nodeId: number): Promise<void>;
  /** The nodes whose connections are open. */
  held(): Promise<ReadonlySet<number>>;
};

/** A store that cannot be opened; the message is one line for the operator. */
export class StoreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StoreFault';
  }
}

/** The files of an open database are no longer those at its path: whatever is written now would be lost at the next start. */
export class DatabaseLost extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DatabaseLost';
  }
}
