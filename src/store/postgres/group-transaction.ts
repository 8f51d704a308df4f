import type pg from 'pg';
import { Problem } from '../../problems.ts';
import { addPipelined, BeforeCommitActions, CommitEventsBuilder } from '../commit-events.ts';
import type { CommitEvents, LockMode, Queries, Tx } from '../store.ts';
import {
  type AddressOptions,
  createQueries,
  createQueryFunction,
  isConnectionLost,
  isTimeout,
  type QueryFunction,
  sqlStateOf,
} from './connection.ts';
import { QueryBatcher } from './query-batcher.ts';

/**
 * SQLSTATEs of errors that are retried: serialization failure, deadlock, unique and foreign key violations (a
 * concurrent transaction has just inserted or deleted the row; the retry sees it), a stale plan after a migration, and
 * lock timeout.
 */
const RETRYABLE_SQLSTATES = ['40001', '40P01', '23505', '23503', '0A000', '55P03'];

/** Class id of the advisory locks of accounts. */
const ACCOUNT_LOCK_CLASS = 0x43_41_52_49;

/** Timeouts of a service, milliseconds. */
export type TransactionTimeouts = {
  /** Query timeout, milliseconds. */
  readonly answerMs: number;
  /**
   * Value of `idle_in_transaction_session_timeout`. A paused process would hold its locks, so the database ends its
   * transactions, before the peers evict the node.
   */
  readonly idleInTransactionMs: number;
};

/**
 * A write. `run` is called again after a rollback. A write with `accountId` may share a transaction with other writes.
 * It then does not wait for an exclusive lock of its account, but is retried in a transaction of its own.
 */
export type WriteRequest = { readonly run: (tx: Tx) => Promise<unknown>; readonly accountId?: number | undefined };

/**
 * The queries of one member of a group transaction. `hasChanged` is set when the member has sent a statement other than
 * a select.
 */
type MemberSession = { readonly queries: Queries; hasChanged: boolean };

/**
 * A connection that runs transactions. `failure` is the first error of the current transaction; later errors are
 * consequences of it.
 */
export class TransactionConnection {
  readonly client: pg.PoolClient;
  readonly queries: Queries;
  readonly #extras: AddressOptions;
  readonly #limits: TransactionTimeouts | undefined;
  readonly #batcher: QueryBatcher;
  readonly #sessions: MemberSession[] = [];
  failure: unknown;
  /** The session of the member whose query failed first; undefined if a query of the transaction itself failed. */
  failedSession: MemberSession | undefined;

