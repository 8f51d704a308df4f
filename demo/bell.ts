import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const QUIET_POLL_MS = 5;

/** One notification, as it rang. */
export type Ring = {
  readonly path: string;
  readonly resourceUrl: string;
  readonly deliveryId: string;
  /** Monotonic milliseconds. */
  readonly at: number;
};

/** A receiver on loopback: each path answers as it is told, and every ring is heard. */
export type Bell = {
  at(path: string): string;
  /** Resolves when nobody is connected any more: what was on its way has rung, or has broken off. */
  quiet(): Promise<void>;
  close(): Promise<void>;
};

/**
 * Starts a receiver. What breaks off before it was read, because its sender is no more, has not rung.
 *
 * @param statusOf what a ring is answered with
 * @param hear called with each ring, after it was answered
 */
export async function hangBell(
  statusOf: (ring: Ring) => number | Promise<number>,
  hear: (ring: Ring) => void,
): Promise<Bell> {
  async function ring(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = performance.now();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const resourceUrl = String(JSON.parse(Buffer.concat(chunks).toString()).resource_url);
    const rung = { path: request.url ?? '/', resourceUrl, deliveryId: String(request.headers['webhook-id']), at };
    response.writeHead(await statusOf(rung)).end(() => hear(rung));
  }
  const server = createServer((request, response) => {
    ring(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connected = promisify(server.getConnections.bind(server));
  return {
    at: (path) => `http://127.0.0.1:${port}${path}`,
    async quiet() {
      // Some turns first: who has connected is not known before it is looked for.
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
