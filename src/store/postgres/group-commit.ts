import type pg from 'pg';
import { waitForBatch } from '../../async/batches.ts';
import { Problem } from '../../problems.ts';
import type { AccountLockRequest, CommitEvents, Tx } from '../store.ts';
import { AccountLocks } from './account-locks.ts';
import {
  type AddressOptions,
  isConnectionLost,
  TransactionConnection,
  type TransactionTimeouts,
  toProblem,
} from './connection.ts';
import { type GroupResult, runTransaction, type WriteRequest, type WriteResult } from './group-transaction.ts';
import type { Pool } from './pool.ts';

/** Maximum number of waiting writes. Further writes are rejected with 503 (load shedding). */
const MAX_WAITING_WRITES = 4_096;

/** Maximum number of attempts of a write that conflicts with other transactions. */
const MAX_WRITE_ATTEMPTS = 10;

/** Maximum number of writes per group transaction. At most half of them are of one account. */
const MAX_GROUP_SIZE = 64;

/** Maximum number of concurrent group transactions: while one is being synced to disk, another one runs its queries. */
const MAX_RUNNING_GROUPS = 2;

/** Called after each commit. The writes of the commit resolve after the promise of `onCommitted`. */
type WriteListeners = {
  readonly onCommitted: (events: CommitEvents) => Promise<void> | undefined;
  readonly onGroupCommitted: (writeCount: number, durationS: number) => void;
};

/** A write that waits for a group transaction. */
type WaitingWrite = {
  readonly accountLock: AccountLockRequest;
  readonly run: WriteRequest['run'];
  /** Whether the write has already been rolled back with a group. */
  readonly isRetry: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Group commit for PostgreSQL: writes with a shared account lock that are waiting at the same time are batched into one
 * transaction with one commit, so one fsync and fewer round trips. Writes with an exclusive lock have a transaction of
 * their own. If a group is rolled back because of one member, that member is retried in its own transaction, and the
 * other members in a group. Load shedding: if MAX_WAITING_WRITES writes are waiting, further ones are rejected with
 * `overloaded`.
 */
export class GroupCommit {
  readonly #pool: Pool;
  readonly #addressOptions: AddressOptions;
  readonly #timeouts: TransactionTimeouts | undefined;
  readonly #listeners: WriteListeners;
  readonly #connections = new WeakMap<pg.PoolClient, TransactionConnection>();
  readonly #accountLocks = new AccountLocks(MAX_GROUP_SIZE / 2, MAX_WAITING_WRITES);
  /** Limits the retries of one account to half of the connections, so that other writes can use the other half. */
  readonly #retryLocks: AccountLocks;
  #waitingWrites: WaitingWrite[] = [];
  #runningGroupCount = 0;

  constructor(
    pool: Pool,
    addressOptions: AddressOptions,
    timeouts: TransactionTimeouts | undefined,
    listeners: WriteListeners,
  ) {
    this.#pool = pool;
    this.#addressOptions = addressOptions;
    this.#timeouts = timeouts;
    this.#listeners = listeners;
    this.#retryLocks = new AccountLocks(Math.max(1, Math.floor(pool.maxConnections / 2)), MAX_WAITING_WRITES);
  }

  /** Runs a write in a transaction; `Store.write` describes the guarantees. */
  write<T>(work: (tx: Tx) => Promise<T>, accountLock?: AccountLockRequest): Promise<T> {
    if (accountLock === undefined) return this.#runExclusive(work) as Promise<T>;
    const run = () =>
      accountLock.lockMode === 'shared' ? this.#enqueueShared(accountLock, work) : this.#runExclusive(work);
    return this.#accountLocks.runWithLock(accountLock, run) as Promise<T>;
  }

  /** Runs a write in its own transaction. Retries the write after a conflict. */
  async #runExclusive(work: WriteRequest['run']): Promise<unknown> {
    if (this.#pool.waitingCount >= MAX_WAITING_WRITES) throw new Problem('overloaded');
    for (let attempt = 1; ; attempt += 1) {
      const [result] = await this.#runTransaction([{ run: work }]);
      if (result === undefined) throw new Error('a write has no result');
      if ('value' in result) return result.value;
      if (attempt === MAX_WRITE_ATTEMPTS || result.retry === undefined) throw toProblem(result.error);
    }
  }

  #enqueueShared(accountLock: AccountLockRequest, work: WriteRequest['run']): Promise<unknown> {
    if (this.#waitingWrites.length >= MAX_WAITING_WRITES) return Promise.reject(new Problem('overloaded'));
    return new Promise((resolve, reject) => {
      this.#waitingWrites.push({ accountLock, run: work, isRetry: false, resolve, reject });
      this.#startNextGroup();
    });
  }

  /** Starts a group transaction if writes are waiting and fewer than MAX_RUNNING_GROUPS groups are running. */
  #startNextGroup(): void {
    if (this.#runningGroupCount >= MAX_RUNNING_GROUPS || this.#waitingWrites.length === 0) return;
    this.#runningGroupCount += 1;
    void this.#runGroup().finally(() => {
      this.#runningGroupCount -= 1;
      this.#startNextGroup();
    });
  }

  /** Runs the waiting writes in one group transaction. Never rejects. */
  async #runGroup(): Promise<void> {
    await waitForBatch(() => this.#waitingWrites.length, MAX_GROUP_SIZE);
    const group = this.#waitingWrites.splice(0, MAX_GROUP_SIZE);
    if (group.length === 0) return;
    this.#startNextGroup();
    const requests = group.map(({ accountLock, run }) => ({ accountId: accountLock.accountId, run }));
    const results = await this.#runTransaction(requests).catch((error: unknown) =>
      group.map((): WriteResult => ({ error })),
    );
    for (const [index, { accountLock, run, isRetry, resolve, reject }] of group.entries()) {
      const result = results[index] ?? { error: new Error('a write has no result') };
      if ('value' in result) resolve(result.value);
      else if (result.retry === undefined) reject(toProblem(result.error));
      else if (result.retry === 'alone' || isRetry)
        this.#retryLocks.runWithLock(accountLock, () => this.#runExclusive(run)).then(resolve, reject);
      else this.#waitingWrites.unshift({ accountLock, run, isRetry: true, resolve, reject });
    }
  }

  /** Runs one transaction and publishes its commit events before the writes resolve. */
  async #runTransaction(requests: readonly WriteRequest[]): Promise<readonly WriteResult[]> {
    const startedAt = performance.now();
    let client: pg.PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      return requests.map(() => ({ error }));
    }
    const connection =
      this.#connections.get(client) ?? new TransactionConnection(client, this.#addressOptions, this.#timeouts);
    this.#connections.set(client, connection);
    let result: GroupResult;
    try {
      result = await runTransaction(connection, requests);
    } finally {
      client.release(isConnectionLost(connection.failure));
    }
    if (result.commitEvents !== undefined) {
      this.#listeners.onGroupCommitted(requests.length, (performance.now() - startedAt) / 1_000);
      await this.#listeners.onCommitted(result.commitEvents);
    }
    return result.writeResults;
  }
}
