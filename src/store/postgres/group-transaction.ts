import type pg from 'pg';
import { Problem } from '../../problems.ts';
import { CommitEventsBuilder, trail } from '../commit-events.ts';
import { BeforeCommit } from '../commit-hooks.ts';
import type { CommitEvents, LockMode, Queries, Tx } from '../store.ts';
import {
  type Extras,
  isConnectionLost,
  isTimeout,
  type QueryFunction,
  queriesOver,
  queryFunctionOf,
  sqlStateOf,
} from './connection.ts';
import { QueryBatcher } from './query-batcher.ts';

/**
 * What becomes true by doing it again: a conflict or a deadlock with another transaction, a row that another one has
 * just made or taken away (asked again, it is found or not), a plan that a migration has made stale.
 */
const RETRYABLE_SQLSTATES = ['40001', '40P01', '23505', '23503', '0A000', '55P03'];

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

/**
 * A write: what it does in a transaction, as often as that has to be made again. One that others may be carried with, even
 * where none is at this moment, says for which account, and waits for nobody who has that alone.
 */
export type WriteRequest = { readonly run: (tx: Tx) => Promise<unknown>; readonly accountId?: number | undefined };

/** Where one of the writes of a transaction asks: whether it has changed anything is seen by what it sends. */
type MemberSession = { readonly queries: Queries; hasChanged: boolean };

/** One connection, while it carries a transaction: what failed first on it is what went wrong. */
export class TransactionConnection {
  readonly client: pg.PoolClient;
  readonly queries: Queries;
  readonly #extras: Extras;
  readonly #limits: Limits | undefined;
  readonly #together: QueryBatcher;
  readonly #places: MemberSession[] = [];
  failure: unknown;
  /** Whose query it was that failed first; undefined where it was the transaction's own. */
  failedPlace: MemberSession | undefined;

