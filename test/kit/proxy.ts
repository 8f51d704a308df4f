import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Cleanup } from './cleanup.ts';
import { atEnd } from './cleanup.ts';

/** What was sent to a database before any of it was answered. */
export type Burst = { readonly text: string; readonly at: number };

/** One connection that came through. */
export type Passage = { readonly bursts: readonly Burst[] };

/** A way to a database that can be cut in every way that a network has. */
export type DatabaseProxy = {
  /** What `--database` takes, to go this way. */
  readonly database: string;
  /** From now on nothing passes: whoever is connected hears nothing, neither an answer nor an end, and never will. */
  silence(): void;
  /** Goes silent as soon as something with this text has passed, from a client or from the database. */
  silenceAfter(text: string): Promise<void>;
  /** Every connection breaks, and so does every new one. */
  reset(): void;
  /** New connections pass again. What was silenced stays silent; the database takes it for gone. */
  mend(): void;
  /** Every connection that has passed. */
  readonly passages: readonly Passage[];
};

type Pair = { readonly client: Socket; readonly database: Socket; silent: boolean };

/**
 * @param delayMs what each direction takes: then a burst holds all that was sent without waiting for an answer
 */
export async function startProxy(context: Cleanup, address: string, delayMs = 0): Promise<DatabaseProxy> {
  const { hostname, port } = new URL(address);
  const passages: Passage[] = [];
  const pairs = new Set<Pair>();
  let way: 'open' | 'silent' | 'reset' = 'open';
  let trigger: { text: string; fired: () => void } | undefined;

  const silence = () => {
    way = 'silent';
    for (const pair of pairs) pair.silent = true;
  };
  const later = (run: () => void) => (delayMs === 0 ? run() : void setTimeout(run, delayMs));
  const watch = (chunk: Buffer) => {
    if (trigger === undefined || !chunk.includes(trigger.text)) return;
    const { fired } = trigger;
    trigger = undefined;
    silence();
    fired();
  };

  const server = createServer((client) => {
    client.on('error', () => undefined);
    if (way === 'reset') return void client.resetAndDestroy();
    // Whoever comes to a cut line is heard by nobody.
    if (way === 'silent') return;
    const database = connect(Number(port), hostname);
    const pair: Pair = { client, database, silent: false };
    pairs.add(pair);
    const bursts: { text: string; at: number }[] = [];
    passages.push({ bursts });
    let answered = true;
    client.on('data', (chunk: Buffer) => {
      if (pair.silent) return;
      if (answered) bursts.push({ text: '', at: performance.now() });
      answered = false;
      const burst = bursts.at(-1);
      if (burst !== undefined) burst.text += chunk.toString('latin1');
      later(() => database.write(chunk));
      watch(chunk);
    });
    database.on('data', (chunk: Buffer) => {
      if (pair.silent) return;
      later(() => {
        if (pair.silent) return;
        answered = true;
        client.write(chunk);
        watch(chunk);
      });
    });
    const over = (other: Socket) => () => {
      // A line that is cut does not say so.
      if (pair.silent) return;
      pairs.delete(pair);
      later(() => other.destroy());
    };
    database.on('error', () => undefined);
    database.on('close', over(client));
    client.on('close', over(database));
  });
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(context, async () => {
    for (const { database } of pairs) database.destroy();
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const through = new URL(address);
  through.port = String((server.address() as AddressInfo).port);
  through.hostname = '127.0.0.1';
  return {
    database: through.href,
    passages,
    silence,
    silenceAfter: (text) =>
      new Promise((resolve) => {
        trigger = { text, fired: resolve };
      }),
    reset() {
      way = 'reset';
      for (const { client, database } of pairs) {
        client.resetAndDestroy();
        database.resetAndDestroy();
      }
      pairs.clear();
    },
    mend() {
      way = 'open';
      for (const pair of pairs) {
        if (!pair.silent) continue;
        pair.database.destroy();
        pairs.delete(pair);
      }
    },
  };
}
