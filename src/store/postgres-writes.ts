import type pg from 'pg';
import { Problem } from '../problems.ts';
import { LeftForCommit } from './at-commit.ts';
import { NewsInTheMaking, trail } from './news.ts';
import { asProblem, type Extras, isConnectionLost, isTimeout, queriesOver, sqlStateOf } from './postgres-connection.ts';
import type { Pool } from './postgres-pool.ts';
import { Turns } from './postgres-turns.ts';
import type { News, Queries, Tx, Writer } from './store.ts';

/** More writes than this waiting for a connection: the next one is shed with 503. */
const MOST_WAITING = 4_096;

/** How often a write is made again that another one came in the way of. */
const MOST_TRIES = 10;

/**
 * What becomes true by doing it again: a conflict or a deadlock with another transaction, a row that another one has
 * just made or taken away (asked again, it is found or not), a plan that a migration has made stale.
 */
const AGAIN = ['40001', '40P01', '23505', '23503', '0A000', '55P03'];

/** Keeps an account's locks apart from those of others who may use the same database. */
const ACCOUNT_LOCKS = 0x43_41_52_49;

/** How long a service waits for an answer, and the database for a service, milliseconds. */
export type Limits = {
  readonly answerMs: number;
  /**
   * A process that stands still in the middle of a transaction keeps what it has locked from everybody: the database
   * ends that sooner than the others give up the process itself.
   */
  readonly stillMs: number;
};

type Listeners = {
  readonly onCommitted: (news: News) => Promise<void> | undefined;
  readonly onGroup: (writes: number, seconds: number) => void;
};

/** One connection, while it carries a transaction: what failed first on it is what went wrong. */
class Carrier {
  readonly client: pg.PoolClient;
  readonly queries: Queries;
  readonly #limits: Limits | undefined;
  failure: unknown;

  constructor(client: pg.PoolClient, extras: Extras, limits: Limits | undefined) {
    this.client = client;
    this.#limits = limits;
    this.queries = queriesOver(client, extras, (error) => this.fail(error), limits?.answerMs);
    // Heard by nobody else while it is out of the pool: it fails what is under way, and not the process.
    client.on('error', (error) => this.fail(error));
  }

  fail(error: unknown): unknown {
    this.failure ??= error;
    return error;
  }

  begin(): Promise<unknown> {
    if (this.#limits === undefined) return this.send('begin');
    return this.send(`begin; set local idle_in_transaction_session_timeout = ${this.#limits.stillMs}`);
  }

  /** Sends a statement of our own without waiting for its answer. */
  send(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    const limit = this.#limits === undefined ? {} : { query_timeout: this.#limits.answerMs };
    const sent = this.client.query({ text, values: [...values], ...limit }).catch((error: unknown) => {
      throw this.fail(error);
    });
    sent.catch(() => undefined);
    return sent;
  }
}

/**
 * Writes to PostgreSQL: each a transaction on a connection of its own. The beginning travels with the first query and
 * the last queries with the commit, so that a usual write takes three round trips.
 */
export class Writes {
  readonly #pool: Pool;
  readonly #extras: Extras;
  readonly #limits: Limits | undefined;
  readonly #listeners: Listeners;
  readonly #carriers = new WeakMap<pg.PoolClient, Carrier>();
  readonly #turns: Turns;

  constructor(pool: Pool, extras: Extras, limits: Limits | undefined, listeners: Listeners) {
    this.#pool = pool;
    this.#extras = extras;
    this.#limits = limits;
    this.#listeners = listeners;
    // Half of them, so that the others are not one account's whatever it does.
    this.#turns = new Turns(Math.max(1, Math.floor(pool.most / 2)), MOST_WAITING);
  }

  write<T>(work: (tx: Tx) => Promise<T>, whose?: Writer): Promise<T> {
    if (whose === undefined) return this.#write(work);
    return this.#turns.run(whose.accountId, whose.how, () => this.#write(work));
  }

  async #write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#pool.waitingCount >= MOST_WAITING) throw new Problem('overloaded');
    for (let tries = 1; ; tries += 1) {
      const begun = performance.now();
      const done = await this.#once(work);
      if ('value' in done) {
        this.#listeners.onGroup(1, (performance.now() - begun) / 1_000);
        await this.#listeners.onCommitted(done.news);
        return done.value;
      }
      if (tries === MOST_TRIES || !done.again) throw asProblem(done.error);
    }
  }

  async #once<T>(work: (tx: Tx) => Promise<T>): Promise<Done<T>> {
    let client: pg.PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      return { error, again: false };
    }
    const carrier = this.#carriers.get(client) ?? new Carrier(client, this.#extras, this.#limits);
    this.#carriers.set(client, carrier);
    carrier.failure = undefined;
    const done = await transact(carrier, work);
    client.release(isConnectionLost(carrier.failure));
    return done;
  }
}

type Done<T> = { value: T; news: News } | { error: unknown; again: boolean };

async function transact<T>(carrier: Carrier, work: (tx: Tx) => Promise<T>): Promise<Done<T>> {
  const news = new NewsInTheMaking();
  const trailing: Promise<unknown>[] = [carrier.begin()];
  const conditions: Promise<unknown>[] = [];
  const left = new LeftForCommit();
  const tx: Tx = {
    queries: carrier.queries,
    ...news.announcements,
    hold(accountId, how) {
      const shared = how === 'beside' ? '_shared' : '';
      // The key is 32 bits wide: beyond them, accounts may wait for each other without need.
      const key = accountId % 2 ** 31;
      trailing.push(carrier.send(`select pg_advisory_xact_lock${shared}($1, $2)`, [ACCOUNT_LOCKS, key]));
    },
    async tryHold(name) {
      const { rows } = await carrier.send('select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as held', [name]);
      return rows[0]?.held === true;
    },
    lock: (query) => query.forNoKeyUpdate() as typeof query,
    withCommit: (query) => trail(trailing, carrier.queries, query),
    onlyIf: (condition) => trail(conditions, carrier.queries, condition),
    atCommit: (act, item) => left.add(act, item),
    // Another node may have changed it since it was read.
    accessInDoubt: true,
  };
  let value: T;
  try {
    value = await work(tx);
    if (conditions.length > 0) await Promise.all(conditions);
  } catch (error) {
    await carrier.send('rollback').catch(() => undefined);
    const reason = carrier.failure ?? error;
    return { error: reason, again: isPassing(reason) };
  }
  const acting = left.act(tx);
  const committing = carrier.send('commit');
  const ended = await Promise.allSettled([committing, acting, ...trailing]);
  const broken = ended.find((one) => one.status === 'rejected');
  if (broken !== undefined) {
    const reason = carrier.failure ?? broken.reason;
    // Once the commit is on its way, a lost connection leaves its outcome unknown: it must not be done again.
    return { error: reason, again: isPassing(reason) && !isConnectionLost(reason) };
  }
  if ((await committing).command !== 'COMMIT') return { error: carrier.failure, again: false };
  return { value, news };
}

/** Whether the same work may well succeed at once. */
function isPassing(error: unknown): boolean {
  if (error instanceof Problem || isTimeout(error)) return false;
  return AGAIN.includes(sqlStateOf(error) ?? '') || isConnectionLost(error);
}