  constructor(client: pg.PoolClient, extras: Extras, limits: Limits | undefined) {
    this.client = client;
    this.#extras = extras;
    this.#limits = limits;
    const ask = queryFunctionOf(client, extras, (error) => this.#fail(error), limits?.answerMs);
    this.queries = queriesOver(ask);
    // Whatever writes ask that are begun together.
    this.#together = new QueryBatcher((text, values) => ask(text, values, 'once'), process.nextTick);
    // Heard by nobody else while it is out of the pool: it fails what is under way, and not the process.
    client.on('error', (error) => this.#fail(error));
  }

  /** Begins a transaction of so many writes; answers where each of them asks. */
  begin(writes: number): { begun: Promise<unknown>; places: readonly MemberSession[] } {
    this.failure = undefined;
    this.failedPlace = undefined;
    while (this.#places.length < writes) this.#places.push(this.#newPlace());
    const places = this.#places.slice(0, writes);
    for (const place of places) place.hasChanged = false;
    const still = this.#limits && `; set local idle_in_transaction_session_timeout = ${this.#limits.stillMs}`;
    return { begun: this.send(`begin${still ?? ''}`), places };
  }

  /** Sends a statement of our own without waiting for its answer. */
  send(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    const limit = this.#limits === undefined ? {} : { query_timeout: this.#limits.answerMs };
    const sent = this.client.query({ text, values: [...values], ...limit }).catch((error: unknown) => {
      throw this.#fail(error);
    });
    sent.catch(() => undefined);
    return sent;
  }

  #newPlace(): MemberSession {
    const noteChange = (text: string) => {
      if (!text.startsWith('select')) place.hasChanged = true;
    };
    const failed = (error: unknown) => this.#fail(error, place);
    const own = queryFunctionOf(this.client, this.#extras, failed, this.#limits?.answerMs);
    const ask: QueryFunction = (text, values, planned) => {
      noteChange(text);
      return own(text, values, planned);
    };
    const queries = queriesOver(ask, (text, parameters) => {
      noteChange(text);
      return this.#together.ask(text, parameters);
    });
    const place: MemberSession = { queries, hasChanged: false };
    return place;
  }

  #fail(error: unknown, place?: MemberSession): unknown {
    if (this.failure === undefined) {
      this.failure = error;
      this.failedPlace = place;
    }
    return error;
  }
}

/**
 * What has come of one write: what it answers; or why it failed, and whether it may succeed when it is made once more,
 * `alone` in a transaction or `beside` others.
 */
export type WriteResult =
  | { readonly value: unknown }
  | { readonly error: unknown; readonly again?: LockMode | undefined };

/** What has come of a transaction: the news of its commit, if it was committed, and of each of its writes. */
export type GroupResult = { readonly news?: CommitEvents; readonly ends: readonly WriteResult[] };

/** One write, as one of those that a transaction carries. */
class GroupMember {
  readonly news = new CommitEventsBuilder();
  readonly left = new BeforeCommit();
  readonly conditions: Promise<unknown>[] = [];
  /** Whether the accounts that it changes are kept from whoever wants one alone. */
  readonly holds: Promise<boolean>[] = [];
  readonly place: MemberSession;

  constructor(place: MemberSession) {
    this.place = place;
  }

  async run(work: WriteRequest, tx: Tx): Promise<unknown> {
    const value = await work.run(tx);
    if (this.conditions.length > 0) await Promise.all(this.conditions);
    return value;
  }
}

/**
 * One transaction, of one write or of several at the same time: no query waits for those of the others, the beginning
 * travels with the first ones, and what can be left to the end with the commit. Where one of several fails, and what it
 * has changed would be committed with the others, all are undone.
 */
export async function transact(carrier: TransactionConnection, works: readonly WriteRequest[]): Promise<GroupResult> {
  const { begun, places } = carrier.begin(works.length);
  const common = new GroupTransaction(carrier, works);
  common.trailing.push(begun);
  const carried = places.map((place) => new GroupMember(place));
  const running = works.map((work, index) => {
    const one = carried[index] as GroupMember;
    return one.run(work, common.txOf(one));
  });
  const ran = await Promise.allSettled(running);
  const held = await Promise.all(carried.map(async ({ holds }) => !(await Promise.all(holds)).includes(false))).catch(
    () => [],
  );
  const mayCommit = carried.every(({ place }, index) => {
    return held[index] === true && (ran[index]?.status === 'fulfilled' || !place.hasChanged);
  });
  if (carrier.failure !== undefined || !mayCommit || ran.every(({ status }) => status === 'rejected')) {
    await carrier.send('rollback').catch(() => undefined);
    return { ends: isAlone(works) ? [retryAlone(carrier, ran)] : retryResult(carrier, carried, ran, held) };
  }

  const all = new GroupMember({ queries: carrier.queries, hasChanged: true });
  for (const [index, { news, left }] of carried.entries()) {
    if (ran[index]?.status === 'rejected') continue;
    all.news.add(news);
    all.left.addAll(left);
  }
  const acting = all.left.act(common.txOf(all));
  const committing = carrier.send('commit');
  const ended = await Promise.allSettled([committing, acting, ...common.trailing]);
  const broken = ended.find((one) => one.status === 'rejected');
  if (broken === undefined && (await committing).command === 'COMMIT') return { news: all.news, ends: ran.map(endOf) };
  const error = carrier.failure ?? broken?.reason;
  // Once the commit is on its way, a lost connection leaves its outcome unknown: it must not be done again.
  const again = isTransient(error) && !isConnectionLost(error) ? 'alone' : undefined;
  return { ends: ran.map((one) => (one.status === 'rejected' ? endOf(one) : { error, again })) };
}

/** Whether this is one that is carried by itself. */
const isAlone = ([one]: readonly WriteRequest[]): boolean => one?.accountId === undefined;

/** What the writes of one transaction have in common. */
class GroupTransaction {
  /** Sent, and not waited for before the commit. */
  readonly trailing: Promise<unknown>[] = [];
  readonly #carrier: TransactionConnection;
  readonly #isAlone: boolean;
  /** The accounts that were to be had beside others at once. */
  readonly #held: Promise<ReadonlySet<number>>;
  readonly #asked = new Map<object, Promise<unknown>>();
  readonly #names = new Set<string>();

  constructor(carrier: TransactionConnection, works: readonly WriteRequest[]) {
    this.#carrier = carrier;
    this.#isAlone = isAlone(works);
    const accounts = works.map(({ accountId }) => accountId).filter((accountId) => accountId !== undefined);
    this.#held = this.#isAlone ? Promise.resolve(new Set<number>()) : this.#lockShared([...new Set(accounts)]);
    this.#held.catch(() => undefined);
  }

  txOf({ news, left, conditions, holds, place: { queries } }: GroupMember): Tx {
    return {
      queries,
      news,
      lockAccount: (accountId, how) => {
        const held = this.#lock(accountId, how);
        // Whether it is held is looked at when the work is through; until then, nobody hears that it could not be.
        held.catch(() => undefined);
        holds.push(held);
      },
      tryLockAccount: (name) => this.#tryLock(name),
      withCommit: (query) => trail(this.trailing, queries, query),
      commitIf: (condition) => trail(conditions, queries, condition),
      beforeCommit: (act, item) => left.add(act, item),
      dedupe: (about, ask) => this.#dedupe(about, ask),
      // Another node may have changed it since it was read.
      mayHaveStaleAccess: true,
    };
  }

  /** Waits for others as long as it takes; but what is carried with others waits for nobody. */
  async #lock(accountId: number, how: LockMode): Promise<boolean> {
    if (!this.#isAlone) return how === 'beside' && (await this.#held).has(accountId);
    const shared = how === 'beside' ? '_shared' : '';
    this.trailing.push(this.#carrier.send(`select pg_advisory_xact_lock${shared}($1, $2)`, keyOf(accountId)));
    return true;
  }

  async #lockShared(accountIds: readonly number[]): Promise<ReadonlySet<number>> {
    const keys = accountIds.map((accountId) => keyOf(accountId)[1]);
    const { rows } = await this.#carrier.send(
      `select pg_try_advisory_xact_lock_shared($1, key) as held from unnest($2::int4[]) with ordinality as asked (key, turn)
        order by turn`,
      [ACCOUNT_LOCKS, keys],
    );
    return new Set(accountIds.filter((_, index) => rows[index]?.held === true));
  }

  async #tryLock(name: string): Promise<boolean> {
    // To the database, all of them are one.
    if (this.#names.has(name)) return false;
    this.#names.add(name);
    return isHeld(
      await this.#carrier.send('select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as held', [name]),
    );
  }

  #dedupe<T>(about: object, ask: () => Promise<T>): Promise<T> {
    const known = (this.#asked.get(about) as Promise<T> | undefined) ?? ask();
    this.#asked.set(about, known);
    return known;
  }
}

/** 32 bits wide: beyond them, accounts may wait for each other without need. */
const keyOf = (accountId: number) => [ACCOUNT_LOCKS, accountId % 2 ** 31] as const;

const isHeld = ({ rows }: pg.QueryResult): boolean => rows[0]?.held === true;

function endOf(ran: PromiseSettledResult<unknown>): WriteResult {
  return ran.status === 'fulfilled' ? { value: ran.value } : { error: ran.reason };
}

/** What becomes of the one write of a transaction that was rolled back. */
function retryAlone({ failure }: TransactionConnection, [ran]: readonly PromiseSettledResult<unknown>[]): WriteResult {
  const error = failure ?? (ran?.status === 'rejected' ? ran.reason : undefined);
  return { error, again: isTransient(error) ? 'alone' : undefined };
}

/** What becomes of several: those that nothing was wrong with are made again beside others. */
function retryResult(
  { failure, failedPlace }: TransactionConnection,
  carried: readonly GroupMember[],
  ran: readonly PromiseSettledResult<unknown>[],
  held: readonly boolean[],
): WriteResult[] {
  return carried.map(({ place }, index) => {
    const one = ran[index];
    // Where a query has failed, those behind it have for that reason alone.
    if (failure === undefined && one?.status === 'rejected') return { error: one.reason };
    const isInTheWay = failure === undefined ? held[index] !== true : [undefined, place].includes(failedPlace);
    return { error: failure, again: isInTheWay ? 'alone' : 'beside' };
  });
}

/** Whether the same work may well succeed at once. */
function isTransient(error: unknown): boolean {
  if (error instanceof Problem || isTimeout(error)) return false;
  return RETRYABLE_SQLSTATES.includes(sqlStateOf(error) ?? '') || isConnectionLost(error);
}
