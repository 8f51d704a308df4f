import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A response with an unexpected status. */
export class Refused extends Error {}

/** A request, and the expected status of its response. */
export type Call = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'MKCOL' | 'REPORT';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
};

/** The serialized request, prepared once and sent often. */
export type Wired = { readonly bytes: Buffer; readonly status: number };

export function wired(origin: string, { method, path, headers, body = '', status }: Call): Wired {
  const { host } = new URL(origin);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = method === 'GET' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`;
  return { bytes: Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}${length}\r\n${body}`), status };
}

/**
 * A keep-alive connection that sends one request at a time. It parses only what it needs to find the end of a
 * response, so that the two cores of a small machine are left to the measured processes: a request costs 8 µs
 * of CPU, 13 in autocannon, 29 in undici.
 */
export class Connection {
  readonly #socket: Socket;
  #buffer = '';
  #onBody: ((body: string) => void) | undefined;
  #onError: (error: Error) => void = () => undefined;
  #status = 0;

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true);
    socket.setEncoding('latin1').on('data', (text: string) => this.#read(text));
    socket.on('error', (error) => this.#onError(error));
    socket.on('close', () => this.#onError(new Error('the connection was closed before the response')));
  }

  static async open(origin: string): Promise<Connection> {
    const { hostname, port } = new URL(origin);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new Connection(socket);
  }

  /**
   * Sends a request and returns the response body. Rejects with `Refused` for an unexpected status: fast errors
   * are not throughput.
   */
  ask({ bytes, status }: Wired): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) {
        reject(new Error('the connection was closed before the request'));
        return;
      }
      this.#status = status;
      this.#onError = reject;
      this.#onBody = resolve;
      this.#socket.write(bytes);
    });
  }

  /** False after the server has closed the idle connection. */
  get isOpen(): boolean {
    return this.#socket.readyState === 'open';
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#buffer += text;
    const head = this.#buffer.indexOf('\r\n\r\n');
    if (head < 0) return;
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(this.#buffer.slice(0, head)) ?? [];
    const isWhole =
      length === undefined ? this.#buffer.endsWith('\r\n0\r\n\r\n') : this.#buffer.length >= head + 4 + Number(length);
    if (!isWhole) return;
    const status = Number(this.#buffer.slice(9, 12));
    const body = this.#buffer.slice(head + 4);
    this.#buffer = '';
    if (status === this.#status) this.#onBody?.(body);
    else this.#onError(new Refused(`answered ${status}, not ${this.#status}: ${body.slice(0, 500)}`));
  }
}

/** Sends one request on a new connection. */
export async function ask(origin: string, call: Call): Promise<string> {
  const connection = await Connection.open(origin);
  try {
    return await connection.ask(wired(origin, call));
  } finally {
    connection.close();
  }
}
