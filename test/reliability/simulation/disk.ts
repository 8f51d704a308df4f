import { copyFileSync, existsSync, mkdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { FaultInjector, FaultPoint } from './faults.ts';
import type { ProcessLife, SimulatedTime } from './time.ts';

const SQLITE_BUSY = 5;
const BUSY_POINTS: readonly FaultPoint[] = ['database busy for a moment', 'database busy past the timeout'];
const SQLITE_NOMEM = 7;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;

/** Thrown by a call that the end of its process cuts off. */
export class ProcessEnded extends Error {}

/**
 * State that the connections of one life share. `at` is undefined when the life is over. Connections refer to the
 * disk only through this object, because Node never frees a connection whose statements refer to it.
 */
type ConnectionLink = {
  at: { readonly disk: SimulatedDisk; readonly life: ProcessLife } | undefined;
  readonly connections: DatabaseSync[];
};

/** Real SQLite files, one copy for each life: the next process starts from the files that the previous one left. */
export class SimulatedDisk {
  readonly #folder: string;
  readonly #faults: FaultInjector;
  readonly #random: SeededRandom;
  readonly #time: SimulatedTime;
  readonly #onCrash: (why: string) => void;
  /** Called when a write fails. */
  readonly #onWriteFailed: () => void;
  #link: ConnectionLink | undefined;
  #countingConnection: DatabaseSync | undefined;
  #lifeNumber = 0;
  #inspections = 0;
  #busyUntil = Number.NEGATIVE_INFINITY;
  #isCompleting = false;
  /** Length to which the log is truncated when the process ends in the middle of a commit. */
  #keptLogBytes: number | undefined;

  constructor(deps: {
    folder: string;
    faults: FaultInjector;
    random: SeededRandom;
    time: SimulatedTime;
    onCrash: (why: string) => void;
    onWriteFailed: () => void;
  }) {
    this.#folder = deps.folder;
    this.#faults = deps.faults;
    this.#random = deps.random;
    this.#time = deps.time;
    this.#onCrash = deps.onCrash;
    this.#onWriteFailed = deps.onWriteFailed;
    mkdirSync(this.#folderOf(0), { recursive: true });
  }

  /** Path of the database file of the current life, or of the next life if none is running. */
  get path(): string {
    return join(this.#folderOf(this.#lifeNumber), 'carillon.db');
  }

  /** Ends the life: copies the files as they are now, including the log that has not been checkpointed. */
  endLife(): void {
    const from = this.path;
    this.#lifeNumber += 1;
    mkdirSync(this.#folderOf(this.#lifeNumber));
    copyDatabaseFiles(from, this.path);
    if (this.#keptLogBytes !== undefined) truncateSync(`${this.path}-wal`, this.#keptLogBytes);
    this.#keptLogBytes = undefined;
    for (const connection of this.#link?.connections ?? []) if (connection.isOpen) connection.close();
    if (this.#link !== undefined) this.#link.at = undefined;
    this.#countingConnection?.close();
    this.#countingConnection = undefined;
    this.unlock();
  }

  /** Runs `at` on a copy of the files. Opening the original would recover it before the service does. */
  inspect<T>(at: (database: DatabaseSync) => T): T {
    this.#inspections += 1;
    const path = join(this.#folder, `look-${this.#inspections}.db`);
    copyDatabaseFiles(this.path, path);
    const database = new DatabaseSync(path);
    try {
      return at(database);
    } finally {
      database.close();
    }
  }

  /** Simulates another process that locks the database for `forMs` milliseconds. */
  keepBusy(forMs: number): void {
    this.#busyUntil = this.#time.clockOf().monotonic() + forMs;
  }

  /** Returns the result of a counting query on the current file. */
  countRows(sql: string): number {
    this.#countingConnection ??= new DatabaseSync(this.path, { readOnly: true });
    const [count] = Object.values(this.#countingConnection.prepare(sql).get() ?? {});
    return Number(count);
  }

  unlock(): void {
    this.#busyUntil = Number.NEGATIVE_INFINITY;
  }

  /** Returns a `DatabaseSync` class for one life, with injected faults. */
  sqliteOf(life: ProcessLife): typeof DatabaseSync {
    this.#link = { at: { disk: this, life }, connections: [] };
    return SimulatedDisk.#sqliteOf(this.#link);
  }

  static #sqliteOf(link: ConnectionLink): typeof DatabaseSync {
    return class extends DatabaseSync {
      readonly #isReader: boolean;

      constructor(path: string, options: { readOnly?: boolean } = {}) {
        super(path, options);
        this.#isReader = options.readOnly === true;
        link.connections.push(this);
      }

      override prepare(sql: string): StatementSync {
        const statement = super.prepare(sql);
        for (const verb of ['all', 'run'] as const) {
          const plain = statement[verb];
          const value = (...values: unknown[]) => {
            if (link.at === undefined || link.at.life.isDead) throw new ProcessEnded();
            const { disk } = link.at;
            const go = () => Reflect.apply(plain, statement, values);
            if (this.#isReader) return disk.#read(sql, go);
            return disk.#write(this, sql, go);
          };
          Object.defineProperty(statement, verb, { value });
        }
        return statement;
      }
    };
  }

  #read<T>(sql: string, go: () => T): T {
    if (this.#faults.occurs('read fails')) throw sqliteError(SQLITE_NOMEM);
    if (
      /from "(pending_deliveries|manual_attempts)"/.test(sql) &&
      this.#faults.occurs('read of pending deliveries fails')
    )
      throw sqliteError(SQLITE_NOMEM);
    return go();
  }

  #write<T>(database: DatabaseSync, sql: string, go: () => T): T {
    try {
      return this.#writeOrFail(database, sql, go);
    } catch (error) {
      this.#onWriteFailed();
      throw error;
    }
  }

  #writeOrFail<T>(database: DatabaseSync, sql: string, go: () => T): T {
    if (sql === 'begin immediate') {
      if (this.#time.clockOf().monotonic() < this.#busyUntil) {
        for (const point of BUSY_POINTS) this.#faults.occurs(point);
        throw sqliteError(SQLITE_BUSY);
      }
      this.#isCompleting = false;
      return go();
    }
    if (sql === 'commit') return this.#commit(database, go);
    if (!/^(insert|update|delete)/.test(sql)) return go();
    if (sql.startsWith('insert into "attempts"')) {
      this.#isCompleting = true;
      if (this.#faults.occurs('disk full while results are committed')) throw sqliteError(SQLITE_FULL);
    }
    if (this.#faults.occurs('disk full at a statement')) throw sqliteError(SQLITE_FULL);
    if (this.#faults.occurs('disk full, and the transaction is rolled back')) {
      database.exec('rollback');
      throw sqliteError(SQLITE_FULL);
    }
    return go();
  }

  #commit<T>(database: DatabaseSync, go: () => T): T {
    if (this.#isCompleting && this.#faults.occurs('crash while results are committed')) this.#crashAroundCommit(go);
    if (this.#faults.occurs('crash before a commit')) this.#crashAroundCommit();
    if (this.#faults.occurs('crash in the middle of a commit')) this.#crashMidCommit(go);
    if (this.#faults.occurs('crash after a commit, before it is announced')) {
      go();
      this.#crashAroundCommit();
    }
    if (this.#faults.occurs('disk full at a commit')) {
      database.exec('rollback');
      throw sqliteError(SQLITE_FULL);
    }
    if (this.#faults.occurs('I/O error at a commit')) {
      // After an I/O error it is unknown whether the commit is on the disk.
      if (this.#random.integerBelow(2) === 0) go();
      throw sqliteError(SQLITE_IOERR);
    }
    return go();
  }

  /** Crashes before or after the commit. */
  #crashAroundCommit(go: () => unknown = () => undefined): never {
    if (this.#random.integerBelow(2) === 0) go();
    this.#onCrash('at a commit');
    throw new ProcessEnded();
  }

  /** Crashes in the middle of a commit: only a part of the bytes that the commit adds to the log survives. */
  #crashMidCommit(go: () => unknown): never {
    const log = `${this.path}-wal`;
    const before = statSync(log).size;
    go();
    const after = statSync(log).size;
    if (after > before) this.#keptLogBytes = before + this.#random.integerBelow(after - before);
    this.#onCrash('in the middle of a commit');
    throw new ProcessEnded();
  }

  #folderOf(life: number): string {
    return join(this.#folder, `life-${life}`);
  }
}

function copyDatabaseFiles(from: string, to: string): void {
  for (const part of ['', '-wal']) if (existsSync(from + part)) copyFileSync(from + part, to + part);
}

function sqliteError(errcode: number): Error {
  return Object.assign(new Error(`simulated SQLite error ${errcode}`), { errcode });
}
