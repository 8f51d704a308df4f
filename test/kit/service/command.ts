import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { atEnd, type Cleanup } from '../cleanup.ts';
import { cleanEnvironment } from '../environment.ts';
import type { Json } from './service.ts';

const mainPath = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** The result of a command. */
export type CommandResult = {
  readonly code: number | null;
  readonly stdout: string;
  /** The lines of standard error. A well-reported error is exactly one line. */
  readonly stderrLines: readonly string[];
};

export type CommandOptions = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Text for standard input. The default is empty. */
  readonly input?: string;
};

/** Runs `carillon …` in a child process and waits for its exit. */
export async function runCarillon(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const child = spawnCarillon(args, options);
  child.stdin?.end(options.input);
  const [stdout, stderr] = [collectOutput(child.stdout), collectOutput(child.stderr)];
  // Kill a command that keeps running instead of exiting, so that it does not block the tests.
  const timeout = setTimeout(() => child.kill('SIGKILL'), 15_000);
  const [code] = await once(child, 'close');
  clearTimeout(timeout);
  return { code, stdout: stdout.text, stderrLines: linesOf(stderr.text) };
}

/** A command with a line-based dialogue on standard input and output. */
export type Dialogue = {
  /** Writes a line and returns the next line of standard output. */
  ask(line: string): Promise<string>;
  /** Closes standard input and returns the exit code. */
  end(): Promise<number | null>;
};

/** Starts `carillon …` with a dialogue on its standard input and output. */
export function startDialogue(context: Cleanup, args: readonly string[], options: CommandOptions = {}): Dialogue {
  const child = spawnCarillon(args, { ...options, input: '' });
  atEnd(context, () => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]();
  return {
    async ask(line) {
      child.stdin?.write(`${line}\n`);
      return String((await lines.next()).value);
    },
    async end() {
      child.stdin?.end();
      const [code] = await once(child, 'close');
      return code;
    },
  };
}

/** Runs a command with `--json` that must succeed, and returns its parsed output. */
export async function runCarillonJson(args: readonly string[], options: CommandOptions = {}): Promise<Json> {
  const { code, stdout, stderrLines } = await runCarillon([...args, '--json'], options);
  if (code !== 0) throw new Error(`carillon ${args.join(' ')}: exit ${code}: ${stderrLines.join(' ')}`);
  return JSON.parse(stdout);
}

/** A service in a child process. */
export type ServeCommandProcess = {
  readonly baseUrl: string;
  /** The lines that the service printed at its start. */
  readonly greeting: readonly string[];
  /** Returns the value of a line of the greeting: the key for `key`, from the line `key: …`. */
  greetingField(name: string): string | undefined;
  /** Returns all lines of standard error up to now. */
  readonly stderrLog: () => readonly string[];
  /** Resolves to the exit code when the process has exited. */
  readonly exited: Promise<number | null>;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<number | null>;
};

/** Runs `carillon serve …` and waits for its greeting. The service is stopped when the test ends. */
export async function serve(
  context: Cleanup,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<ServeCommandProcess> {
  const child = spawnCarillon(['serve', '--port', '0', ...args], options);
  const [stdout, stderr] = [collectOutput(child.stdout), collectOutput(child.stderr)];
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const endProcess = (signal: 'SIGTERM' | 'SIGKILL') => {
    child.kill(signal);
    return exited;
  };
  const stop = () => endProcess('SIGTERM');
  atEnd(context, stop);
  // The service prints its greeting in a single write, so all lines arrive together.
  const ended = await Promise.race([stdout.first, exited]);
  if (!stdout.text.startsWith('console: ')) throw new Error(`it did not start (${ended}): ${stderr.text}`);
  const greeting = linesOf(stdout.text);
  const findGreetingField = (name: string) =>
    greeting.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  return {
    // At the first start, the line is the sign-in link of the owner: remove its path.
    baseUrl: (findGreetingField('console') ?? '').replace(/\/(#.*)?$/, ''),
    greeting,
    greetingField: findGreetingField,
    stderrLog: () => linesOf(stderr.text),
    exited,
    stop,
    kill: () => endProcess('SIGKILL'),
  };
}

function spawnCarillon(args: readonly string[], { environment = {}, cwd, input }: CommandOptions): ChildProcess {
  return spawn(process.execPath, [mainPath, ...args], {
    env: { ...cleanEnvironment, NODE_OPTIONS: process.env.NODE_OPTIONS, ...environment },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
}

function collectOutput(stream: ChildProcess['stdout']) {
  const collected = { text: '', first: Promise.resolve<unknown>(undefined) };
  if (stream === null) return collected;
  stream.setEncoding('utf8').on('data', (text: string) => {
    collected.text += text;
  });
  collected.first = once(stream, 'data').catch(() => undefined);
  return collected;
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
