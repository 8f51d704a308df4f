import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { apiKey, Carillon, type HookKind, hookKinds } from '../packages/sdk/src/index.ts';
import { startProcess } from '../test/kit/service/service-process.ts';
import { enterSchedule, type ReleaseSchedule } from './release-calendar.ts';

const QUIET_POLL_MS = 5;

/** A received notification. */
type ReceivedNotification = {
  readonly path: string;
  readonly resourceUrl: string;
  readonly deliveryId: string;
  /** Time of arrival, in milliseconds of the monotonic clock. */
  readonly at: number;
};

/** A webhook receiver on the loopback interface. */
export type Receiver = {
  at(path: string): string;
  /** Resolves when no connection is open: every request has been received or aborted. */
  quiet(): Promise<void>;
  close(): Promise<void>;
};

/**
 * Starts a receiver. It ignores a request that is aborted before its body was read.
 *
 * @param statusOf returns the status of the response to a notification
 * @param onReceived is called with each notification after the response was sent
 */
export async function startReceiver(
  statusOf: (notification: ReceivedNotification) => number | Promise<number>,
  onReceived: (notification: ReceivedNotification) => void,
): Promise<Receiver> {
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = performance.now();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const resourceUrl = String(JSON.parse(Buffer.concat(chunks).toString()).resource_url);
    const notification = {
      path: request.url ?? '/',
      resourceUrl,
      deliveryId: String(request.headers['webhook-id']),
      at,
    };
    response.writeHead(await statusOf(notification)).end(() => onReceived(notification));
  }
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connected = promisify(server.getConnections.bind(server));
  return {
    at: (path) => `http://127.0.0.1:${port}${path}`,
    async quiet() {
      // Waiting comes first, because new connections are counted only after the event loop has accepted them.
      do await wait(QUIET_POLL_MS);
      while ((await connected()) > 0);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

// The demonstration uses real data: it enters the release schedule of Node.js, and a receiver gets every
// notification.

const schedule: ReleaseSchedule = JSON.parse(
  readFileSync(new URL('./node-release-schedule.json', import.meta.url), 'utf8'),
);
const folder = mkdtempSync(join(tmpdir(), 'carillon-demo-'));
const RETRY_WAITS = '400ms,800ms';

/** Start time of each request, by kind and address of the notification that it causes. */
const startTimes = new Map<string, number>();
const received: ReceivedNotification[] = [];
const firstById = new Map<string, ReceivedNotification>();
const printing: Promise<void>[] = [];
const milliseconds: number[] = [];
const printLine = (line: string) => process.stdout.write(`${line}\n`);
const progress = (line: string) => {
  if (process.stdout.isTTY) process.stdout.write(`\u001b[2K${line}\r`);
};

const service = await startProcess({
  CARILLON_DATABASE: `sqlite:${join(folder, 'carillon.db')}`,
  CARILLON_PORT: '0',
  CARILLON_RETRY_WAITS: RETRY_WAITS,
});
const { baseUrl, domain = '', key = '' } = service;
const carillon = new Carillon({ baseUrl, auth: apiKey({ domain, key }) });
printLine(`A service runs at ${baseUrl} on a fresh database.`);

let failuresLeft = 2;
const webhookReceiver = await startReceiver((notification) => {
  if (notification.path === '/fails-twice' && failuresLeft > 0) {
    failuresLeft -= 1;
    return 503;
  }
  if (notification.path === '/unsubscribes') return 401;
  return notification.path === '/always-fails' ? 500 : 200;
}, onReceived);

function onReceived(notification: ReceivedNotification): void {
  received.push(notification);
  if (firstById.has(notification.deliveryId)) return;
  firstById.set(notification.deliveryId, notification);
  printing.push(printNotification(notification));
}

/** Fetches the record as a subscriber would, and prints it. */
async function printNotification(notification: ReceivedNotification): Promise<void> {
  const { record } = await carillon.fetchNotifiedRecord(notification.resourceUrl);
  const name = Object.entries(record).find(([field]) => field.endsWith('_name'))?.[1];
  const causedBy = `${notification.path.slice(1)} ${notification.resourceUrl}`;
  // A notification can arrive before the response to the request that caused it.
  for (let tries = 0; !startTimes.has(causedBy) && tries < 200; tries += 1) await wait(5);
  const startedAt = startTimes.get(causedBy);
  const tookMs = startedAt === undefined ? undefined : notification.at - startedAt;
  if (tookMs !== undefined) milliseconds.push(tookMs);
  const took = tookMs === undefined ? '' : `${tookMs.toFixed(1)} ms`;
  printLine(
    `${notification.path.slice(1).padEnd(18)} ${took.padStart(9)}  ${notification.resourceUrl.slice(baseUrl.length).padEnd(18)} ${name ?? ''}`,
  );
}

/** Runs a request and records its start time for the notifications that it causes. */
async function timeRequest<T>(
  work: () => Promise<T>,
  causes: (result: T) => readonly (readonly [HookKind, string])[],
): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  for (const [kind, path] of causes(result)) startTimes.set(`${kind} ${baseUrl}/v2/${path}`, startedAt);
  return result;
}

for (const kind of hookKinds) await carillon.hooks.create({ target_url: webhookReceiver.at(`/${kind}`), event: kind });
printLine(`A receiver is subscribed to all ${hookKinds.length} kinds. Entering the release schedule of Node.js:\n`);

const { created, dates } = await enterSchedule(carillon, schedule, timeRequest, (done, all) =>
  progress(`${done} of ${all} release lines`),
);
await allDelivered();

printLine('\nThree receivers that misbehave:');
const misbehaving = ['/fails-twice', '/unsubscribes', '/always-fails'];
const hooks = new Map<string, string>();
for (const path of misbehaving)
  hooks.set(path, (await carillon.hooks.create({ target_url: webhookReceiver.at(path), event: 'new_client' })).id);
await carillon.clients.create({ client_name: 'A client for three misbehaving receivers' });
for (const path of misbehaving) {
  const hook = await waitUntil(
    () => carillon.hooks.get(hooks.get(path) ?? ''),
    (one) => one.state === 'ended' || one.last_outcome === '200',
  );
  const attempts = received.filter((notification) => notification.path === path).length;
  const state = hook.state === 'ended' ? `removed: ${hook.ended_reason}` : `${hook.state}, recovered`;
  printLine(`${path.slice(1).padEnd(18)} ${attempts} attempt${attempts === 1 ? '' : 's'}, ${state}`);
}
await allDelivered();

const enqueued = (await carillon.deliveries.list({ limit: 1 })).paging.total_records;
const delivered = (await carillon.deliveries.list({ limit: 1, state: 'delivered' })).paging.total_records;
const undelivered = (await carillon.deliveries.list({ limit: 1, state: 'undelivered' })).paging.total_records;
const lost = enqueued - delivered - undelivered + Math.max(0, enqueued - firstById.size);
milliseconds.sort((a, b) => a - b);
const percentile = (fraction: number) =>
  (milliseconds[Math.floor((milliseconds.length - 1) * fraction)] ?? Number.NaN).toFixed(1);
printLine(`
created    ${created + 1} records, from ${Object.keys(schedule).length} release lines and ${dates} dates
enqueued   ${enqueued} notifications
received   ${firstById.size}; ${undelivered} undelivered, since their hooks were removed
lost       ${lost}
request → arrival   p50 ${percentile(0.5)} ms, p95 ${percentile(0.95)} ms`);

await webhookReceiver.close();
await service.stop('SIGTERM');
rmSync(folder, { recursive: true, force: true });
process.exitCode = lost === 0 && firstById.size === enqueued ? 0 : 1;

/** Waits until no delivery of a live hook is pending and all received notifications are printed. */
async function allDelivered(): Promise<void> {
  await waitUntil(
    () => carillon.deliveries.list({ limit: 1, state: 'pending' }),
    (page) => page.paging.total_records === 0,
  );
  await Promise.all(printing);
}

async function waitUntil<T>(read: () => Promise<T>, isDone: (value: T) => boolean): Promise<T> {
  for (const deadline = performance.now() + 20_000; ; await wait(20)) {
    const value = await read();
    if (isDone(value) || performance.now() > deadline) return value;
  }
}
