import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd, type Cleanup } from '../test/kit/cleanup.ts';
import { startPostgres } from '../test/kit/database/postgres.ts';
import { newPostgresDatabase } from '../test/kit/database/postgres-databases.ts';
import { type StartedProcess, startProcess } from '../test/kit/service/service-process.ts';
import { type Program, startProgram } from './programs.ts';
import { Receiver } from './receiver.ts';

/** The databases that are measured, one after the other. */
export const databaseKinds = ['SQLite', 'PostgreSQL'] as const;

export type DatabaseKind = (typeof databaseKinds)[number];

/** Starts databases, services and programs for a row, and stops them afterwards in reverse order. */
export class BenchEnvironment {
  readonly context: Cleanup;
  readonly folder: string;
  readonly #log: number;
  readonly #outer: BenchEnvironment | undefined;
  #postgres: Promise<void> | undefined;
  /** The process id of the PostgreSQL postmaster; undefined before it is started. */
  postgresPid: number | undefined;
  #fileCount = 0;

  /**
   * @param outer an environment whose PostgreSQL server is shared, because starting a server takes as long as a
   *   short row
   */
  constructor(context: Cleanup, outer?: BenchEnvironment) {
    this.context = context;
    this.#outer = outer;
    this.folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
    atEnd(context, () => rmSync(this.folder, { recursive: true, force: true }));
    // Log lines are written to a file at the default level, because writing them is part of the measured work.
    this.#log = openSync(join(this.folder, 'log'), 'a');
  }

  /** Returns the path of a new file in the folder of this environment. */
  newFilePath(): string {
    this.#fileCount += 1;
    return join(this.folder, `${this.#fileCount}.db`);
  }

  /** Creates a database and returns the value for `--database`. */
  async newDatabase(kind: DatabaseKind): Promise<string> {
    if (kind === 'SQLite') return `sqlite:${this.newFilePath()}`;
    await this.startPostgres();
    return newPostgresDatabase(this.context);
  }

  /** Starts a service with default options, except for `options`. Hook targets on this machine are allowed. */
  async startService(
    database: string,
    options: Readonly<Record<string, string>> = {},
    main?: string,
  ): Promise<StartedProcess> {
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

  /** Starts a baseline or another program of this folder. */
  startProgram(path: string, ...words: string[]): Promise<Program> {
    return startProgram(this.context, path, words);
  }

  /** Starts a webhook receiver. */
  async startReceiver(): Promise<Receiver> {
    return new Receiver(await this.startProgram('./receiver-process.ts'));
  }

  /** Starts PostgreSQL on the first call. Later calls wait for the same server. */
  startPostgres(): Promise<void> {
    this.#postgres ??= this.#outer === undefined ? this.#startOwnPostgres() : this.#sharePostgresOf(this.#outer);
    return this.#postgres;
  }

  async #sharePostgresOf(outer: BenchEnvironment): Promise<void> {
    await outer.startPostgres();
    this.postgresPid = outer.postgresPid;
  }

  async #startOwnPostgres(): Promise<void> {
    const server = await startPostgres();
    atEnd(this.context, () => server.stop());
    process.env.TEST_DATABASE_URL = server.url;
    this.postgresPid = Number(readFileSync(join(server.folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  }
}

let cachedTicksPerSecond: number | undefined;

/** Returns the CPU seconds of a process up to now, including all threads, or NaN where /proc is missing. */
export function cpuSecondsOf(pid: number | undefined): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  // utime and stime, fields 14 and 15 of /proc/PID/stat.
  const [user = 0, system = 0] = statFieldsOf(file).slice(11, 13).map(Number);
  return (user + system) / ticksPerSecond();
}

/** Returns the CPU seconds of a process and of its children, including ended ones. */
export function cpuSecondsWithChildren(pid: number): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  const children = readdirSync('/proc').filter((one) => /^\d+$/.test(one) && parentPidOf(one) === pid);
  const ended = statFieldsOf(`/proc/${pid}/stat`).slice(13, 15).map(Number);
  const seconds = ended.reduce((sum, ticks) => sum + ticks, 0) / ticksPerSecond();
  return children.reduce((sum, child) => sum + (cpuSecondsOf(Number(child)) || 0), cpuSecondsOf(pid) + seconds);
}

/** Returns the fields after the command name, which may contain spaces. Returns no fields for an ended process. */
function statFieldsOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return [];
  }
}

const parentPidOf = (pid: string) => Number(statFieldsOf(`/proc/${pid}/stat`)[1] ?? Number.NaN);

function ticksPerSecond(): number {
  cachedTicksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return cachedTicksPerSecond;
}

/** Returns the resident memory of a process in MiB. */
export function residentMib(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return Number.NaN;
  const [, kib = Number.NaN] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(file, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}
