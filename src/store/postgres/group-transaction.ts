import type pg from 'pg';
import { Problem } from '../../problems.ts';
import { addPipelinedQuery, BeforeCommitActions, CommitEventsBuilder } from '../commit-events.ts';
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
const RETRYABLE_WRITE_SQLSTATES = ['40001', '40P01', '23505', '23503', '0A000', '55P03'];

/** Class id of the advisory locks of accounts. */
const ACCOUNT_LOCK_CLASS = 0x43_41_52_49;

/** Timeouts of a service, milliseconds. */
export type TransactionTimeouts = {
  /** Query timeout, milliseconds. */
  readonly queryMs: number;
  /**
   * Value of `idle_in_transaction_session_timeout`. A paused process would keep its locks, so the database ends its
   * transactions. The timeout is shorter than the time after which other nodes evict an unresponsive node.
   */
  readonly idleInTransactionMs: number;
};

/**
 * A write. `run` is called again after a rollback. A write with `accountId` may share a transaction with other writes.
 * In such a group, the write never waits for the lock of its account: if the lock is not free, the write is retried in
 * its own transaction.
 */
export type WriteRequest = { readonly run: (tx: Tx) => Promise<unknown>; readonly accountId?: number | undefined };

/**
 * The queries of one member of a group transaction. `hasWritten` is set when the member has sent a statement other than
 * a select.
 */
type MemberSession = { readonly queries: Queries; hasWritten: boolean };

/**
 * A connection that runs transactions. `failure` is the first error of the current transaction; later errors are
 * consequences of it.
 */
export class TransactionConnection {
  readonly client: pg.PoolClient;
  readonly queries: Queries;
  readonly #addressOptions: AddressOptions;
  readonly #timeouts: TransactionTimeouts | undefined;
  readonly #batcher: QueryBatcher;
  readonly #sessions: MemberSession[] = [];
  failure: unknown;
  /** The session of the member whose query failed first; undefined if a query of the transaction itself failed. */
  failedSession: MemberSession | undefined;

