import type { Compilable } from 'kysely';
import { waitForBatch } from '../../async/batches.ts';
import { FairGroupQueue } from '../../async/fair-scheduler.ts';
import { type Clock, sleep } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import { addPipelinedQuery, BeforeCommitActions, CommitEventsBuilder, type CommitListeners } from '../commit-events.ts';
import type { AccountLockRequest, BeforeCommitAction, Queries, Tx } from '../store.ts';
import {
  isStorageFailure,
  SQLITE_BUSY,
  SQLITE_CORRUPT,
  SQLITE_IOERR,
  type SqliteConnection,
  sqliteResultCodeOf,
  toProblem,
} from './connection.ts';
import type { OpenFiles } from './file-lock.ts';

/** Maximum time that a commit group waits for another process, such as a command, that holds the write lock. */
const BEGIN_TIMEOUT_MS = 10_000;
/** Interval at which a waiting commit group tries again to get the write lock. */
const BUSY_POLL_INTERVAL_MS = 4;
/** Maximum number of waiting writes. Further writes are rejected with 503 (load shedding). */
const MAX_WAITING_WRITES = 4_096;
/** Maximum number of writes per commit group: more would delay its members for too long. */
const MAX_GROUP_SIZE = 256;
/** Time after which a group takes no further write, since its members and all other writes wait for its commit. */
const MAX_GROUP_DURATION_MS = 20;

type WaitingWrite = {
  readonly run: (tx: Tx) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};
type GroupCommitDeps = {
  readonly openFiles: Pick<OpenFiles, 'findLostFileError'>;
  readonly commitListeners: Pick<CommitListeners, 'publish'>;
  readonly onGroupCommitted: (writeCount: number, durationS: number) => void;
  readonly onFatal: (error: unknown) => void;
};

/** The account and the user of a write. */
type WriteOwner = Pick<AccountLockRequest, 'accountId' | 'userId'>;

/**
 * A write of the group that has run: with its value, which is returned once the commit is durable, or with the error
 * that caused its rollback.
 */
type FinishedWrite = { waitingWrite: WaitingWrite } & ({ value: unknown } | { error: unknown });

/** The commit events and `beforeCommit` items of one write, or of all writes of the group that were not rolled back. */
class PendingCommit {
  readonly commitEvents = new CommitEventsBuilder();
  readonly beforeCommitActions = new BeforeCommitActions();
}

/** The `Tx` of one write. Writes run one at a time, so its locks do nothing. */
class GroupWriteTx implements Tx {
  readonly queries: Queries;
  readonly events: CommitEventsBuilder;
  readonly #beforeCommitActions: BeforeCommitActions;
  readonly #pipelinedQueries: Promise<unknown>[] = [];

  /** @param pendingCommit the commit events and actions of this write; they join the group unless it is rolled back */
  constructor(queries: Queries, pendingCommit: PendingCommit) {
    this.queries = queries;
    this.events = pendingCommit.commitEvents;
    this.#beforeCommitActions = pendingCommit.beforeCommitActions;
  }

