import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { atEnd, type Cleanup } from '../cleanup.ts';
import { findFreePort } from '../network/port.ts';
import type { ReceivedNotification } from '../network/target.ts';
import type { ApiUser } from './service.ts';

const guide = readFileSync(new URL('../../../docs/receiving.md', import.meta.url), 'utf8');
const receiverKitUrl = new URL('../../../packages/sdk/src/receiver/index.ts', import.meta.url).href;

/** Returns the receiver of docs/receiving.md, unchanged except for the path of the receiver kit. */
export function receiverFromGuide(): string {
  const program = /^```js receiver\n(.*?)^```$/ms.exec(guide)?.[1] ?? '';
  const adaptedProgram = program.replace("'@carillon/sdk/receive'", () => `'${receiverKitUrl}'`);
  if (adaptedProgram === program) throw new Error('docs/receiving.md has no receiver that imports the kit.');
  return adaptedProgram;
}

export type ReceiverProcess = {
  /** Starts the receiver, which runs until it is killed. */
  start(): void;
  kill(): Promise<void>;
  /** Returns the event names that the receiver has written to its file. */
  readWrittenNames(): string[];
  /** The chunks that the receiver has written to standard error. */
  readonly stderrChunks: readonly string[];
};

/** Prepares the receiver of the guide in a child process, with its own folder and port. */
export async function prepareReceiver(
  context: Cleanup,
  { folder, baseUrl, user }: { folder: string; baseUrl: string; user: Pick<ApiUser, 'domain' | 'key'> },
): Promise<ReceiverProcess> {
  writeFileSync(join(folder, 'receiver.mjs'), receiverFromGuide());
  const env = {
    ...process.env,
    SERVICE: baseUrl,
    DOMAIN: user.domain,
    KEY: user.key,
    PORT: String(await findFreePort()),
  };
  const stderrChunks: string[] = [];
  let runningChild: ChildProcess | undefined;
  const kill = async () => {
    const child = runningChild;
    runningChild = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  atEnd(context, kill);
  return {
    stderrChunks,
    kill,
    start() {
      runningChild = spawn(process.execPath, ['receiver.mjs'], {
        cwd: folder,
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      runningChild.stderr?.setEncoding('utf8').on('data', (text: string) => void stderrChunks.push(text));
    },
    readWrittenNames() {
      const path = join(folder, 'events.txt');
      return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    },
  };
}

/** The signed parts of a notification. */
export type SignedNotification = Pick<ReceivedNotification, 'headers' | 'body'>;

/**
 * Whether the Standard Webhooks library accepts a notification with this secret. The library reads the system
 * clock, which is mocked.
 *
 * @param now milliseconds since the epoch
 */
export function isAccepted(secret: string, { headers, body }: SignedNotification, now = Date.now()): boolean {
  const headerEntries = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  mock.timers.enable({ apis: ['Date'], now });
  try {
    new Webhook(secret).verify(body, Object.fromEntries(headerEntries));
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  } finally {
    mock.timers.reset();
  }
}
