import { connect } from 'node:net';

/** The text received on one connection, the status of each response, and whether the peer closed the connection. */
export type Conversation = {
  readonly text: string;
  readonly statuses: readonly number[];
  readonly isClosed: boolean;
};

/**
 * Sends bytes unchanged on a new connection and reads until the peer closes it. If the peer does not close it within
 * `timeoutMs`, `isClosed` is false.
 */
export function sendRawBytes(baseUrl: string, bytes: string, timeoutMs = 3_000): Promise<Conversation> {
  const { hostname, port } = new URL(baseUrl);
  const chunks: Buffer[] = [];
  const { promise, resolve } = Promise.withResolvers<Conversation>();
  const socket = connect(Number(port), hostname, () => socket.write(bytes, 'latin1'));
  const finish = (isClosed: boolean) => {
    clearTimeout(timer);
    socket.destroy();
    const text = Buffer.concat(chunks).toString('latin1');
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
    resolve({ text, statuses, isClosed });
  };
  const timer = setTimeout(() => finish(false), timeoutMs);
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('end', () => finish(true));
  // A connection that is reset while this side still writes also counts as closed.
  socket.on('error', () => undefined);
  socket.on('close', () => finish(true));
  return promise;
}

/** Formats a request: its header lines, an empty line and the body. */
export function formatRequest(lines: readonly string[], body = ''): string {
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

export type RawResponse = { readonly status: number; readonly head: string; readonly body: string };

/**
 * Sends a request that `fetch` would reject or normalize: repeated headers, unusual methods, absolute URLs.
 * Lines are joined with CRLF, and `connection: close` is added.
 */
export function sendRawRequest(baseUrl: string, lines: readonly string[], body = ''): Promise<RawResponse> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${[...lines, 'connection: close'].join('\r\n')}\r\n\r\n${body}`);
    });
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      const [head = '', ...rest] = Buffer.concat(chunks).toString().split('\r\n\r\n');
      resolve({ status: Number(head.split(' ')[1]), head, body: rest.join('\r\n\r\n') });
    });
  });
}
