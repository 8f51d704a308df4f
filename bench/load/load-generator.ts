import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type AccountCredentials, authHeaders } from '../accounts.ts';
import type { ComparisonSide } from '../bench.ts';
import { cpuSecondsOf } from '../environment.ts';
import type { Contender } from '../rounds.ts';
import { monotonicNowMs } from '../statistics.ts';

/**
 * Runs a closed loop: each connection sends its next call as soon as the previous one is answered. Returns
 * responses per second.
 *
 * @param calls the calls to send in turn; each connection starts at a different one
 */
export async function callsPerSecond(
  origin: string,
  calls: readonly [SerializedRequest, ...SerializedRequest[]],
  { connections, forMs }: { readonly connections: number; readonly forMs: number },
): Promise<number> {
  const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(origin)));
  let responses = 0;
  const startedAt = performance.now();
  const sendCalls = async (connection: Connection, first: number) => {
    for (let index = first; performance.now() - startedAt < forMs; index += 1) {
      await connection.send(calls[index % calls.length] ?? calls[0]);
      responses += 1;
    }
  };
  try {
    await Promise.all(opened.map((connection, index) => sendCalls(connection, index * 97)));
    return responses / ((performance.now() - startedAt) / 1_000);
  } finally {
    for (const connection of opened) connection.close();
  }
}

/** A round fails if a request has no response this long after the last request was due. */
export const RESPONSE_TIMEOUT_MS = 30_000;

/**
 * The times of a request in milliseconds, and the body of its response. A rejected request has no body and
 * counts as if it had waited for the whole timeout.
 */
export type SentRequest = {
  readonly dueAt: number;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly body: string | undefined;
};

/**
 * Sends requests at a fixed rate, whether earlier ones have been answered or not, as independent clients do.
 * Latency counts from the time at which a request was due.
 */
export async function sendAtRate(
  origin: string,
  next: (turn: number) => SerializedRequest,
  { perSecond, forMs }: { readonly perSecond: number; readonly forMs: number },
): Promise<SentRequest[]> {
  const idle: Connection[] = [];
  const all: Connection[] = [];
  const requests: Promise<SentRequest>[] = [];
  const send = async (index: number, dueAt: number): Promise<SentRequest> => {
    let connection = idle.pop();
    while (connection?.isOpen === false) connection = idle.pop();
    if (connection === undefined) {
      connection = await Connection.open(origin);
      all.push(connection);
    }
    const sentAt = monotonicNowMs();
    const body = await connection.send(next(index)).catch((error: unknown) => {
      if (error instanceof UnexpectedStatusError) return undefined;
      throw error;
    });
    idle.push(connection);
    return { dueAt, sentAt, answeredAt: body === undefined ? sentAt + RESPONSE_TIMEOUT_MS : monotonicNowMs(), body };
  };
  const startedAt = monotonicNowMs();
  const count = Math.round((perSecond * forMs) / 1_000);
  for (let index = 0; index < count; index += 1) {
    const dueAt = startedAt + (index * 1_000) / perSecond;
    const restMs = dueAt - monotonicNowMs();
    if (restMs > 0.5) await wait(restMs);
    const one = send(index, dueAt);
    // Errors are reported by the Promise.all below.
    one.catch(() => undefined);
    requests.push(one);
  }
  const timeout = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const timedOut = new Promise<never>((_, reject) => {
    timeout.addEventListener('abort', () => reject(new Error(`not answered within ${RESPONSE_TIMEOUT_MS} ms`)));
  });
  try {
    return await Promise.race([Promise.all(requests), timedOut]);
  } finally {
    for (const connection of all) connection.close();
  }
}

/** A response with an unexpected status. */
export class UnexpectedStatusError extends Error {}

/** A request, and the expected status of its response. */
export type RequestSpec = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'MKCOL' | 'REPORT';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
};

/** A request that is serialized once and sent many times, with the expected status of its response. */
export type SerializedRequest = { readonly bytes: Buffer; readonly status: number };

export function serializeRequest(
  origin: string,
  { method, path, headers, body = '', status }: RequestSpec,
): SerializedRequest {
  const { host } = new URL(origin);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = method === 'GET' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`;
  return { bytes: Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}${length}\r\n${body}`), status };
}

/**
 * A keep-alive connection that sends one request at a time. It parses only what it needs to find the end of a
 * response, since it shares two cores with the measured processes. A request takes 8 µs of CPU time; autocannon
 * takes 13, undici 29.
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
   * Sends a request and returns the response body. Rejects with `UnexpectedStatusError` for an unexpected status:
   * fast errors are not throughput.
   */
  send({ bytes, status }: SerializedRequest): Promise<string> {
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
    else this.#onError(new UnexpectedStatusError(`answered ${status}, not ${this.#status}: ${body.slice(0, 500)}`));
  }
}

/** Sends one request on a new connection. */
export async function sendOnce(origin: string, call: RequestSpec): Promise<string> {
  const connection = await Connection.open(origin);
  try {
    return await connection.send(serializeRequest(origin, call));
  } finally {
    connection.close();
  }
}

const json = { 'content-type': 'application/json' };

/** The body of every created event. */
const EVENT_BODY = JSON.stringify({ event_name: 'Release', start_date: '20270101', due_date: '20270102' });

export function createEventRequest(account: AccountCredentials): RequestSpec {
  return {
    method: 'POST',
    path: '/v2/events',
    headers: { ...json, ...authHeaders(account) },
    body: EVENT_BODY,
    status: 201,
  };
}

/** The request that creates an event on a baseline server, without authentication. */
export const bareCreateRequest: RequestSpec = {
  method: 'POST',
  path: '/',
  headers: json,
  body: EVENT_BODY,
  status: 201,
};

export const bareFetchRequest: RequestSpec = { method: 'GET', path: '/', headers: {}, status: 200 };

export function subscribeRequest(account: AccountCredentials, target: string): RequestSpec {
  const body = JSON.stringify({ target_url: target, event: 'new_event' });
  return { method: 'POST', path: '/v2/hooks', headers: { ...json, ...authHeaders(account) }, body, status: 201 };
}

export function fetchEventRequest(account: AccountCredentials, id: string): RequestSpec {
  return { method: 'GET', path: `/v2/events/${id}`, headers: authHeaders(account), status: 200 };
}

export function listEventsRequest(account: AccountCredentials, query: string): RequestSpec {
  return { method: 'GET', path: `/v2/events?${query}`, headers: authHeaders(account), status: 200 };
}

export const CONNECTIONS = 64;

/**
 * Returns a contender that runs a closed loop for one round. It measures requests per second, and the CPU time of
 * the process per request.
 */
export function closedLoopContender(
  name: string,
  { url, pid }: { readonly url: string; readonly pid: number | undefined },
  calls: readonly [RequestSpec, ...RequestSpec[]],
  roundMs: number,
  side: ComparisonSide = 'ours',
): Contender {
  const [first, ...others] = calls;
  const bytes = [serializeRequest(url, first), ...others.map((call) => serializeRequest(url, call))] as const;
  return {
    name,
    side,
    async measure() {
      const before = cpuSecondsOf(pid);
      const perSecond = await callsPerSecond(url, bytes, { connections: CONNECTIONS, forMs: roundMs });
      const seconds = cpuSecondsOf(pid) - before;
      return { '/s': perSecond, 'µs of CPU per request': (seconds * 1e9) / (perSecond * roundMs) };
    },
  };
}
