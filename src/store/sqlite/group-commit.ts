import type { Compilable } from 'kysely';
import { waitForBatch } from '../../async/wait-for-batch.ts';
import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import { CommitEventsBuilder, trail } from '../commit-events.ts';
import { BeforeCommit } from '../commit-hooks.ts';
import type { AtCommit, CommitEvents, DatabaseLost, Queries, Tx } from '../store.ts';
import {
  asProblem,
  isOfStorage,
  SQLITE_BUSY,
  SQLITE_CORRUPT,
  SQLITE_IOERR,
  type SqliteConnection,
  sqliteCode,
} from './connection.ts';

/** How long a write waits for another process (a command of ours) to let go of the database. */
const BUSY_TIMEOUT_MS = 10_000;
const BUSY_POLL_MS = 4;

/** More writes than this waiting: the next one is shed with 503. */
const MAX_WAITING = 4_096;

/** A group larger than this would hold its members, and the event loop, for too long. */
const MAX_GROUP_SIZE = 256;

type Waiting = {
  readonly work: (tx: Tx) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/** A write of the group that has run: what to tell its caller once the commit is durable, or why it was undone. */
type Done = { waiting: Waiting } & ({ value: unknown } | { error: unknown });

/** What the writes of a group come to together, as far as they are not undone; or one of them. */
class PendingCommit {
  readonly news = new CommitEventsBuilder();
  readonly left = new BeforeCommit();
}

/** One write at a time: it is alone in any case, and sees at once what another one has changed. */
class WriteOfGroup implements Tx {
  readonly queries: Queries;
  readonly news: CommitEventsBuilder;
  readonly #left: BeforeCommit;
  readonly #group: PendingCommit;
  #trailing: Promise<unknown>[] | undefined;

  /** @param own what this write alone comes to: it is the group's when the write is not undone */
  constructor(queries: Queries, group: PendingCommit, own: PendingCommit) {
    this.queries = queries;
    this.news = own.news;
    this.#left = own.left;
    this.#group = group;
  }

  /** Resolves when what is sent with the commit has been. */
  get trailed(): Promise<unknown> | undefined {
    return this.#trailing && Promise.all(this.#trailing);
  }

  get mayHaveStaleAccess(): boolean {
    return this.#group.news.access || this.news.access;
  }

  lockAccount(): void {}

  async tryLockAccount(): Promise<boolean> {
    return true;
  }

  withCommit(query: Compilable<unknown> | Promise<unknown>): void {
    this.#trailing ??= [];
    trail(this.#trailing, this.queries, query);
  }

  commitIf(condition: Promise<void>): void {
    this.withCommit(condition);
  }

  beforeCommit<Item>(act: AtCommit<Item>, item: Item): void {
    this.#left.add(act, item);
  }

  dedupe<T>(_about: object, ask: () => Promise<T>): Promise<T> {
    return ask();
  }
}

/**
 * The one writer of an SQLite file. Writes that wait at the same moment run one after another in one transaction, each
 * in a savepoint of its own, and all resolve after the one fsync of its commit.
 *
 * `onFatal` is called when the outcome of a commit cannot be known (an I/O error) or the file is corrupt: nobody of
 * that group is answered, and the process is expected to end and recover at its next start. It is also called, once, when
 * the files of the database are no longer at their paths: all writes are rejected from then on, that group's too.
 */
export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #realClock: Clock;
  readonly #onCommitting: () => void;
  readonly #onCommitted: (news: CommitEvents) => Promise<void> | undefined;
  readonly #onGroup: (writes: number, seconds: number) => void;
  readonly #whatIsLost: () => DatabaseLost | undefined;
  readonly #onFatal: (error: unknown) => void;
  #lost: Problem | undefined;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(
    connection: SqliteConnection,
    beats: Clock,
    listeners: {
      onCommitting: () => void;
      onCommitted: (news: CommitEvents) => Promise<void> | undefined;
      onGroup: (writes: number, seconds: number) => void;
      whatIsLost: () => DatabaseLost | undefined;
      onFatal: (error: unknown) => void;
    },
  ) {
    this.#connection = connection;
    this.#realClock = beats;
    this.#onCommitting = listeners.onCommitting;
    this.#onCommitted = listeners.onCommitted;
    this.#onGroup = listeners.onGroup;
    this.#whatIsLost = listeners.whatIsLost;
    this.#onFatal = listeners.onFatal;
  }

  /** Finds out whether the files are in place. Once they are not, no write is taken any more. */
  look(): Problem | undefined {
    if (this.#lost !== undefined) return this.#lost;
    const lost = this.#whatIsLost();
    if (lost === undefined) return undefined;
    this.#lost = new Problem('storage_unavailable', { cause: lost });
    this.#onFatal(lost);
    return this.#lost;
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    if (this.#closed) return Promise.reject(new Problem('storage_unavailable'));
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(new Problem('overloaded'));
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  /** No new write is taken; resolves when those waiting are through. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await waitForBatch(() => this.#waiting.length, MAX_GROUP_SIZE);
      await this.#commit(this.#waiting.splice(0, MAX_GROUP_SIZE));
    }
    this.#running = undefined;
  }

  async #commit(writes: readonly Waiting[]): Promise<void> {
    const begun = performance.now();
    const done: Done[] = [];
    const group = new PendingCommit();
    try {
      await this.#begin();
      const stalled = setImmediate(() => {
        this.#onFatal(new Error('a write awaited something other than its queries'));
      });
      try {
        for (const waiting of writes) done.push(await this.#runOne(waiting, group));
        await group.left.act(new WriteOfGroup(this.#connection.queries, group, group));
      } finally {
        clearImmediate(stalled);
      }
      this.#onCommitting();
      this.#connection.exec('commit');
    } catch (error) {
      this.#abandon(writes, error);
      return;
    }
    // Only now: what was committed to a file that is gone must not be acknowledged.
    if (this.#rejectIfLost(writes)) return;
    this.#onGroup(writes.length, (performance.now() - begun) / 1_000);
    const telling = done.some((one) => 'value' in one) ? this.#onCommitted(group.news) : undefined;
    for (const one of done) {
      const { resolve, reject } = one.waiting;
      if ('error' in one) reject(one.error);
      else if (telling === undefined) resolve(one.value);
      else telling.then(() => resolve(one.value), reject);
    }
  }

  #rejectIfLost(writes: readonly Waiting[]): boolean {
    const lost = this.look();
    if (lost === undefined) return false;
    for (const waiting of writes) waiting.reject(lost);
    return true;
  }

  async #runOne(waiting: Waiting, group: PendingCommit): Promise<Done> {
    const own = new PendingCommit();
    const tx = new WriteOfGroup(this.#connection.queries, group, own);
    this.#connection.exec('savepoint one');
    try {
      const value = await waiting.work(tx);
      await tx.trailed;
      this.#connection.exec('release one');
      group.news.add(own.news);
      group.left.addAll(own.left);
      return { waiting, value };
    } catch (error) {
      // What SQLite itself could not do is the end of the whole group: it may have ended the transaction, and statements
      // that were sent together with the one that failed may still come.
      if (!this.#connection.database.isTransaction || isOfStorage(error)) throw error;
      this.#connection.exec('rollback to one');
      this.#connection.exec('release one');
      return { waiting, error: asProblem(error) };
    }
  }

  async #begin(): Promise<void> {
    const giveUpAt = this.#realClock.monotonic() + BUSY_TIMEOUT_MS;
    for (;;) {
      try {
        this.#connection.exec('begin immediate');
        return;
      } catch (error) {
        if (sqliteCode(error) !== SQLITE_BUSY || this.#realClock.monotonic() > giveUpAt) throw error;
      }
      await new Promise<void>((resolve) => this.#realClock.after(BUSY_POLL_MS, resolve));
    }
  }

  #abandon(writes: readonly Waiting[], error: unknown): void {
    const code = sqliteCode(error);
    if (code === SQLITE_IOERR || code === SQLITE_CORRUPT) {
      // Whether the group is durable is undecided: answering either way could be a lie.
      this.#onFatal(error);
      return;
    }
    try {
      if (this.#connection.database.isTransaction) this.#connection.exec('rollback');
    } catch (second) {
      this.#onFatal(second);
      return;
    }
    for (const waiting of writes) waiting.reject(asProblem(error));
  }
}
