import type { Compilable, Kysely, Selectable } from 'kysely';
import type { Sequences } from './sequences.ts';
import type { Tables } from './tables.ts';

/** Queries over every table. For infrastructure only: resources use `AccountView` and `AccountWrite`. */
export type Queries = Kysely<Tables>;

/** A new pending delivery, as committed. */
export type NewPendingDelivery = Pick<
  Selectable<Tables['pending_deliveries']>,
  'hook_id' | 'delivery_id' | 'position' | 'kind' | 'record_id' | 'fields' | 'created_at'
>;

/**
 * Events that are published when a transaction commits, for the dispatcher, in-memory caches and other nodes. Hooks and
 * accounts are given by id.
 */
export type CommitEvents = {
  /** New pending deliveries by hook id; undefined if they have to be read from the database. */
  readonly pendingDeliveriesByHook: ReadonlyMap<number, readonly NewPendingDelivery[] | undefined>;
  /** Hooks with a new manual attempt (a test, a redelivery). */
  readonly hookIdsWithManualAttempts: ReadonlySet<number>;
  /** Ended hooks with the reason of their end. Nothing may be sent to them any more. */
  readonly endedHooks: ReadonlyMap<number, string>;
  /** Hooks whose settings have changed: target, secrets, headers, or whether they are enabled. */
  readonly hookIdsWithChangedSettings: ReadonlySet<number>;
  /** Accounts with new occurrences (domain events). */
  readonly accountsWithOccurrences: ReadonlySet<number>;
  /**
   * Whether permissions have changed: a key was revoked, or a user was changed or deleted. Cached callers may no longer
   * be valid.
   */
  readonly hasAccessChanged: boolean;
  /**
   * Origin of the commit: this process (`here`), another delivering node (`deliverer`), or an API-only node (`other`).
   */
  readonly origin: 'here' | 'deliverer' | 'other';
};

/** Collects the events of a transaction; they are published if, and only if, it commits. */
export type CommitEventSink = {
  addPendingHooks(hookIds: Iterable<number>): void;
  addPendingDeliveries(rows: readonly NewPendingDelivery[]): void;
  addManualAttempts(hookIds: Iterable<number>): void;
  addEndedHooks(hookIds: Iterable<number>, reason: string): void;
  addChangedSettings(hookIds: Iterable<number>): void;
  addAccountsWithOccurrences(accountIds: Iterable<number>): void;
  addAccessChange(): void;
};

/** A running transaction. */
export type Tx = {
  readonly queries: Queries;
  readonly events: CommitEventSink;
  /**
   * Locks an account until the transaction ends. `exclusive`: no other write of the account runs. `shared`: only
   * exclusive writes wait. Call it before the first query.
   */
  lockAccount(accountId: number, lockMode: LockMode): void;
  /** Tries to take a lock by name, cluster-wide, until the transaction ends; false if another transaction has it. */
  tryLock(name: string): Promise<boolean>;
  /**
   * Sends a query whose result is not needed; it is awaited with the commit. If the query fails, the transaction is
   * rolled back. Also accepts the promise of a prepared query that was already sent.
   */
  sendWithCommit(query: Compilable<unknown> | Promise<unknown>): void;
  /** Commits only after `condition` has resolved. Rolls back if it rejects. */
  commitIf(condition: Promise<void>): void;
  /** Adds an item for `action`, which runs once per commit, after all writes of the commit group. */
  beforeCommit<Item>(action: BeforeCommitAction<Item>, item: Item): void;
};

/**
 * An action that runs once per commit, right before it, with the items that the writes have added, in their order. It
 * must send all its queries before it awaits any of them.
 */
export type BeforeCommitAction<Item> = (tx: Tx, items: readonly Item[]) => Promise<void>;

/** The account and the user of a write, and its lock mode. */
export type AccountLockRequest = { readonly accountId: number; readonly userId: number; readonly lockMode: LockMode };

/**
 * Account lock mode. `exclusive`: no other write of the account runs. `shared`: the write runs concurrently with other
 * shared writes of the account.
 */
export type LockMode = 'exclusive' | 'shared';

