import type { Compilable } from 'kysely';
import { FairQueue } from '../../async/fair-scheduler.ts';
import { waitForBatch } from '../../async/wait-for-batch.ts';
import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import { addPipelined, BeforeCommitActions, CommitEventsBuilder } from '../commit-events.ts';
import type { BeforeCommitAction, CommitEvents, DatabaseLost, Queries, Tx } from '../store.ts';
import {
  isStorageFailure,
  SQLITE_BUSY,
  SQLITE_CORRUPT,
  SQLITE_IOERR,
  type SqliteConnection,
  sqliteCode,
  toProblem,
} from './connection.ts';

/** Maximum time that a commit group waits for another process, such as a command, that holds the write lock. */
const BUSY_TIMEOUT_MS = 10_000;
/** Interval at which a waiting commit group tries again to get the write lock. */
const BUSY_POLL_MS = 4;

/** Maximum number of waiting writes. Further writes are rejected with 503 (load shedding). */
const MAX_WAITING = 4_096;

/** Maximum number of writes per commit group: more would delay its members for too long. */
const MAX_GROUP_SIZE = 256;

/** Time after which a group takes no further write, since its members and all other writes wait for its commit. */
const MAX_GROUP_MS = 20;

type WaitingWrite = {
  readonly work: (tx: Tx) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * A write of the group that has run, with its result, which is returned once the commit is durable, or with the error
 * that undid it.
 */
type FinishedWrite = { waiting: WaitingWrite } & ({ value: unknown } | { error: unknown });

/** The commit events and `beforeCommit` items of one write, or of all writes of the group that were not rolled back. */
class PendingCommit {
  readonly commitEvents = new CommitEventsBuilder();
  readonly items = new BeforeCommitActions();
}

/** The `Tx` of one write. Writes run one at a time, so its locks do nothing. */
class GroupWrite implements Tx {
  readonly queries: Queries;
  readonly events: CommitEventsBuilder;
  readonly #beforeCommit: BeforeCommitActions;
  readonly #group: PendingCommit;
  #trailing: Promise<unknown>[] | undefined;

  /** @param own the events and items of this write, merged into `group` unless the write is rolled back */
  constructor(queries: Queries, group: PendingCommit, own: PendingCommit) {
    this.queries = queries;
    this.events = own.commitEvents;
    this.#beforeCommit = own.items;
    this.#group = group;
  }

  /** Resolves when the `withCommit` queries have run; undefined if there are none. */
  get trailingDone(): Promise<unknown> | undefined {
    return this.#trailing && Promise.all(this.#trailing);
  }

  get mayHaveStaleAccess(): boolean {
    return this.#group.commitEvents.accessChanged || this.events.accessChanged;
  }

  lockAccount(): void {}

  async tryLock(): Promise<boolean> {
    return true;
  }

  withCommit(query: Compilable<unknown> | Promise<unknown>): void {
    this.#trailing ??= [];
    addPipelined(this.#trailing, this.queries, query);
  }

  commitIf(condition: Promise<void>): void {
    this.withCommit(condition);
  }

  beforeCommit<Item>(act: BeforeCommitAction<Item>, item: Item): void {
    this.#beforeCommit.add(act, item);
  }

  dedupe<T>(_key: object, query: () => Promise<T>): Promise<T> {
    return query();
  }
}

/**
 * Group commit: the only writer of an SQLite file. Writes that are waiting at the same time run one after another in
 * one transaction, each in its own savepoint, and all resolve after the single fsync of its commit. Accounts take
 * turns, so that no account waits for all queued writes of another account. A write that fails rolls back to its
 * savepoint, and the other writes commit. `beforeCommit` actions run once per group. Load shedding: writes beyond
 * MAX_WAITING are rejected with `overloaded`.
 *
 * `onFatal` is called when the outcome of a commit is unknown (an I/O error) or the file is corrupt: the writes of that
 * group never resolve, and the process must exit and recover at its next start. It is also called, once, when the
 * database files were removed or replaced: all writes are rejected from then on, including those of the current group.
 */
export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #realClock: Clock;
  readonly #onCommitting: () => void;
  readonly #onCommitted: (events: CommitEvents) => Promise<void> | undefined;
  readonly #onGroup: (writes: number, seconds: number) => void;
  readonly #findLostFile: () => DatabaseLost | undefined;
  readonly #onFatal: (error: unknown) => void;
  #lostProblem: Problem | undefined;
  /** The waiting writes by account. Writes of the service itself share one queue. */
  readonly #waiting = new FairQueue<WaitingWrite>();
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    connection: SqliteConnection,
    realClock: Clock,
    listeners: {
      onCommitting: () => void;
      onCommitted: (events: CommitEvents) => Promise<void> | undefined;
      onGroup: (writes: number, seconds: number) => void;
      findLostFile: () => DatabaseLost | undefined;
      onFatal: (error: unknown) => void;
    },
  ) {
    this.#connection = connection;
    this.#realClock = realClock;
    this.#onCommitting = listeners.onCommitting;
    this.#onCommitted = listeners.onCommitted;
    this.#onGroup = listeners.onGroup;
    this.#findLostFile = listeners.findLostFile;
    this.#onFatal = listeners.onFatal;
  }

  /** Checks that the database files are in place. Once they are not, all writes are rejected. */
  checkFiles(): Problem | undefined {
    if (this.#lostProblem !== undefined) return this.#lostProblem;
    const lost = this.#findLostFile();
    if (lost === undefined) return undefined;
    this.#lostProblem = new Problem('storage_unavailable', { cause: lost });
    this.#onFatal(lost);
    return this.#lostProblem;
  }

  /** @param accountId the account of the write; undefined for a write of the service itself */
  write<T>(work: (tx: Tx) => Promise<T>, accountId?: number): Promise<T> {
    if (this.#lostProblem !== undefined) return Promise.reject(this.#lostProblem);
    if (this.#isClosed) return Promise.reject(new Problem('storage_unavailable'));
    if (this.#waiting.size >= MAX_WAITING) return Promise.reject(new Problem('overloaded'));
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(String(accountId), { work, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  /** Rejects new writes; resolves when the waiting ones have finished. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      await waitForBatch(() => this.#waiting.size, MAX_GROUP_SIZE);
      await this.#commitGroup();
    }
    this.#running = undefined;
  }

  async #commitGroup(): Promise<void> {
    const begun = performance.now();
    const writes: WaitingWrite[] = [];
    const done: FinishedWrite[] = [];
    const group = new PendingCommit();
    try {
      await this.#beginWhenFree();
      const stopWatching = this.#watchForStall();
      try {
        const endsAt = this.#realClock.monotonic() + MAX_GROUP_MS;
        for (const waiting of this.#takeWaiting(MAX_GROUP_SIZE)) {
          writes.push(waiting);
          done.push(await this.#runWrite(waiting, group));
          if (this.#realClock.monotonic() >= endsAt) break;
        }
        await group.items.act(new GroupWrite(this.#connection.queries, group, group));
      } finally {
        await this.#connection.drained();
        stopWatching();
      }
      this.#onCommitting();
      this.#connection.exec('commit');
    } catch (error) {
      this.#abandon([...writes, ...this.#takeWaiting(MAX_GROUP_SIZE - writes.length)], error);
      return;
    }
    // Checked after the commit: a commit to a file that was removed must not be acknowledged.
    if (this.#rejectIfLost(writes)) return;
    this.#onGroup(writes.length, (performance.now() - begun) / 1_000);
    const publishing = done.some((one) => 'value' in one) ? this.#onCommitted(group.commitEvents) : undefined;
    for (const one of done) {
      const { resolve, reject } = one.waiting;
      if ('error' in one) reject(one.error);
      else if (publishing === undefined) resolve(one.value);
      else publishing.then(() => resolve(one.value), reject);
    }
  }

  *#takeWaiting(count: number): Generator<WaitingWrite, void> {
    for (let taken = 0; taken < count; taken += 1) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      yield next;
    }
  }

  #rejectIfLost(writes: readonly WaitingWrite[]): boolean {
    const lost = this.checkFiles();
    if (lost === undefined) return false;
    for (const waiting of writes) waiting.reject(lost);
    return true;
  }

  async #runWrite(waiting: WaitingWrite, group: PendingCommit): Promise<FinishedWrite> {
    const own = new PendingCommit();
    const tx = new GroupWrite(this.#connection.queries, group, own);
    this.#connection.exec('savepoint one');
    try {
      const value = await waiting.work(tx);
      await tx.trailingDone;
      this.#connection.exec('release one');
      group.commitEvents.add(own.commitEvents);
      group.items.addAll(own.items);
      return { waiting, value };
    } catch (error) {
      // Wait for the statements that this write has sent before its failure.
      await this.#connection.drained();
      // A storage failure fails the whole group: it may have ended the transaction, and statements that were
      // pipelined with the failed one may still run.
      if (!this.#connection.database.isTransaction || isStorageFailure(error)) throw error;
      this.#connection.exec('rollback to one');
      this.#connection.exec('release one');
      return { waiting, error: toProblem(error) };
    }
  }

  /** Reports a write that awaits something other than its queries: all other writes would wait for it. */
  #watchForStall(): () => void {
    const checkPaused = () => {
      if (this.#connection.isPaused) watching = setImmediate(checkPaused);
      else this.#onFatal(new Error('a write awaited something other than its queries'));
    };
    let watching = setImmediate(checkPaused);
    return () => clearImmediate(watching);
  }

  async #beginWhenFree(): Promise<void> {
    const giveUpAt = this.#realClock.monotonic() + BUSY_TIMEOUT_MS;
    for (;;) {
      try {
        this.#connection.begin();
        return;
      } catch (error) {
        if (sqliteCode(error) !== SQLITE_BUSY || this.#realClock.monotonic() > giveUpAt) throw error;
      }
      await new Promise<void>((resolve) => this.#realClock.after(BUSY_POLL_MS, resolve));
    }
  }

  #abandon(writes: readonly WaitingWrite[], error: unknown): void {
    const code = sqliteCode(error);
    if (code === SQLITE_IOERR || code === SQLITE_CORRUPT) {
      // It is unknown whether the group is durable, so its writes are neither resolved nor rejected.
      this.#onFatal(error);
      return;
    }
    try {
      if (this.#connection.database.isTransaction) this.#connection.exec('rollback');
    } catch (second) {
      this.#onFatal(second);
      return;
    }
    for (const waiting of writes) waiting.reject(toProblem(error));
  }
}
