import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { atEnd, type Cleanup } from '../cleanup.ts';
import { freePort } from '../network/port.ts';
import type { ReceivedNotification } from '../network/target.ts';
import type { ApiUser } from './service.ts';

const guide = readFileSync(new URL('../../../docs/receiving.md', import.meta.url), 'utf8');
const receiverKitUrl = new URL('../../../packages/sdk/src/receiver/index.ts', import.meta.url).href;

/** Returns the receiver of docs/receiving.md, unchanged except for the path of the receiver kit. */
export function receiverFromGuide(): string {
  const program = /^```js receiver\n(.*?)^```$/ms.exec(guide)?.[1] ?? '';
  const adapted = program.replace("'@carillon/sdk/receive'", () => `'${receiverKitUrl}'`);
  if (adapted === program) throw new Error('docs/receiving.md has no receiver that imports the kit.');
  return adapted;
}

export type ReceiverProcess = {
  /** Starts the receiver, which runs until it is killed. */
  start(): void;
  kill(): Promise<void>;
  /** Returns the event names that the receiver has written to its file. */
  readWrittenNames(): string[];
  /** The chunks that the receiver has written to standard error. */
  readonly faults: readonly string[];
};

/** Prepares the receiver of the guide in a child process, with its own folder and port. */
export async function prepareReceiver(
  context: Cleanup,
  { folder, baseUrl, who }: { folder: string; baseUrl: string; who: Pick<ApiUser, 'domain' | 'key'> },
): Promise<ReceiverProcess> {
  writeFileSync(join(folder, 'receiver.mjs'), receiverFromGuide());
  const env = { ...process.env, SERVICE: baseUrl, DOMAIN: who.domain, KEY: who.key, PORT: String(await freePort()) };
  const faults: string[] = [];
  let running: ChildProcess | undefined;
  const kill = async () => {
    const child = running;
    running = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  atEnd(context, kill);
  return {
    faults,
    kill,
    start() {
      running = spawn(process.execPath, ['receiver.mjs'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
      running.stderr?.setEncoding('utf8').on('data', (text: string) => void faults.push(text));
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
  const given = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  mock.timers.enable({ apis: ['Date'], now });
  try {
    new Webhook(secret).verify(body, Object.fromEntries(given));
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  } finally {
    mock.timers.reset();
  }
}
