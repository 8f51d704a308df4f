import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What is started: this source, as it is. */
const fromSource = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Whatever takes longer than this will never be over: it is ended. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/** A service in a process of its own, started as a newcomer starts it. */
export type Started = {
  readonly process: ChildProcess;
  readonly baseUrl: string;
  /** Printed at the first start of a database alone. */
  readonly domain: string | undefined;
  readonly key: string | undefined;
  /** Ends it and waits for that; answers its exit code, null after SIGKILL, and where it did not end by itself. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
};

/**
 * Starts `carillon serve` with these options, given as environment variables, and resolves when it has said where it
 * is. Rejects with what it printed if it ends before.
 *
 * @param logTo an open file that its log lines go to; left out, they are read and dropped
 * @param runBy what stands before its command: a program that runs it as its own process, and watches
 * @param main what is started in place of this source
 */
export async function startProcess(
  environment: Readonly<Record<string, string>>,
  logTo?: number,
  runBy: readonly string[] = [],
  main?: string,
): Promise<Started> {
  const child = spawnService(environment, logTo, runBy, main);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const greeting = await greetingOf(child, exited);
  const said = new Map(
    greeting.split('\n').map((line) => [line.split(': ', 1)[0] ?? '', line.slice(line.indexOf(': ') + 2)]),
  );
  return {
    process: child,
    // At a first start, the owner's link.
    baseUrl: (said.get('console') ?? '').replace(/\/(#.*)?$/, ''),
    domain: said.get('domain'),
    key: said.get('key'),
    async stop(signal) {
      child.kill(signal);
      const giveUp = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      const [code] = await exited;
      clearTimeout(giveUp);
      return code;
    },
  };
}

/** They end with this process, however it ends, if it can still say so. */
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Begins to start one, without waiting for anything. */
export function spawnService(
  environment: Readonly<Record<string, string>>,
  logTo?: number,
  runBy: readonly string[] = [],
  main = fromSource,
): ChildProcess {
  const [command = process.execPath, ...words] = [...runBy, process.execPath, main, 'serve'];
  const child = spawn(command, words, {
    env: { ...process.env, CARILLON_LOG_LEVEL: 'error', ...environment },
    stdio: ['ignore', 'pipe', logTo ?? 'pipe'],
  });
  living.add(child);
  child.once('exit', () => living.delete(child));
  return child;
}

/** The greeting is one short write, so it arrives whole. */
async function greetingOf(child: ChildProcess, exited: Promise<unknown>): Promise<string> {
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdout?.setEncoding('utf8');
  const giveUp = setTimeout(() => {
    errors += `It did not say where it is within ${START_TIMEOUT_MS} ms. `;
    child.kill('SIGKILL');
  }, START_TIMEOUT_MS);
  const first = await Promise.race([child.stdout === null ? undefined : once(child.stdout, 'data'), exited]);
  clearTimeout(giveUp);
  const greeting = Array.isArray(first) ? String(first[0]) : '';
  if (!greeting.includes('console: ')) throw new Error(`The service did not start. ${errors.trim()}`);
  return greeting;
}
