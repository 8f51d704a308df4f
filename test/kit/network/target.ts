import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atEnd, type Cleanup } from '../cleanup.ts';
import { waitForSentData } from './wait-for-arrivals.ts';

/** Maximum time to wait for notifications. */
const ARRIVAL_TIMEOUT_MS = 10_000;

/** The path that catchUp() requests. Such a request is not counted as a notification. */
const CATCH_UP_PATH = '/-/caught-up';

/** A received notification. */
export type ReceivedNotification = {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly resourceUrl: string;
  readonly deliveryId: string;
  /** Time of arrival, in monotonic milliseconds. */
  readonly at: number;
};

/** A response: a status, a status with headers, or a function that writes the response. */
export type TargetReply =
  | number
  | { readonly status: number; readonly headers?: Record<string, string> }
  | ((response: ServerResponse, notification: ReceivedNotification) => void);

export type Target = {
  readonly url: string;
  /** Returns the URL of a path of this target. */
  urlOf(path: string): string;
  readonly received: readonly ReceivedNotification[];
  /** Sets the next responses, in order. The last response repeats. */
  setReplies(...replies: TargetReply[]): void;
  /** Waits until at least `count` notifications have arrived. */
  waitForArrivals(count: number): Promise<readonly ReceivedNotification[]>;
  /** Waits until all notifications that were sent before this call have arrived. */
  catchUp(): Promise<void>;
  close(): Promise<void>;
};

/** Starts a webhook receiver on loopback with scripted responses. */
export async function startTarget(context: Cleanup, ...replies: TargetReply[]): Promise<Target> {
  const received: ReceivedNotification[] = [];
  let script: TargetReply[] = replies.length > 0 ? replies : [200];
  let waiters: { count: number; resolve: (all: readonly ReceivedNotification[]) => void }[] = [];

  const server = createServer((request, response) => {
    if (request.url === CATCH_UP_PATH) return void response.end();
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const notification = {
        path: request.url ?? '',
        headers: request.headers,
        body,
        resourceUrl: resourceUrlIn(body),
        deliveryId: String(request.headers['webhook-id']),
        at: performance.now(),
      };
      received.push(notification);
      const reply = (script.length > 1 ? script.shift() : script[0]) ?? 200;
      respond(response, reply, notification);
      for (const one of waiters) if (received.length >= one.count) one.resolve(received);
      waiters = waiters.filter((one) => received.length < one.count);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  atEnd(context, close);
  return {
    url,
    urlOf: (path) => url + path,
    received,
    setReplies: (...next) => {
      script = next;
    },
    waitForArrivals: (count) => {
      if (received.length >= count) return Promise.resolve(received);
      return new Promise((resolve, reject) => {
        const timeout = setTimeout(
          () =>
            reject(new Error(`${received.length} of ${count} notifications arrived within ${ARRIVAL_TIMEOUT_MS} ms`)),
          ARRIVAL_TIMEOUT_MS,
        );
        waiters.push({
          count,
          resolve(all) {
            clearTimeout(timeout);
            resolve(all);
          },
        });
      });
    },
    async catchUp() {
      await waitForSentData(url + CATCH_UP_PATH);
    },
    close,
  };
}

function respond(response: ServerResponse, reply: TargetReply, notification: ReceivedNotification): void {
  if (typeof reply === 'function') {
    reply(response, notification);
    return;
  }
  const { status, headers = {} } = typeof reply === 'number' ? { status: reply } : reply;
  response.writeHead(status, headers).end();
}

function resourceUrlIn(body: string): string {
  try {
    return String(JSON.parse(body).resource_url);
  } catch {
    return '';
  }
}
