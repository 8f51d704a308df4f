import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** Maximum concurrent connections of an attack. */
export const MAX_CONNECTIONS = 1_000;

/** Interval at which closed connections are reopened. */
const DIAL_INTERVAL_MS = 50;
/** Maximum number of connections that are opened in one interval. */
const MAX_DIALS_PER_INTERVAL = 100;

/** Delay after a connection that was refused immediately, so that an attack does not consist only of dialing. */
const REDIAL_DELAY_MS = 10;

/** Address and duration of an attack, and its counters so far. */
export type AttackParameters = {
  readonly origin: string;
  readonly durationMs: number;
  readonly counters: AttackCounters;
};

/** The number of opened connections, and of first responses on them by status. */
export type AttackCounters = { connections: number; readonly byStatus: Record<string, number> };

export const createCounters = (): AttackCounters => ({ connections: 0, byStatus: {} });

/** The behavior of one connection of an attack. */
export type ConnectionScript = {
  /** The bytes that are sent first. */
  readonly first: string;
  /** A text that is sent at each interval until the end; undefined if nothing more is sent. */
  readonly after?: { readonly text: string; readonly everyMs: number };
  /** True if responses stay unread and fill the buffers of the service. */
  readonly unread?: boolean;
};

/** Keeps `count` connections of this kind open until the end, and reopens those that the service closes. */
export async function holdConnections(
  aim: AttackParameters,
  count: number,
  connection: ConnectionScript,
): Promise<void> {
  const endsAt = performance.now() + aim.durationMs;
  const open = new Set<Socket>();
  while (performance.now() < endsAt) {
    const missing = Math.min(count - open.size, MAX_DIALS_PER_INTERVAL);
    for (let dialled = 0; dialled < missing; dialled += 1) {
      const socket = openConnection(aim, connection);
      open.add(socket);
      socket.once('close', () => open.delete(socket));
    }
    await wait(DIAL_INTERVAL_MS);
  }
  for (const socket of open) socket.destroy();
}

/** Sends the requests in turn until the end, each on a connection of its own, with `connections` requests at a time. */
export async function floodRequests(
  aim: AttackParameters,
  connections: number,
  requests: readonly string[],
): Promise<void> {
  const endsAt = performance.now() + aim.durationMs;
  let next = 0;
  const repeat = async () => {
    while (performance.now() < endsAt) {
      const first = requests[next++ % requests.length] ?? '';
      const began = performance.now();
      const socket = openConnection(aim, { first });
      const giveUp = setTimeout(() => socket.destroy(), Math.max(0, endsAt - began));
      await new Promise((resolve) => socket.once('close', resolve));
      clearTimeout(giveUp);
      if (performance.now() - began < REDIAL_DELAY_MS) await wait(REDIAL_DELAY_MS);
    }
  };
  await Promise.all(Array.from({ length: connections }, repeat));
}

function openConnection(
  { origin, counters }: AttackParameters,
  { first, after, unread = false }: ConnectionScript,
): Socket {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.once('connect', () => {
    counters.connections += 1;
  });
  socket.on('error', () => socket.destroy());
  if (!unread) {
    socket.once('data', (data: Buffer) => {
      const status = data.toString('latin1', 9, 12);
      counters.byStatus[status] = (counters.byStatus[status] ?? 0) + 1;
    });
  }
  socket.write(first, 'latin1');
  if (after !== undefined) {
    const sending = setInterval(() => socket.write(after.text, 'latin1'), after.everyMs);
    socket.once('close', () => clearInterval(sending));
  }
  return socket;
}

/** Returns a raw HTTP request. */
export function rawRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): string {
  const length = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `${[`${method} ${path} HTTP/1.1`, 'host: carillon.test', ...lines, ...length].join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/** Returns a raw HTTP request whose body is announced and never sent. */
export function requestWithoutBody(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  bytes: number,
): string {
  return rawRequest(method, path, { ...headers, 'content-length': String(bytes) });
}
