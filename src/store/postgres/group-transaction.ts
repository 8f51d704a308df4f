import type pg from 'pg';
import { addPipelinedQuery, BeforeCommitActions, CommitEventsBuilder } from '../commit-events.ts';
import type { CommitEvents, LockMode, Tx } from '../store.ts';
import type { MemberSession, TransactionConnection } from './connection.ts';
import { decideRetry, type FailureCause, type Retry } from './write-retries.ts';

/** Class id of the advisory locks of accounts. */
const ACCOUNT_LOCK_CLASS = 0x43_41_52_49;

/**
 * A write. `run` is called again after a rollback. A write with `accountId` may share a transaction with other writes.
 * In such a group, the write never waits for the lock of its account: if the lock is not free, the write is retried in
 * its own transaction.
 */
export type WriteRequest = { readonly run: (tx: Tx) => Promise<unknown>; readonly accountId?: number | undefined };

/** The result of one write: its value, or its error and how it is retried; undefined if it is not. */
export type WriteResult = { readonly value: unknown } | { readonly error: unknown; readonly retry?: Retry | undefined };

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
    const isAlone = isExclusive(requests);
    return {
      writeResults: members.map((member, index) => {
        const { cause, error } = findFailureCause(connection, member, settledWrites[index], hasLocksByMember[index]);
        return { error, retry: decideRetry(cause, error, isAlone) };
      }),
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
  const retry = decideRetry('commit', error, isExclusive(requests));
  return {
    writeResults: settledWrites.map((result) =>
      result.status === 'rejected' ? toWriteResult(result) : { error, retry },
    ),
  };
}

/** Whether this is a single write without an account. It has a transaction of its own, so it may wait for locks. */
const isExclusive = ([request]: readonly WriteRequest[]): boolean => request?.accountId === undefined;

/** The state shared by the members of one transaction: pipelined queries and account locks. */
class GroupTransaction {
  /** Results of queries that were sent and are awaited with the commit. */
  readonly pipelinedQueries: Promise<unknown>[] = [];
  readonly #connection: TransactionConnection;
  readonly #isExclusive: boolean;
  /** Accounts whose shared lock was acquired without waiting. */
  readonly #sharedLockedAccountIds: Promise<ReadonlySet<number>>;
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

/** Returns why the transaction of a write was rolled back, as far as this write is concerned. */
function findFailureCause(
  { failure, failedSession }: TransactionConnection,
  { session }: GroupMember,
  settledWrite: PromiseSettledResult<unknown> | undefined,
  hasLocks: boolean | undefined,
): { readonly cause: FailureCause; readonly error: unknown } {
  // After a failed query, all later queries fail too ("transaction is aborted"), so only the first failure counts.
  if (failure !== undefined) {
    const isOwn = failedSession === undefined || failedSession === session;
    return { cause: isOwn ? 'own_query' : 'other_member', error: failure };
  }
  if (settledWrite?.status === 'rejected') return { cause: 'own_error', error: settledWrite.reason };
  return { cause: hasLocks === true ? 'other_member' : 'missing_lock', error: undefined };
}