  constructor(client: pg.PoolClient, addressOptions: AddressOptions, timeouts: TransactionTimeouts | undefined) {
    this.client = client;
    this.#addressOptions = addressOptions;
    this.#timeouts = timeouts;
    const send = createQueryFunction(client, addressOptions, (error) => this.#recordFailure(error), timeouts?.queryMs);
    this.queries = createQueries(send);
    // Batches the queries that the members of a group send in the same tick.
    this.#batcher = new QueryBatcher((text, values) => send(text, values, 'prepared'), process.nextTick);
    // While the connection is checked out, the pool does not handle its errors, and an error without a listener ends
    // the process.
    client.on('error', (error) => this.#recordFailure(error));
  }

  /** Begins a transaction of `memberCount` members. Returns a session for each of them. */
  begin(memberCount: number): { beginQuery: Promise<unknown>; sessions: readonly MemberSession[] } {
    this.failure = undefined;
    this.failedSession = undefined;
    while (this.#sessions.length < memberCount) this.#sessions.push(this.#createSession());
    const sessions = this.#sessions.slice(0, memberCount);
    for (const session of sessions) session.hasWritten = false;
    const timeoutSql =
      this.#timeouts && `; set local idle_in_transaction_session_timeout = ${this.#timeouts.idleInTransactionMs}`;
    return { beginQuery: this.send(`begin${timeoutSql ?? ''}`), sessions };
  }

  /**
   * Sends a statement of the transaction itself, not of a member. An error is stored in `failure` even if the result is
   * not awaited.
   */
  send(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    const timeoutOption = this.#timeouts === undefined ? {} : { query_timeout: this.#timeouts.queryMs };
    const sentQuery = this.client.query({ text, values: [...values], ...timeoutOption }).catch((error: unknown) => {
      throw this.#recordFailure(error);
    });
    sentQuery.catch(() => undefined);
    return sentQuery;
  }

  #createSession(): MemberSession {
    const recordChange = (text: string) => {
      if (!text.startsWith('select')) session.hasWritten = true;
    };
    const recordFailure = (error: unknown) => this.#recordFailure(error, session);
    const sendNow = createQueryFunction(this.client, this.#addressOptions, recordFailure, this.#timeouts?.queryMs);
    const send: QueryFunction = (text, values, mode) => {
      recordChange(text);
      return sendNow(text, values, mode);
    };
    const queries = createQueries(send, (text, parameters) => {
      recordChange(text);
      return this.#batcher.query(text, parameters);
    });
    const session: MemberSession = { queries, hasWritten: false };
    return session;
  }

  #recordFailure(error: unknown, session?: MemberSession): unknown {
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
export type GroupResult = { readonly commitEvents?: CommitEvents; readonly writeResults: readonly WriteResult[] };

/** One write of a group transaction, with the events, locks and conditions that it has added. */
class GroupMember {
  readonly commitEvents = new CommitEventsBuilder();
  readonly beforeCommitActions = new BeforeCommitActions();
  readonly conditions: Promise<unknown>[] = [];
  /** For each account lock that the write has requested: whether the lock was acquired. */
  readonly lockResults: Promise<boolean>[] = [];
  readonly session: MemberSession;

  constructor(session: MemberSession) {
    this.session = session;
  }

  async run(request: WriteRequest, tx: Tx): Promise<unknown> {
    const value = await request.run(tx);
    if (this.conditions.length > 0) await Promise.all(this.conditions);
    return value;
  }
}

/**
 * Runs one write, or a group of writes concurrently, in one transaction. Statements are pipelined: `begin` is sent
 * together with the first queries, a query of one member does not wait for the queries of other members, and
 * `sendWithCommit` queries are sent together with the commit. If a member fails after it has written, or does not
 * get its account lock, the whole group is rolled back.
 */
export async function runTransaction(
  connection: TransactionConnection,
  requests: readonly WriteRequest[],
): Promise<GroupResult> {
  const { beginQuery, sessions } = connection.begin(requests.length);
  const group = new GroupTransaction(connection, requests);
  group.pipelinedQueries.push(beginQuery);
  const members = sessions.map((session) => new GroupMember(session));
  const runningWrites = requests.map((request, index) => {
    const member = members[index] as GroupMember;
    return member.run(request, group.createTx(member));
  });
  const settledWrites = await Promise.allSettled(runningWrites);
  const hasLocksByMember = await Promise.all(
    members.map(async ({ lockResults }) => !(await Promise.all(lockResults)).includes(false)),
  ).catch(() => []);
  const mayCommit = members.every(({ session }, index) => {
    return hasLocksByMember[index] === true && (settledWrites[index]?.status === 'fulfilled' || !session.hasWritten);
  });
  if (connection.failure !== undefined || !mayCommit || settledWrites.every(({ status }) => status === 'rejected')) {
    await connection.send('rollback').catch(() => undefined);
    return {
      writeResults: isExclusive(requests)
        ? [toResultAfterRollback(connection, settledWrites)]
        : toResultsAfterRollback(connection, members, settledWrites, hasLocksByMember),
    };
  }

  // Collects the events and `beforeCommit` items of all members that have succeeded.
  const mergedMember = new GroupMember({ queries: connection.queries, hasWritten: true });
  for (const [index, { commitEvents, beforeCommitActions }] of members.entries()) {
    if (settledWrites[index]?.status === 'rejected') continue;
    mergedMember.commitEvents.merge(commitEvents);
    mergedMember.beforeCommitActions.addAll(beforeCommitActions);
  }
  const runningActions = mergedMember.beforeCommitActions.runAll(group.createTx(mergedMember));
  const runningCommit = connection.send('commit');
  const commitResults = await Promise.allSettled([runningCommit, runningActions, ...group.pipelinedQueries]);
  const firstRejection = commitResults.find((result) => result.status === 'rejected');
  if (firstRejection === undefined && (await runningCommit).command === 'COMMIT')
    return { commitEvents: mergedMember.commitEvents, writeResults: settledWrites.map(toWriteResult) };
  const error = connection.failure ?? firstRejection?.reason;
  // If the connection is lost after the commit was sent, the outcome is unknown: the write must not be retried.
  const retryAs = isTransient(error) && !isConnectionLost(error) ? 'exclusive' : undefined;
  return {
    writeResults: settledWrites.map((result) =>
      result.status === 'rejected' ? toWriteResult(result) : { error, retryAs },
    ),
  };
}

/** Whether the requests are a single write with its own transaction, which may wait for locks. */
const isExclusive = ([request]: readonly WriteRequest[]): boolean => request?.accountId === undefined;

/** The state shared by the members of one transaction: pipelined queries, account locks, deduplicated queries. */
class GroupTransaction {
  /** Results of queries that were sent and are awaited with the commit. */
  readonly pipelinedQueries: Promise<unknown>[] = [];
  readonly #connection: TransactionConnection;
  readonly #isExclusive: boolean;
  /** Accounts whose shared lock was acquired without waiting. */
  readonly #sharedLockedAccountIds: Promise<ReadonlySet<number>>;
  readonly #dedupedQueries = new Map<object, Promise<unknown>>();
  readonly #lockNames = new Set<string>();

  constructor(connection: TransactionConnection, requests: readonly WriteRequest[]) {
    this.#connection = connection;
    this.#isExclusive = isExclusive(requests);
    const accountIds = requests.map(({ accountId }) => accountId).filter((accountId) => accountId !== undefined);
    this.#sharedLockedAccountIds = this.#isExclusive
      ? Promise.resolve(new Set<number>())
      : this.#tryLockShared([...new Set(accountIds)]);
    this.#sharedLockedAccountIds.catch(() => undefined);
  }

  createTx({ commitEvents, beforeCommitActions, conditions, lockResults, session: { queries } }: GroupMember): Tx {
    return {
      queries,
      events: commitEvents,
      lockAccount: (accountId, lockMode) => {
        const lockResult = this.#lockAccount(accountId, lockMode);
        // The lock is checked when the write has run. Until then, a rejection must not count as unhandled.
        lockResult.catch(() => undefined);
        lockResults.push(lockResult);
      },
      tryLock: (name) => this.#tryNamedLock(name),
      sendWithCommit: (query) => addPipelinedQuery(this.pipelinedQueries, queries, query),
      commitIf: (condition) => addPipelinedQuery(conditions, queries, condition),
      beforeCommit: (action, item) => beforeCommitActions.add(action, item),
      dedupe: (key, query) => this.#dedupe(key, query),
      // Another node may have changed permissions since they were cached.
      mayHaveStaleAccess: true,
    };
  }

  /**
   * Locks an account. In a transaction of its own, a write waits for the lock. In a group it never waits, and a missing
   * lock rolls the group back.
   */
  async #lockAccount(accountId: number, lockMode: LockMode): Promise<boolean> {
    if (!this.#isExclusive) return lockMode === 'shared' && (await this.#sharedLockedAccountIds).has(accountId);
    const lockSuffix = lockMode === 'shared' ? '_shared' : '';
    this.pipelinedQueries.push(
      this.#connection.send(`select pg_advisory_xact_lock${lockSuffix}($1, $2)`, toAccountLockKeys(accountId)),
    );
    return true;
  }

  async #tryLockShared(accountIds: readonly number[]): Promise<ReadonlySet<number>> {
    const lockKeys = accountIds.map((accountId) => toAccountLockKeys(accountId)[1]);
    const { rows } = await this.#connection.send(
      `select pg_try_advisory_xact_lock_shared($1, key) as held from unnest($2::int4[]) with ordinality as keys (key, number)
        order by number`,
      [ACCOUNT_LOCK_CLASS, lockKeys],
    );
    return new Set(accountIds.filter((_, index) => rows[index]?.held === true));
  }

  async #tryNamedLock(name: string): Promise<boolean> {
    // The members share a transaction, so the database would grant the lock twice.
    if (this.#lockNames.has(name)) return false;
    this.#lockNames.add(name);
    return isLockHeld(
      await this.#connection.send('select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as held', [name]),
    );
  }

  #dedupe<T>(key: object, query: () => Promise<T>): Promise<T> {
    const result = (this.#dedupedQueries.get(key) as Promise<T> | undefined) ?? query();
    this.#dedupedQueries.set(key, result);
    return result;
  }
}

/**
 * Returns the keys of the advisory lock of an account. Keys have 32 bits: accounts with the same lower 31 bits share a
 * lock.
 */
const toAccountLockKeys = (accountId: number) => [ACCOUNT_LOCK_CLASS, accountId % 2 ** 31] as const;

const isLockHeld = ({ rows }: pg.QueryResult): boolean => rows[0]?.held === true;

function toWriteResult(settledWrite: PromiseSettledResult<unknown>): WriteResult {
  return settledWrite.status === 'fulfilled' ? { value: settledWrite.value } : { error: settledWrite.reason };
}

/** Returns the result of a single write whose transaction was rolled back. */
function toResultAfterRollback(
  { failure }: TransactionConnection,
  [settledWrite]: readonly PromiseSettledResult<unknown>[],
): WriteResult {
  const error = failure ?? (settledWrite?.status === 'rejected' ? settledWrite.reason : undefined);
  return { error, retryAs: isTransient(error) ? 'exclusive' : undefined };
}

/**
 * Returns the results of a group that was rolled back: the member that caused the rollback is retried in its own
 * transaction, the other members in a group.
 */
function toResultsAfterRollback(
  { failure, failedSession }: TransactionConnection,
  members: readonly GroupMember[],
  settledWrites: readonly PromiseSettledResult<unknown>[],
  hasLocksByMember: readonly boolean[],
): WriteResult[] {
  return members.map(({ session }, index) => {
    const result = settledWrites[index];
    // After a failed query all later ones fail too ("transaction is aborted"), so their errors mean nothing.
    if (failure === undefined && result?.status === 'rejected') return { error: result.reason };
    const isRollbackCause =
      failure === undefined ? hasLocksByMember[index] !== true : [undefined, session].includes(failedSession);
    return { error: failure, retryAs: isRollbackCause ? 'exclusive' : 'shared' };
  });
}

/** Whether an immediate retry is likely to succeed. */
function isTransient(error: unknown): boolean {
  if (error instanceof Problem || isTimeout(error)) return false;
  return RETRYABLE_WRITE_SQLSTATES.includes(sqlStateOf(error) ?? '') || isConnectionLost(error);
}
