import { connect } from 'node:net';

/** What came back over one connection: the whole text, the status of each answer in it, and whether it was ended. */
export type Conversation = {
  readonly text: string;
  readonly statuses: readonly number[];
  readonly closed: boolean;
};

/**
 * Sends bytes as they are over a connection of their own, and listens until the other side ends it; after `patienceMs`
 * without that, `closed` is false.
 */
export function converse(baseUrl: string, bytes: string, patienceMs = 3_000): Promise<Conversation> {
  const { hostname, port } = new URL(baseUrl);
  const chunks: Buffer[] = [];
  const { promise, resolve } = Promise.withResolvers<Conversation>();
  const socket = connect(Number(port), hostname, () => socket.write(bytes, 'latin1'));
  const done = (closed: boolean) => {
    clearTimeout(timer);
    socket.destroy();
    const text = Buffer.concat(chunks).toString('latin1');
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
    resolve({ text, statuses, closed });
  };
  const timer = setTimeout(() => done(false), patienceMs);
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('end', () => done(true));
  // A connection that is cut while we still write is ended all the same.
  socket.on('error', () => undefined);
  socket.on('close', () => done(true));
  return promise;
}

/** A request as text: its lines, and what follows the empty line. */
export function requestText(lines: readonly string[], body = ''): string {
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