  constructor(client: pg.PoolClient, extras: AddressOptions, limits: TransactionTimeouts | undefined) {
    this.client = client;
    this.#extras = extras;
    this.#limits = limits;
    const send = createQueryFunction(client, extras, (error) => this.#fail(error), limits?.answerMs);
    this.queries = createQueries(send);
    // Batches the queries that the members of a group send in the same tick.
    this.#batcher = new QueryBatcher((text, values) => send(text, values, 'prepared'), process.nextTick);
    // While the connection is checked out, the pool does not handle its errors, and an error without a listener ends
    // the process.
    client.on('error', (error) => this.#fail(error));
  }

  /** Begins a transaction of `writes` members. Returns a session for each of them. */
  begin(writes: number): { begun: Promise<unknown>; sessions: readonly MemberSession[] } {
    this.failure = undefined;
    this.failedSession = undefined;
    while (this.#sessions.length < writes) this.#sessions.push(this.#newSession());
    const sessions = this.#sessions.slice(0, writes);
    for (const session of sessions) session.hasChanged = false;
    const timeout =
      this.#limits && `; set local idle_in_transaction_session_timeout = ${this.#limits.idleInTransactionMs}`;
    return { begun: this.send(`begin${timeout ?? ''}`), sessions };
  }

  /**
   * Sends a statement of the transaction itself, not of a member. Its error is noted even if the result is not awaited.
   */
  send(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    const limit = this.#limits === undefined ? {} : { query_timeout: this.#limits.answerMs };
    const sent = this.client.query({ text, values: [...values], ...limit }).catch((error: unknown) => {
      throw this.#fail(error);
    });
    sent.catch(() => undefined);
    return sent;
  }

  #newSession(): MemberSession {
    const noteChange = (text: string) => {
      if (!text.startsWith('select')) session.hasChanged = true;
    };
    const failed = (error: unknown) => this.#fail(error, session);
    const sendNow = createQueryFunction(this.client, this.#extras, failed, this.#limits?.answerMs);
    const send: QueryFunction = (text, values, mode) => {
      noteChange(text);
      return sendNow(text, values, mode);
    };
    const queries = createQueries(send, (text, parameters) => {
      noteChange(text);
      return this.#batcher.query(text, parameters);
    });
    const session: MemberSession = { queries, hasChanged: false };
    return session;
  }

  #fail(error: unknown, session?: MemberSession): unknown {
    if (this.failure === undefined) {
      this.failure = error;
      this.failedSession = session;
    }
    return error;
  }
}

/**
 * The result of one write: its value, or its error and how the write is retried: `exclusive` in its own transaction,
 * `shared` with other writes in a group, or not at all (undefined).
 */
export type WriteResult =
  | { readonly value: unknown }
  | { readonly error: unknown; readonly retryAs?: LockMode | undefined };

/** The result of a transaction: its commit events, if it was committed, and the result of each write. */
export type GroupResult = { readonly commitEvents?: CommitEvents; readonly results: readonly WriteResult[] };

/** One write of a group transaction, with the events, locks and conditions that it has added. */
class GroupMember {
  readonly commitEvents = new CommitEventsBuilder();
  readonly beforeCommit = new BeforeCommitActions();
  readonly conditions: Promise<unknown>[] = [];
  /** For each account lock that the write has requested: whether the lock was acquired. */
  readonly locks: Promise<boolean>[] = [];
  readonly session: MemberSession;

  constructor(session: MemberSession) {
    this.session = session;
  }

  async run(work: WriteRequest, tx: Tx): Promise<unknown> {
    const value = await work.run(tx);
    if (this.conditions.length > 0) await Promise.all(this.conditions);
    return value;
  }
}

/**
 * Runs one write, or a group of writes concurrently, in one transaction. Pipelined: queries of one member do
 * not wait for those of others, `begin` is sent with the first ones, and `withCommit` queries with the commit.
 * If a member fails after it has changed something, or does not get its account lock, the whole group is rolled
 * back.
 */
export async function runTransaction(
  connection: TransactionConnection,
  requests: readonly WriteRequest[],
): Promise<GroupResult> {
  const { begun, sessions } = connection.begin(requests.length);
  const group = new GroupTransaction(connection, requests);
  group.trailing.push(begun);
  const members = sessions.map((session) => new GroupMember(session));
  const running = requests.map((request, index) => {
    const member = members[index] as GroupMember;
    return member.run(request, group.txOf(member));
  });
  const ran = await Promise.allSettled(running);
  const locked = await Promise.all(members.map(async ({ locks }) => !(await Promise.all(locks)).includes(false))).catch(
    () => [],
  );
  const mayCommit = members.every(({ session }, index) => {
    return locked[index] === true && (ran[index]?.status === 'fulfilled' || !session.hasChanged);
  });
  if (connection.failure !== undefined || !mayCommit || ran.every(({ status }) => status === 'rejected')) {
    await connection.send('rollback').catch(() => undefined);
    return {
      results: isExclusive(requests)
        ? [resultAfterRollback(connection, ran)]
        : resultsAfterRollback(connection, members, ran, locked),
    };
  }

  const merged = new GroupMember({ queries: connection.queries, hasChanged: true });
  for (const [index, { commitEvents, beforeCommit }] of members.entries()) {
    if (ran[index]?.status === 'rejected') continue;
    merged.commitEvents.add(commitEvents);
    merged.beforeCommit.addAll(beforeCommit);
  }
  const acting = merged.beforeCommit.act(group.txOf(merged));
  const committing = connection.send('commit');
  const ended = await Promise.allSettled([committing, acting, ...group.trailing]);
  const failed = ended.find((result) => result.status === 'rejected');
  if (failed === undefined && (await committing).command === 'COMMIT')
    return { commitEvents: merged.commitEvents, results: ran.map(resultOf) };
  const error = connection.failure ?? failed?.reason;
  // If the connection is lost after the commit was sent, the outcome is unknown: the write must not be retried.
  const retryAs = isTransient(error) && !isConnectionLost(error) ? 'exclusive' : undefined;
  return { results: ran.map((result) => (result.status === 'rejected' ? resultOf(result) : { error, retryAs })) };
}

/** Whether the requests are a single write with its own transaction, which may wait for locks. */
const isExclusive = ([request]: readonly WriteRequest[]): boolean => request?.accountId === undefined;

/** The state shared by the members of one transaction: pipelined queries, account locks, deduplicated queries. */
class GroupTransaction {
  /** Results of queries that were sent and are awaited with the commit. */
  readonly trailing: Promise<unknown>[] = [];
  readonly #connection: TransactionConnection;
  readonly #isExclusive: boolean;
  /** Accounts whose shared lock was acquired without waiting. */
  readonly #sharedLocks: Promise<ReadonlySet<number>>;
  readonly #deduped = new Map<object, Promise<unknown>>();
  readonly #lockNames = new Set<string>();

  constructor(connection: TransactionConnection, requests: readonly WriteRequest[]) {
    this.#connection = connection;
    this.#isExclusive = isExclusive(requests);
    const accounts = requests.map(({ accountId }) => accountId).filter((accountId) => accountId !== undefined);
    this.#sharedLocks = this.#isExclusive
      ? Promise.resolve(new Set<number>())
      : this.#lockShared([...new Set(accounts)]);
    this.#sharedLocks.catch(() => undefined);
  }

  txOf({ commitEvents: events, beforeCommit, conditions, locks, session: { queries } }: GroupMember): Tx {
    return {
      queries,
      events,
      lockAccount: (accountId, lockMode) => {
        const locked = this.#lock(accountId, lockMode);
        // The lock is checked when the write has run. Until then, a rejection must not count as unhandled.
        locked.catch(() => undefined);
        locks.push(locked);
      },
      tryLock: (name) => this.#tryLock(name),
      withCommit: (query) => addPipelined(this.trailing, queries, query),
      commitIf: (condition) => addPipelined(conditions, queries, condition),
      beforeCommit: (act, item) => beforeCommit.add(act, item),
      dedupe: (key, query) => this.#dedupe(key, query),
      // Another node may have changed permissions since they were cached.
      mayHaveStaleAccess: true,
    };
  }

  /**
   * Locks an account. In a transaction of its own, a write waits for the lock. In a group it never waits, and a missing
   * lock rolls the group back.
   */
  async #lock(accountId: number, how: LockMode): Promise<boolean> {
    if (!this.#isExclusive) return how === 'shared' && (await this.#sharedLocks).has(accountId);
    const shared = how === 'shared' ? '_shared' : '';
    this.trailing.push(
      this.#connection.send(`select pg_advisory_xact_lock${shared}($1, $2)`, accountLockKey(accountId)),
    );
    return true;
  }

  async #lockShared(accountIds: readonly number[]): Promise<ReadonlySet<number>> {
    const keys = accountIds.map((accountId) => accountLockKey(accountId)[1]);
    const { rows } = await this.#connection.send(
      `select pg_try_advisory_xact_lock_shared($1, key) as held from unnest($2::int4[]) with ordinality as keys (key, number)
        order by number`,
      [ACCOUNT_LOCK_CLASS, keys],
    );
    return new Set(accountIds.filter((_, index) => rows[index]?.held === true));
  }