/** The database: SQLite or PostgreSQL. Both implementations export the same names and give the same guarantees. */
export type Store = {
  /** Queries outside a transaction: they see committed data only. */
  readonly read: Queries;
  /**
   * Runs the reads of one request under a concurrency limit; requests over the limit wait in order. `work` must await
   * reads only. Rejects with the problem `overloaded` after waiting too long (load shedding).
   */
  readWithLimit<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction. Durable when the promise resolves, rolled back when it rejects. `work` must
   * await queries of its `tx` only, and may be called again after a conflict. Rejects with the problem
   * `storage_unavailable` if the database is full, busy for too long or unreachable, `overloaded` if too many
   * writes are waiting (load shedding).
   *
   * @param accountLock the account, the user and the lock mode, for fair scheduling between accounts and between users
   */
  write<T>(work: (tx: Tx) => Promise<T>, accountLock?: AccountLockRequest): Promise<T>;
  /**
   * Runs `work` over a consistent snapshot, on its own connection. It blocks no writes and may take long. `work` may
   * await other promises than queries.
   */
  readInSnapshot<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Like `write`, but never queued behind API requests: for leases, completions and maintenance. */
  writeInBackground<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Subscribes to commits. The writes of a commit resolve after the listeners' promises. */
  onCommitted(listener: (events: CommitEvents) => Promise<void> | void): void;
  /** Returns a number that changes when another process has changed the database, for cache invalidation. */
  getExternalChangeNumber(): number;
  /** Health check: rejects unless the database accepts writes. */
  probe(): Promise<void>;
  /** Waits for running writes and closes all connections. */
  close(): Promise<void>;
  /** The cluster session of this node; undefined if only one process uses the database. */
  readonly clusterSession: ClusterSession | undefined;
  /** The id sequences of the database, needed to begin a new epoch. */
  readonly sequences: Sequences;
  /**
   * Drops old rows of a history table (retention): whole partitions if the table is partitioned, otherwise in batches.
   * Returns the number of dropped rows.
   *
   * @param cutoff rows older than this time are dropped, milliseconds since the epoch
   * @param isStopped checked between batches
   */
  dropOldRows(table: HistoryTable, cutoff: number, isStopped: () => boolean): Promise<number>;
  /** Subscribes to the size and the duration of each commit group, for the metrics. */
  onGroupCommit(listener: (writeCount: number, durationS: number) => void): void;
};

/** Tables of history, each with the column by which retention drops old rows. Committed rows are never updated. */
export const historyTables = {
  attempts: 'attempted_at',
  finalized_deliveries: 'finalized_at',
  occurrences: 'occurred_at',
} as const;

export type HistoryTable = keyof typeof historyTables;

/** The session of a node in a cluster: one dedicated connection. */
export type ClusterSession = {
  /** Whether this node claims the hooks of its own commits. Its messages to other nodes contain this value. */
  isDelivering: boolean;
  /** Queries on the dedicated connection, which never wait for a pooled one; throws while the connection is lost. */
  readonly queries: Queries;
  /** Takes an advisory lock that shows the peers that this node's connection is open. */
  acquireNodeLock(nodeId: number): Promise<void>;
  /** Returns the ids of the nodes whose connections are open. */
  findConnectedNodes(): Promise<ReadonlySet<number>>;
};

/** Thrown if a store cannot be opened. The message is one line for the operator. */
export class StoreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StoreError';
  }
}

/** Thrown if the files of an open database were removed or replaced: further writes would be lost at the next start. */
export class DatabaseLostError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DatabaseLost';
  }
}

/** The state of a database, found without creating, migrating or changing it. */
export type DatabaseInspection = {
  /** Name and version of the database engine. */
  readonly engine: string;
  /** Number of the last applied migration; 0 for an empty database. */
  readonly schemaVersion: number;
  /** Number of the newest migration that this version of Carillon knows. */
  readonly newestSchemaVersion: number;
  /** Settings with which acknowledged writes may be lost; empty for none. */
  readonly weakSettings: readonly string[];
  /** Findings of the engine's integrity check; empty for none, or if the engine has no check. */
  readonly integrityErrors: readonly string[];
  /** Size of the database in bytes. */
  readonly sizeBytes: number;
  /** Free disk space, bytes; undefined if the database is on another machine. */
  readonly freeBytes: number | undefined;
  /** Problems of the place where the database is stored, such as a network file system; empty for none. */
  readonly locationProblems: readonly string[];
  /**
   * How far the clock of the database is ahead of this machine's clock, milliseconds; undefined if they are the same
   * clock.
   */
  readonly clockAheadMs: number | undefined;
  /** Whether a service is running on the database. */
  readonly isServiceRunning: boolean;
  readonly queries: Queries;
  close(): Promise<void>;
};
