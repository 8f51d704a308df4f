import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { atEnd, type Cleanup } from '../cleanup.ts';
import { eventually } from '../eventually.ts';
import type { Json } from './service.ts';

const mainPath = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** `carillon listen --json` in a child process. */
export type ListenProcess = {
  /** Returns the parsed lines of standard output up to now. */
  readonly printedLines: () => readonly Json[];
  /** Returns the text of standard error up to now. */
  readonly stderrText: () => string;
  /** Sends a signal and returns the exit code, null after SIGKILL. */
  end(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
};

/** Starts the command and waits until it listens. It is killed when the test ends. */
export async function startListening(
  context: Cleanup,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ListenProcess> {
  const child = spawn(process.execPath, [mainPath, 'listen', '--json', ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
    });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  atEnd(context, () => child.kill('SIGKILL'));
  await eventually(
    () => printed.stderr,
    (text) => text.includes('Listening to ') || child.exitCode !== null,
    15_000,
  );
  return {
    printedLines: () =>
      printed.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    stderrText: () => printed.stderr,
    end(signal) {
      child.kill(signal);
      return exited;
    },
  };
}

/** A local application under development, to which the command forwards. It can be restarted on the same port. */
export type LocalApp = {
  readonly url: string;
  /** The requests received since the first start: `Webhook-Id` and `resource_url`. */
  readonly received: { readonly id: string; readonly resourceUrl: string }[];
  /** Status of the next responses. With `hang`, the application does not respond. */
  answer: number | 'hang';
  start(): Promise<void>;
  stop(): Promise<void>;
};

export async function createLocalApp(context: Cleanup): Promise<LocalApp> {
  const app = { url: '', received: [] as LocalApp['received'], answer: 200 as number | 'hang', start, stop };
  let server: Server | undefined;
  let port = 0;
  async function start(): Promise<void> {
    const instance = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk;
      });
      request.on('end', () => {
        app.received.push({ id: String(request.headers['webhook-id']), resourceUrl: JSON.parse(body).resource_url });
        if (app.answer !== 'hang') response.writeHead(app.answer, { location: '/elsewhere' }).end();
      });
    });
    server = instance;
    await new Promise<void>((resolve) => instance.listen(port, '127.0.0.1', resolve));
    const address = instance.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
    app.url = `http://127.0.0.1:${port}/hook`;
  }
  async function stop(): Promise<void> {
    const instance = server;
    server = undefined;
    instance?.closeAllConnections();
    await new Promise<void>((resolve) => (instance === undefined ? resolve() : instance.close(() => resolve())));
  }
  atEnd(context, stop);
  await start();
  return app;
}
