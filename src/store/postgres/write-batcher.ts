import type pg from 'pg';
import { waitForBatch } from '../../async/wait-for-batch.ts';
import { Problem } from '../../problems.ts';
import type { CommitEvents, Tx, Writer } from '../store.ts';
import { AccountLocks } from './account-locks.ts';
import { asProblem, type Extras, isConnectionLost } from './connection.ts';
import {
  type GroupResult,
  type Limits,
  TransactionConnection,
  transact,
  type WriteRequest,
  type WriteResult,
} from './group-transaction.ts';
import type { Pool } from './pool.ts';

/** More writes than this waiting for a connection: the next one is shed with 503. */
const MAX_WAITING = 4_096;

/** How often a write is made again that another one came in the way of. */
const MAX_ATTEMPTS = 10;

/** How many writes one transaction carries at the most; of one account, half as many. */
const MAX_GROUP_SIZE = 64;

/** How many such transactions there are at once: while one is written to the disk, another one asks. */
const GROUP_CONCURRENCY = 2;

type Listeners = {
  readonly onCommitted: (news: CommitEvents) => Promise<void> | undefined;
  readonly onGroup: (writes: number, seconds: number) => void;
};

/** A write that waits to be carried beside others. */
type Waiting = {
  readonly accountId: number;
  readonly work: WriteRequest['run'];
  /** Others have come in its way before. */
  readonly isAgain: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Writes to PostgreSQL. Those that come one after another without a pause, and may run beside others, are carried by one
 * transaction and one commit; any other is a transaction by itself.
 */
export class WriteBatcher {
  readonly #pool: Pool;
  readonly #extras: Extras;
  readonly #limits: Limits | undefined;
  readonly #listeners: Listeners;
  readonly #connections = new WeakMap<pg.PoolClient, TransactionConnection>();
  readonly #locks = new AccountLocks(MAX_GROUP_SIZE / 2, MAX_WAITING);
  /** For those that others had to leave aside: of one account half of the connections, so that the others are not its. */
  readonly #backgroundLocks: AccountLocks;
  #waiting: Waiting[] = [];
  #groups = 0;

  constructor(pool: Pool, extras: Extras, limits: Limits | undefined, listeners: Listeners) {
    this.#pool = pool;
    this.#extras = extras;
    this.#limits = limits;
    this.#listeners = listeners;
    this.#backgroundLocks = new AccountLocks(Math.max(1, Math.floor(pool.most / 2)), MAX_WAITING);
  }

  write<T>(work: (tx: Tx) => Promise<T>, whose?: Writer): Promise<T> {
    if (whose === undefined) return this.#runExclusive(work) as Promise<T>;
    const { accountId, how } = whose;
    const run = () => (how === 'beside' ? this.#runShared(accountId, work) : this.#runExclusive(work));
    return this.#locks.run(accountId, how, run) as Promise<T>;
  }

  /** In a transaction of its own, which is made again where another one came in the way. */
  async #runExclusive(work: WriteRequest['run']): Promise<unknown> {
    if (this.#pool.waitingCount >= MAX_WAITING) throw new Problem('overloaded');
    for (let tries = 1; ; tries += 1) {
      const [end] = await this.#transact([{ run: work }]);
      if (end === undefined) throw new Error('a write has not ended');
      if ('value' in end) return end.value;
      if (tries === MAX_ATTEMPTS || end.again === undefined) throw asProblem(end.error);
    }
  }

  #runShared(accountId: number, work: WriteRequest['run']): Promise<unknown> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new Problem('overloaded'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ accountId, work, isAgain: false, resolve, reject });
      this.#startNext();
    });
  }

  /** Begins to carry what waits, if not as much as may be is under way. */
  #startNext(): void {
    if (this.#groups >= GROUP_CONCURRENCY || this.#waiting.length === 0) return;
    this.#groups += 1;
    void this.#runGroup().finally(() => {
      this.#groups -= 1;
      this.#startNext();
    });
  }

  /** Never rejects. */
  async #runGroup(): Promise<void> {
    await waitForBatch(() => this.#waiting.length, MAX_GROUP_SIZE);
    const group = this.#waiting.splice(0, MAX_GROUP_SIZE);
    if (group.length === 0) return;
    this.#startNext();
    const ends = await this.#transact(group.map(({ accountId, work }) => ({ accountId, run: work }))).catch(
      (error: unknown) => group.map((): WriteResult => ({ error })),
    );
    for (const [index, { accountId, work, isAgain, resolve, reject }] of group.entries()) {
      const end = ends[index] ?? { error: new Error('a write has not ended') };
      if ('value' in end) resolve(end.value);
      else if (end.again === undefined) reject(asProblem(end.error));
      else if (end.again === 'alone' || isAgain)
        this.#backgroundLocks.run(accountId, 'beside', () => this.#runExclusive(work)).then(resolve, reject);
      else this.#waiting.unshift({ accountId, work, isAgain: true, resolve, reject });
    }
  }

  /** Carries out one transaction; what it has come to is told before whoever wrote is answered. */
  async #transact(works: readonly WriteRequest[]): Promise<readonly WriteResult[]> {
    const begun = performance.now();
    let client: pg.PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      return works.map(() => ({ error }));
    }
    const carrier = this.#connections.get(client) ?? new TransactionConnection(client, this.#extras, this.#limits);
    this.#connections.set(client, carrier);
    let ended: GroupResult;
    try {
      ended = await transact(carrier, works);
    } finally {
      client.release(isConnectionLost(carrier.failure));
    }
    if (ended.news !== undefined) {
      this.#listeners.onGroup(works.length, (performance.now() - begun) / 1_000);
      await this.#listeners.onCommitted(ended.news);
    }
    return ended.ends;
  }
}