  /** Resolves when the `sendWithCommit` queries have run. */
  waitForPipelinedQueries(): Promise<unknown> {
    return Promise.all(this.#pipelinedQueries);
  }

  lockAccount(): void {}

  async tryLock(): Promise<boolean> {
    return true;
  }

  sendWithCommit(query: Compilable<unknown> | Promise<unknown>): void {
    addPipelinedQuery(this.#pipelinedQueries, this.queries, query);
  }

  commitIf(condition: Promise<void>): void {
    this.sendWithCommit(condition);
  }

  beforeCommit<Item>(action: BeforeCommitAction<Item>, item: Item): void {
    this.#beforeCommitActions.add(action, item);
  }
}

/**
 * Group commit: the only writer of an SQLite file. Writes that are waiting at the same time run one after another in
 * one transaction, each in its own savepoint, and all resolve after the single fsync of its commit. Accounts are
 * scheduled round-robin, in each account its users, so that none waits for all queued writes of another one. A write
 * that fails rolls back to its savepoint, and the other writes commit. `beforeCommit` actions run once per group. Load
 * shedding: if MAX_WAITING_WRITES writes are waiting, further ones are rejected with `overloaded`.
 *
 * `onFatal` is called when the outcome of a commit is unknown (an I/O error) or the file is corrupt: the writes of that
 * group never resolve, and the process must exit and recover at its next start. It is also called, once, when the
 * database files were removed or replaced: all writes are rejected from then on, including those of the current group.
 */
export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #realClock: Clock;
  readonly #deps: GroupCommitDeps;
  /** Set once the database files were removed or replaced: all writes are rejected with this problem. */
  #lostFilesProblem: Problem | undefined;
  /** Accounts take turns, in each account its users. Writes of the service itself share one turn. */
  readonly #waitingWrites = new FairGroupQueue<WaitingWrite>();
  #runningLoop: Promise<void> | undefined;
  #isClosed = false;

  constructor(connection: SqliteConnection, realClock: Clock, deps: GroupCommitDeps) {
    this.#connection = connection;
    this.#realClock = realClock;
    this.#deps = deps;
  }

  /**
   * Checks that the database files are in place. If not, calls `onFatal` once and returns the problem with which all
   * writes are rejected from then on.
   */
  checkForLostFiles(): Problem | undefined {
    if (this.#lostFilesProblem !== undefined) return this.#lostFilesProblem;
    const lostError = this.#deps.openFiles.findLostFileError();
    if (lostError === undefined) return undefined;
    this.#lostFilesProblem = new Problem('storage_unavailable', { cause: lostError });
    this.#deps.onFatal(lostError);
    return this.#lostFilesProblem;
  }

  /** @param owner undefined for a write of the service itself */
  write<T>(work: (tx: Tx) => Promise<T>, owner?: WriteOwner): Promise<T> {
    if (this.#lostFilesProblem !== undefined) return Promise.reject(this.#lostFilesProblem);
    if (this.#isClosed) return Promise.reject(new Problem('storage_unavailable'));
    if (this.#waitingWrites.size >= MAX_WAITING_WRITES) return Promise.reject(new Problem('overloaded'));
    return new Promise<T>((resolve, reject) => {
      const waitingWrite = { run: work, resolve: resolve as (value: unknown) => void, reject };
      this.#waitingWrites.push(String(owner?.accountId), String(owner?.userId), waitingWrite);
      this.#runningLoop ??= this.#runGroups();
    });
  }

  /** Rejects new writes; resolves when the waiting ones have finished. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#runningLoop;
  }

  async #runGroups(): Promise<void> {
    while (this.#waitingWrites.size > 0) {
      await waitForBatch(() => this.#waitingWrites.size, MAX_GROUP_SIZE);
      await this.#commitGroup();
    }
    this.#runningLoop = undefined;
  }

  async #commitGroup(): Promise<void> {
    const startedAt = performance.now();
    const writes: WaitingWrite[] = [];
    const finishedWrites: FinishedWrite[] = [];
    const group = new PendingCommit();
    try {
      await this.#beginWhenFree();
      const stopWatching = this.#watchForStall();
      try {
        const groupEndsAt = this.#realClock.monotonic() + MAX_GROUP_DURATION_MS;
        for (const waitingWrite of this.#takeWaitingWrites(MAX_GROUP_SIZE)) {
          writes.push(waitingWrite);
          finishedWrites.push(await this.#runWrite(waitingWrite, group));
          if (this.#realClock.monotonic() >= groupEndsAt) break;
        }
        await group.beforeCommitActions.runAll(new GroupWriteTx(this.#connection.queries, group));
      } finally {
        await this.#connection.waitUntilDrained();
        stopWatching();
      }
      this.#connection.exec('commit');
    } catch (error) {
      this.#abortGroup([...writes, ...this.#takeWaitingWrites(MAX_GROUP_SIZE - writes.length)], error);
      return;
    }
    // Checked after the commit: a commit to a file that was removed must not be acknowledged.
    if (this.#rejectIfLost(writes)) return;
    this.#deps.onGroupCommitted(writes.length, (performance.now() - startedAt) / 1_000);
    const publishPromise = finishedWrites.some((finishedWrite) => 'value' in finishedWrite)
      ? this.#deps.commitListeners.publish(group.commitEvents)
      : undefined;
    for (const finishedWrite of finishedWrites) {
      const { resolve, reject } = finishedWrite.waitingWrite;
      if ('error' in finishedWrite) reject(finishedWrite.error);
      else if (publishPromise === undefined) resolve(finishedWrite.value);
      else publishPromise.then(() => resolve(finishedWrite.value), reject);
    }
  }

  *#takeWaitingWrites(count: number): Generator<WaitingWrite, void> {
    for (let takenCount = 0; takenCount < count; takenCount += 1) {
      const nextWrite = this.#waitingWrites.shift();
      if (nextWrite === undefined) return;
      yield nextWrite;
    }
  }

  #rejectIfLost(writes: readonly WaitingWrite[]): boolean {
    const lostProblem = this.checkForLostFiles();
    if (lostProblem === undefined) return false;
    for (const waitingWrite of writes) waitingWrite.reject(lostProblem);
    return true;
  }

  async #runWrite(waitingWrite: WaitingWrite, group: PendingCommit): Promise<FinishedWrite> {
    const ownCommit = new PendingCommit();
    const tx = new GroupWriteTx(this.#connection.queries, ownCommit);
    this.#connection.exec('savepoint one');
    try {
      const value = await waitingWrite.run(tx);
      await tx.waitForPipelinedQueries();
      this.#connection.exec('release one');
      group.commitEvents.merge(ownCommit.commitEvents);
      group.beforeCommitActions.addAll(ownCommit.beforeCommitActions);
      return { waitingWrite, value };
    } catch (error) {
      // Wait for the statements that this write has sent before its failure.
      await this.#connection.waitUntilDrained();
      // A storage failure fails the whole group: it may have ended the transaction, and statements that were
      // pipelined with the failed one may still run.
      if (!this.#connection.database.isTransaction || isStorageFailure(error)) throw error;
      this.#connection.exec('rollback to one');
      this.#connection.exec('release one');
      return { waitingWrite, error: toProblem(error) };
    }
  }

  /** Calls `onFatal` if a write awaits something other than its queries, because all other writes would wait for it. */
  #watchForStall(): () => void {
    const failUnlessStatementsWait = () => {
      if (this.#connection.hasWaitingStatements) watchImmediate = setImmediate(failUnlessStatementsWait);
      else this.#deps.onFatal(new Error('a write awaited something other than its queries'));
    };
    let watchImmediate = setImmediate(failUnlessStatementsWait);
    return () => clearImmediate(watchImmediate);
  }

  async #beginWhenFree(): Promise<void> {
    const giveUpAt = this.#realClock.monotonic() + BEGIN_TIMEOUT_MS;
    for (;;) {
      try {
        this.#connection.begin();
        return;
      } catch (error) {
        if (sqliteResultCodeOf(error) !== SQLITE_BUSY || this.#realClock.monotonic() > giveUpAt) throw error;
      }
      await sleep(this.#realClock, BUSY_POLL_INTERVAL_MS);
    }
  }

  #abortGroup(writes: readonly WaitingWrite[], error: unknown): void {
    const resultCode = sqliteResultCodeOf(error);
    if (resultCode === SQLITE_IOERR || resultCode === SQLITE_CORRUPT) {
      // It is unknown whether the group is durable, so its writes are neither resolved nor rejected.
      this.#deps.onFatal(error);
      return;
    }
    try {
      if (this.#connection.database.isTransaction) this.#connection.exec('rollback');
    } catch (rollbackError) {
      this.#deps.onFatal(rollbackError);
      return;
    }
    for (const waitingWrite of writes) waitingWrite.reject(toProblem(error));
  }
}
