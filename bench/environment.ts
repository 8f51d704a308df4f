import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd, type Cleanup } from '../test/kit/cleanup.ts';
import { startPostgres } from '../test/kit/postgres.ts';
import { newPostgresDatabase } from '../test/kit/postgres-databases.ts';
import { type Started, startProcess } from '../test/kit/start-service.ts';
import { type Program, startProgram } from './programs.ts';
import { Receiver } from './receiver.ts';

/** What everything is measured on, one after the other. */
export const databases = ['SQLite', 'PostgreSQL'] as const;

export type Database = (typeof databases)[number];

/** Where a row is measured: what it starts is started here, and ends with it, the last first. */
export class Stage {
  readonly context: Cleanup;
  readonly folder: string;
  readonly #log: number;
  readonly #outer: Stage | undefined;
  #postgres: Promise<void> | undefined;
  /** The first process of the PostgreSQL, once there is one. */
  postgresPid: number | undefined;
  #files = 0;

  /** @param outer whose PostgreSQL this one takes: to start one of its own takes as long as a short row */
  constructor(context: Cleanup, outer?: Stage) {
    this.context = context;
    this.#outer = outer;
    this.folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
    atEnd(context, () => rmSync(this.folder, { recursive: true, force: true }));
    // The log of a newcomer, in a file: to write it is a part of the work.
    this.#log = openSync(join(this.folder, 'log'), 'a');
  }

  /** A path where there is no file yet. */
  newFile(): string {
    this.#files += 1;
    return join(this.folder, `${this.#files}.db`);
  }

  /** A new and empty database, as `--database` takes it. */
  async newDatabase(kind: Database): Promise<string> {
    if (kind === 'SQLite') return `sqlite:${this.newFile()}`;
    await this.startPostgres();
    return newPostgresDatabase(this.context);
  }

  /** A service as a newcomer has it, but for what is given; receivers on this machine may be told. */
  async service(database: string, options: Readonly<Record<string, string>> = {}, main?: string): Promise<Started> {
    const service = await startProcess(
      {
        CARILLON_DATABASE: database,
        CARILLON_PORT: '0',
        CARILLON_LOG_LEVEL: 'info',
        CARILLON_ALLOW_TARGETS: '127.0.0.0/8',
        ...options,
      },
      this.#log,
      [],
      main,
    );
    atEnd(this.context, () => service.stop('SIGTERM'));
    return service;
  }

  /** Starts a floor, or another program of this folder. */
  program(path: string, ...words: string[]): Promise<Program> {
    return startProgram(this.context, path, words);
  }

  /** Somebody to be notified. */
  async receiver(): Promise<Receiver> {
    return new Receiver(await this.program('./receiver-process.ts'));
  }

  /** Once, however often it is asked for. */
  startPostgres(): Promise<void> {
    this.#postgres ??= this.#outer === undefined ? this.#startOwn() : this.#takeFrom(this.#outer);
    return this.#postgres;
  }

  async #takeFrom(outer: Stage): Promise<void> {
    await outer.startPostgres();
    this.postgresPid = outer.postgresPid;
  }

  async #startOwn(): Promise<void> {
    const server = await startPostgres();
    atEnd(this.context, () => server.stop());
    process.env.TEST_DATABASE_URL = server.address;
    this.postgresPid = Number(readFileSync(join(server.folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  }
}