  async #tryLock(name: string): Promise<boolean> {
    // The members share a transaction, so the database would grant the lock twice.
    if (this.#lockNames.has(name)) return false;
    this.#lockNames.add(name);
    return isHeld(
      await this.#connection.send('select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as held', [name]),
    );
  }

  #dedupe<T>(key: object, query: () => Promise<T>): Promise<T> {
    const result = (this.#deduped.get(key) as Promise<T> | undefined) ?? query();
    this.#deduped.set(key, result);
    return result;
  }
}

/**
 * Returns the keys of the advisory lock of an account. Keys have 32 bits: accounts with the same lower 31 bits share a
 * lock.
 */
const accountLockKey = (accountId: number) => [ACCOUNT_LOCK_CLASS, accountId % 2 ** 31] as const;

const isHeld = ({ rows }: pg.QueryResult): boolean => rows[0]?.held === true;

function resultOf(ran: PromiseSettledResult<unknown>): WriteResult {
  return ran.status === 'fulfilled' ? { value: ran.value } : { error: ran.reason };
}

/** Returns the result of a single write whose transaction was rolled back. */
function resultAfterRollback(
  { failure }: TransactionConnection,
  [ran]: readonly PromiseSettledResult<unknown>[],
): WriteResult {
  const error = failure ?? (ran?.status === 'rejected' ? ran.reason : undefined);
  return { error, retryAs: isTransient(error) ? 'exclusive' : undefined };
}

/**
 * Returns the results of a group that was rolled back: the member that caused the rollback is retried in its own
 * transaction, the other members in a group.
 */
function resultsAfterRollback(
  { failure, failedSession }: TransactionConnection,
  members: readonly GroupMember[],
  ran: readonly PromiseSettledResult<unknown>[],
  locked: readonly boolean[],
): WriteResult[] {
  return members.map(({ session }, index) => {
    const result = ran[index];
    // After a failed query all later ones fail too ("transaction is aborted"), so their errors mean nothing.
    if (failure === undefined && result?.status === 'rejected') return { error: result.reason };
    const isCause = failure === undefined ? locked[index] !== true : [undefined, session].includes(failedSession);
    return { error: failure, retryAs: isCause ? 'exclusive' : 'shared' };
  });
}

/** Whether an immediate retry is likely to succeed. */
function isTransient(error: unknown): boolean {
  if (error instanceof Problem || isTimeout(error)) return false;
  return RETRYABLE_SQLSTATES.includes(sqlStateOf(error) ?? '') || isConnectionLost(error);
}
