import { connect, type Socket } from 'node:net';

/** Parameters of a load. */
export type LoadParameters = {
  readonly origin: string;
  /** Raw requests, sent in rotation. */
  readonly requests: readonly string[];
  /**
   * Requests per second, independent of the responses (open loop). If undefined, each connection sends its next
   * request after a response (closed loop).
   */
  readonly rate?: number;
  readonly durationMs: number;
  /** Number of connections. */
  readonly connections: number;
};

/** Result of a load. */
export type LoadResult = {
  readonly byStatus: Readonly<Record<string, number>>;
  /** Number of 503 and 429 responses without Retry-After. */
  readonly withoutRetryAfter: number;
  /** `Location` header of each 201 response. */
  readonly locations: readonly string[];
  /** Number of requests without a response, because the connection was refused or broken. */
  readonly unanswered: number;
  /** Number of requests that were not sent, because every connection was busy when they were due. */
  readonly unsent: number;
  /** Latencies of the 2xx responses in milliseconds, sorted. */
  readonly times: readonly number[];
  /** Median latency of the 2xx responses in milliseconds. */
  readonly p50: number;
  /** 99th percentile of the latency of the 2xx responses in milliseconds. */
  readonly p99: number;
  /** Number of 2xx responses per second. */
  readonly perSecond: number;
};

/** Interval at which due requests are sent. */
const TICK_MS = 2;

/**
 * Maximum time to open all connections, and to receive the last responses. The service answers every accepted
 * request within 30 s, possibly with 503. A shorter limit would count such requests as unanswered.
 */
const DRAIN_TIMEOUT_MS = 35_000;

type ConnectionEvents = {
  readonly onResponse: (status: number, head: string, ms: number) => void;
  readonly onLost: (hadRequest: boolean) => void;
};

/**
 * A connection that sends one request at a time. It uses raw TCP, because the generator must be faster than the
 * service.
 */
class LoadConnection {
  readonly #open: () => Socket;
  readonly #events: ConnectionEvents;
  #socket: Socket | undefined;
  #askedAt: number | undefined;
  #text = '';

  constructor(open: () => Socket, events: ConnectionEvents) {
    this.#open = open;
    this.#events = events;
  }

  send(request: string): void {
    this.#askedAt = performance.now();
    this.#socket ??= this.#dial();
    this.#socket.write(request);
  }

  end(): void {
    this.#socket?.destroy();
  }

  #dial(): Socket {
    const socket = this.#open().setNoDelay(true);
    const lost = () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#text = '';
      const hadRequest = this.#askedAt !== undefined;
      this.#askedAt = undefined;
      this.#events.onLost(hadRequest);
    };
    socket.setEncoding('latin1').on('data', (text: string) => this.#read(text));
    socket.on('error', lost).on('close', lost);
    return socket;
  }

  #read(text: string): void {
    this.#text += text;
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0 || this.#askedAt === undefined) return;
    const head = this.#text.slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#text.length < end + 4 + length) return;
    this.#text = '';
    const ms = performance.now() - this.#askedAt;
    this.#askedAt = undefined;
    // The service closes this connection, so the next request opens a new one.
    if (/\r\nconnection: close/i.test(head)) {
      this.end();
      this.#socket = undefined;
    }
    this.#events.onResponse(Number(head.slice(9, 12)), head, ms);
  }
}

/**
 * Generates a load and counts the responses.
 *
 * @param ready is called when every connection is open and the measurement begins
 */
export async function generateLoad(order: LoadParameters, ready: () => void = () => undefined): Promise<LoadResult> {
  const { origin, requests, rate, durationMs, connections } = order;
  const { hostname, port } = new URL(origin);
  const byStatus: Record<string, number> = {};
  const locations: string[] = [];
  const times: number[] = [];
  let [withoutRetryAfter, unanswered, unsent, asked] = [0, 0, 0, 0];
  let startedAt: number | undefined;
  const allConnections: LoadConnection[] = [];
  const idle: LoadConnection[] = [];
  const isRunning = () => startedAt !== undefined && performance.now() - startedAt < durationMs;
  const next = () => requests[asked++ % requests.length] ?? '';
  const reuseConnection = (line: LoadConnection) => {
    if (rate === undefined && isRunning()) line.send(next());
    else idle.push(line);
  };
  const count = (status: number, head: string, ms: number) => {
    byStatus[status] = (byStatus[status] ?? 0) + 1;
    if ((status === 503 || status === 429) && !/\r\nretry-after: \d/i.test(head)) withoutRetryAfter += 1;
    if (status < 300) times.push(ms);
    if (status === 201) locations.push(/\r\nlocation: (\S+)/i.exec(head)?.[1] ?? '');
  };
  for (let number = 0; number < connections; number += 1) {
    const line: LoadConnection = new LoadConnection(() => connect(Number(port), hostname), {
      onResponse(status, head, ms) {
        if (startedAt !== undefined) count(status, head, ms);
        reuseConnection(line);
      },
      onLost(hadRequest) {
        if (!hadRequest) return;
        unanswered += 1;
        reuseConnection(line);
      },
    });
    allConnections.push(line);
    line.send('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
  }
  const whenIdle = async (withinMs: number) => {
    const giveUpAt = performance.now() + withinMs;
    while (idle.length < allConnections.length && performance.now() < giveUpAt) await waitTick();
  };
  await whenIdle(DRAIN_TIMEOUT_MS);
  if (idle.length < allConnections.length) throw new Error(`only ${idle.length} of ${connections} connections opened`);
  ready();
  startedAt = performance.now();
  if (rate === undefined) for (const line of idle.splice(0)) reuseConnection(line);
  let due = 0;
  while (isRunning()) {
    await waitTick();
    for (const upTo = ((performance.now() - startedAt) / 1_000) * (rate ?? 0); due < upTo; due += 1) {
      const line = idle.shift();
      if (line === undefined) unsent += 1;
      else line.send(next());
    }
  }
  const perSecond = Math.round((times.length * 1_000) / (performance.now() - startedAt));
  await whenIdle(DRAIN_TIMEOUT_MS);
  unanswered += allConnections.length - idle.length;
  for (const line of allConnections) line.end();
  times.sort((a, b) => a - b);
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
  return { byStatus, withoutRetryAfter, locations, unanswered, unsent, times, p50, p99, perSecond };
}

/** Returns the quantile of sorted times, rounded to a tenth of a millisecond, or 0 for an empty list. */
export function quantile(sorted: readonly number[], share: number): number {
  return Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10;
}

const waitTick = () => new Promise<void>((resolve) => setTimeout(resolve, TICK_MS));

if (import.meta.main) {
  process.once('message', (order: LoadParameters) => {
    void generateLoad(order, () => process.send?.('ready')).then((answered) => process.send?.(answered));
  });
}
