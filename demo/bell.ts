import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const QUIET_POLL_MS = 5;

/** A received notification. */
export type ReceivedNotification = {
  readonly path: string;
  readonly resourceUrl: string;
  readonly deliveryId: string;
  /** Time of arrival, monotonic milliseconds. */
  readonly at: number;
};

/** A receiver on loopback. */
export type Receiver = {
  at(path: string): string;
  /** Resolves when no connection is open: every request has been received or aborted. */
  quiet(): Promise<void>;
  close(): Promise<void>;
};

/**
 * Starts a receiver. A request that is aborted before its body was read is ignored.
 *
 * @param statusOf the status to respond with
 * @param onReceived called with each notification after the response was sent
 */
export async function startReceiver(
  statusOf: (ring: ReceivedNotification) => number | Promise<number>,
  onReceived: (ring: ReceivedNotification) => void,
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
      // Wait first: new connections are counted only after the event loop has accepted them.
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
