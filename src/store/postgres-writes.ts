import type pg from 'pg';
import { gather } from '../gather.ts';
import { Problem } from '../problems.ts';
import { asProblem, type Extras, isConnectionLost } from './postgres-connection.ts';
import type { Pool } from './postgres-pool.ts';
import { Carrier, type End, type Ended, type Limits, transact, type Work } from './postgres-transaction.ts';
import { Turns } from './postgres-turns.ts';
import type { News, Tx, Writer } from './store.ts';

/** More writes than this waiting for a connection: the next one is shed with 503. */
const MOST_WAITING = 4_096;

/** How often a write is made again that another one came in the way of. */
const MOST_TRIES = 10;

/** How many writes one transaction carries at the most; of one account, half as many. */
const LARGEST_GROUP = 64;

/** How many such transactions there are at once: while one is written to the disk, another one asks. */
const GROUPS_AT_ONCE = 2;

type Listeners = {
  readonly onCommitted: (news: News) => Promise<void> | undefined;
  readonly onGroup: (writes: number, seconds: number) => void;
};

/** A write that waits to be carried beside others. */
type Waiting = {
  readonly accountId: number;
  readonly work: Work['run'];
  /** Others have come in its way before. */
  readonly isAgain: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Writes to PostgreSQL. Those that come one after another without a pause, and may run beside others, are carried by one
 * transaction and one commit; any other is a transaction by itself.
 */
export class Writes {
  readonly #pool: Pool;
  readonly #extras: Extras;
  readonly #limits: Limits | undefined;
  readonly #listeners: Listeners;
  readonly #carriers = new WeakMap<pg.PoolClient, Carrier>();
  readonly #turns = new Turns(LARGEST_GROUP / 2, MOST_WAITING);
  /** For those that others had to leave aside: of one account half of the connections, so that the others are not its. */
  readonly #asideTurns: Turns;
  #waiting: Waiting[] = [];
  #groups = 0;

  constructor(pool: Pool, extras: Extras, limits: Limits | undefined, listeners: Listeners) {
    this.#pool = pool;
    this.#extras = extras;
    this.#limits = limits;
    this.#listeners = listeners;
    this.#asideTurns = new Turns(Math.max(1, Math.floor(pool.most / 2)), MOST_WAITING);
  }

  write<T>(work: (tx: Tx) => Promise<T>, whose?: Writer): Promise<T> {
    if (whose === undefined) return this.#alone(work) as Promise<T>;
    const { accountId, how } = whose;
    const run = () => (how === 'beside' ? this.#beside(accountId, work) : this.#alone(work));
    return this.#turns.run(accountId, how, run) as Promise<T>;
  }

  /** In a transaction of its own, which is made again where another one came in the way. */
  async #alone(work: Work['run']): Promise<unknown> {
    if (this.#pool.waitingCount >= MOST_WAITING) throw new Problem('overloaded');
    for (let tries = 1; ; tries += 1) {
      const [end] = await this.#transact([{ run: work }]);
      if (end === undefined) throw new Error('a write has not ended');
      if ('value' in end) return end.value;
      if (tries === MOST_TRIES || end.again === undefined) throw asProblem(end.error);
    }
  }

  #beside(accountId: number, work: Work['run']): Promise<unknown> {
    if (this.#waiting.length >= MOST_WAITING) return Promise.reject(new Problem('overloaded'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ accountId, work, isAgain: false, resolve, reject });
      this.#goOn();
    });
  }

  /** Begins to carry what waits, if not as much as may be is under way. */
  #goOn(): void {
    if (this.#groups >= GROUPS_AT_ONCE || this.#waiting.length === 0) return;
    this.#groups += 1;
    void this.#carry().finally(() => {
      this.#groups -= 1;
      this.#goOn();
    });
  }

  /** Never rejects. */
  async #carry(): Promise<void> {
    await gather(() => this.#waiting.length, LARGEST_GROUP);
    const group = this.#waiting.splice(0, LARGEST_GROUP);
    if (group.length === 0) return;
    this.#goOn();
    const ends = await this.#transact(group.map(({ accountId, work }) => ({ accountId, run: work }))).catch(
      (error: unknown) => group.map((): End => ({ error })),
    );
    for (const [index, { accountId, work, isAgain, resolve, reject }] of group.entries()) {
      const end = ends[index] ?? { error: new Error('a write has not ended') };
      if ('value' in end) resolve(end.value);
      else if (end.again === undefined) reject(asProblem(end.error));
      else if (end.again === 'alone' || isAgain)
        this.#asideTurns.run(accountId, 'beside', () => this.#alone(work)).then(resolve, reject);
      else this.#waiting.unshift({ accountId, work, isAgain: true, resolve, reject });
    }
  }

  /** Carries out one transaction; what it has come to is told before whoever wrote is answered. */
  async #transact(works: readonly Work[]): Promise<readonly End[]> {
    const begun = performance.now();
    let client: pg.PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      return works.map(() => ({ error }));
    }
    const carrier = this.#carriers.get(client) ?? new Carrier(client, this.#extras, this.#limits);
    this.#carriers.set(client, carrier);
    let ended: Ended;
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
