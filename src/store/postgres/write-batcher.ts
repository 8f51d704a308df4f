import type pg from 'pg';
import { waitForBatch } from '../../async/wait-for-batch.ts';
import { Problem } from '../../problems.ts';
import type { AccountLock, CommitEvents, Tx } from '../store.ts';
import { AccountLocks } from './account-locks.ts';
import { type AddressOptions, isConnectionLost, toProblem } from './connection.ts';
import {
  type GroupResult,
  runTransaction,
  TransactionConnection,
  type TransactionTimeouts,
  type WriteRequest,
  type WriteResult,
} from './group-transaction.ts';
import type { Pool } from './pool.ts';

/** Maximum number of waiting writes. Further writes are rejected with 503 (load shedding). */
const MAX_WAITING = 4_096;

/** Maximum number of tries of a write that conflicts with other transactions. */
const MAX_ATTEMPTS = 10;

/** Maximum number of writes per group transaction. At most half of them are of one account. */
const MAX_GROUP_SIZE = 64;

/** Maximum number of concurrent group transactions: while one is being synced to disk, another one runs its queries. */
const GROUP_CONCURRENCY = 2;

type WriteListeners = {
  readonly onCommitted: (events: CommitEvents) => Promise<void> | undefined;
  readonly onGroup: (writes: number, seconds: number) => void;
};

/** A write that waits for a group transaction. */
type WaitingWrite = {
  readonly accountId: number;
  readonly work: WriteRequest['run'];
  /** Whether the write was rolled back with a group before. */
  readonly isRetry: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Group commit for PostgreSQL: writes with a shared account lock that are waiting at the same time are batched into one
 * transaction with one commit, so one fsync and fewer round trips. Writes with an exclusive lock have a transaction of
 * their own. If a group is rolled back because of one member, that member is retried in its own transaction, and the
 * other members in a group. Load shedding: writes beyond MAX_WAITING are rejected with `overloaded`.
 */
export class WriteBatcher {
  readonly #pool: Pool;
  readonly #extras: AddressOptions;
  readonly #limits: TransactionTimeouts | undefined;
  readonly #listeners: WriteListeners;
  readonly #connections = new WeakMap<pg.PoolClient, TransactionConnection>();
  readonly #locks = new AccountLocks(MAX_GROUP_SIZE / 2, MAX_WAITING);
  /** Limits the retries of one account to half of the connections, so that they cannot take all of them. */
  readonly #retryLocks: AccountLocks;
  #waiting: WaitingWrite[] = [];
  #runningGroups = 0;

  constructor(pool: Pool, extras: AddressOptions, limits: TransactionTimeouts | undefined, listeners: WriteListeners) {
    this.#pool = pool;
    this.#extras = extras;
    this.#limits = limits;
    this.#listeners = listeners;
    this.#retryLocks = new AccountLocks(Math.max(1, Math.floor(pool.maxConnections / 2)), MAX_WAITING);
  }

  write<T>(work: (tx: Tx) => Promise<T>, writer?: AccountLock): Promise<T> {
    if (writer === undefined) return this.#runExclusive(work) as Promise<T>;
    const { accountId, lockMode } = writer;
    const run = () => (lockMode === 'shared' ? this.#runShared(accountId, work) : this.#runExclusive(work));
    return this.#locks.run(accountId, lockMode, run) as Promise<T>;
  }

  /** Runs a write in its own transaction. Retries the write after a conflict. */
  async #runExclusive(work: WriteRequest['run']): Promise<unknown> {
    if (this.#pool.waitingCount >= MAX_WAITING) throw new Problem('overloaded');
    for (let tries = 1; ; tries += 1) {
      const [result] = await this.#transact([{ run: work }]);
      if (result === undefined) throw new Error('a write has no result');
      if ('value' in result) return result.value;
      if (tries === MAX_ATTEMPTS || result.retryAs === undefined) throw toProblem(result.error);
    }
  }

  #runShared(accountId: number, work: WriteRequest['run']): Promise<unknown> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new Problem('overloaded'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ accountId, work, isRetry: false, resolve, reject });
      this.#startNext();
    });
  }

  /** Starts a group transaction if writes are waiting and fewer than GROUP_CONCURRENCY are running. */
  #startNext(): void {
    if (this.#runningGroups >= GROUP_CONCURRENCY || this.#waiting.length === 0) return;
    this.#runningGroups += 1;
    void this.#runGroup().finally(() => {
      this.#runningGroups -= 1;
      this.#startNext();
    });
  }

  /** Runs the waiting writes in one group transaction. Never rejects. */
  async #runGroup(): Promise<void> {
    await waitForBatch(() => this.#waiting.length, MAX_GROUP_SIZE);
    const group = this.#waiting.splice(0, MAX_GROUP_SIZE);
    if (group.length === 0) return;
    this.#startNext();
    const results = await this.#transact(group.map(({ accountId, work }) => ({ accountId, run: work }))).catch(
      (error: unknown) => group.map((): WriteResult => ({ error })),
    );
    for (const [index, { accountId, work, isRetry, resolve, reject }] of group.entries()) {
      const result = results[index] ?? { error: new Error('a write has no result') };
      if ('value' in result) resolve(result.value);
      else if (result.retryAs === undefined) reject(toProblem(result.error));
      else if (result.retryAs === 'exclusive' || isRetry)
        this.#retryLocks.run(accountId, 'shared', () => this.#runExclusive(work)).then(resolve, reject);
      else this.#waiting.unshift({ accountId, work, isRetry: true, resolve, reject });
    }
  }

  /** Runs one transaction and publishes its commit events before the writes resolve. */
  async #transact(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]> {
    const begun = performance.now();
    let client: pg.PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      return requests.map(() => ({ error }));
    }
    const connection = this.#connections.get(client) ?? new TransactionConnection(client, this.#extras, this.#limits);
    this.#connections.set(client, connection);
    let result: GroupResult;
    try {
      result = await runTransaction(connection, requests);
    } finally {
      client.release(isConnectionLost(connection.failure));
    }
    if (result.commitEvents !== undefined) {
      this.#listeners.onGroup(requests.length, (performance.now() - begun) / 1_000);
      await this.#listeners.onCommitted(result.commitEvents);
    }
    return result.results;
  }
}
