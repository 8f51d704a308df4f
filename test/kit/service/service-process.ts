import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { atEnd, type Cleanup } from '../cleanup.ts';

/** The entry point in this source tree. */
const sourceEntryPoint = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** Timeouts of the start and of the stop. A process that exceeds its timeout is killed. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/** A service in a child process with the default options. */
export type StartedProcess = {
  readonly process: ChildProcess;
  readonly baseUrl: string;
  /** Domain of the account; printed only by the first service that starts on a database. */
  readonly domain: string | undefined;
  /** API key of the account; printed together with the domain. */
  readonly key: string | undefined;
  /** Sends a signal, waits for the exit and returns the exit code; null when the process was killed. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
};

/**
 * Starts `carillon serve` with these environment variables and waits for its greeting. Rejects with the output
 * if the process exits first.
 *
 * @param stderrFd a file descriptor for standard error; by default, standard error is read and dropped
 * @param wrapperCommand a command that runs the service, such as a tracer
 * @param entryPoint the entry point; by default, the entry point in this source tree
 */
export async function startProcess(
  environment: Readonly<Record<string, string>>,
  stderrFd?: number,
  wrapperCommand: readonly string[] = [],
  entryPoint?: string,
): Promise<StartedProcess> {
  const child = spawnService(environment, stderrFd, wrapperCommand, entryPoint);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const greeting = await waitForGreeting(child, exited);
  const fields = new Map(
    greeting.split('\n').map((line) => [line.split(': ', 1)[0] ?? '', line.slice(line.indexOf(': ') + 2)]),
  );
  return {
    process: child,
    // At the first start, the field is the sign-in link of the owner: remove its path.
    baseUrl: (fields.get('console') ?? '').replace(/\/(#.*)?$/, ''),
    domain: fields.get('domain'),
    key: fields.get('key'),
    async stop(signal) {
      child.kill(signal);
      const timeout = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      const [code] = await exited;
      clearTimeout(timeout);
      return code;
    },
  };
}

/** Running children, to kill them when this process exits. They survive if this process is killed itself. */
const runningChildren = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of runningChildren) child.kill('SIGKILL');
});

/** Spawns the service without waiting for it. */
export function spawnService(
  environment: Readonly<Record<string, string>>,
  stderrFd?: number,
  wrapperCommand: readonly string[] = [],
  entryPoint = sourceEntryPoint,
): ChildProcess {
  const [command = process.execPath, ...args] = [...wrapperCommand, process.execPath, entryPoint, 'serve'];
  const child = spawn(command, args, {
    env: { ...process.env, CARILLON_LOG_LEVEL: 'error', ...environment },
    stdio: ['ignore', 'pipe', stderrFd ?? 'pipe'],
  });
  runningChildren.add(child);
  child.once('exit', () => runningChildren.delete(child));
  return child;
}

/** Waits for the greeting of the service. It is one short write, so it arrives in one chunk. */
async function waitForGreeting(child: ChildProcess, exited: Promise<unknown>): Promise<string> {
  let errorText = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errorText += text;
  });
  child.stdout?.setEncoding('utf8');
  const timeout = setTimeout(() => {
    errorText += `No greeting within ${START_TIMEOUT_MS} ms. `;
    child.kill('SIGKILL');
  }, START_TIMEOUT_MS);
  const firstOutput = await Promise.race([child.stdout === null ? undefined : once(child.stdout, 'data'), exited]);
  clearTimeout(timeout);
  const greeting = Array.isArray(firstOutput) ? String(firstOutput[0]) : '';
  if (!greeting.includes('console: ')) throw new Error(`The service did not start. ${errorText.trim()}`);
  return greeting;
}

/** A service in a child process, with a client of the account that its first start created. */
export type ServiceProcess = StartedProcess & {
  /** The value for `--database`. */
  readonly database: string;
  readonly carillon: Carillon;
  readonly headers: Readonly<Record<string, string>>;
};

/** Starts `carillon serve` on a free port and waits until it is ready. It is killed when the test ends. */
export async function startServiceProcess(
  context: Cleanup,
  database: string,
  options: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  const started = await startProcess({
    CARILLON_DATABASE: database,
    CARILLON_PORT: '0',
    CARILLON_WRONG_KEYS: 'off',
    ...options,
  });
  atEnd(context, () => started.process.kill('SIGKILL'));
  const { baseUrl, domain = '', key = '' } = started;
  const ready = await fetch(`${baseUrl}/readyz`);
  if (ready.status !== 200) throw new Error(`not ready: ${ready.status} ${await ready.text()}`);
  const carillon = new Carillon({ baseUrl, auth: apiKey({ domain, key }), retries: 0 });
  return { ...started, database, carillon, headers: { domain, key } };
}
