import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { atEnd, type Cleanup } from '../cleanup.ts';

/** Data that the client sent between two responses of the database, and the time of its first byte. */
export type Burst = { readonly text: string; readonly at: number };

/** A connection through the proxy. */
export type ProxiedConnection = { readonly bursts: readonly Burst[] };

/** A TCP proxy in front of a database that simulates network faults. */
export type DatabaseProxy = {
  /** The value for `--database` to connect through the proxy. */
  readonly database: string;
  /** Drops all data from now on, in both directions, without closing connections. */
  silence(): void;
  /** Becomes silent after data that contains this text has passed, in either direction. */
  silenceAfter(text: string): Promise<void>;
  /** Resets all connections, and every new connection. */
  reset(): void;
  /**
   * Forwards new connections again. Silenced connections stay silent for the client, but are closed at the database.
   */
  resumeForwarding(): void;
  /** All connections up to now. */
  readonly connections: readonly ProxiedConnection[];
};

type ConnectionPair = { readonly client: Socket; readonly database: Socket; isSilent: boolean };

/**
 * Starts a proxy in front of the database at `databaseUrl`.
 *
 * @param delayMs delay of each direction in milliseconds; with a delay, a burst contains everything that the client
 * sent without waiting for a response
 */
export async function startProxy(context: Cleanup, databaseUrl: string, delayMs = 0): Promise<DatabaseProxy> {
  const { hostname, port } = new URL(databaseUrl);
  const proxiedConnections: ProxiedConnection[] = [];
  const pairs = new Set<ConnectionPair>();
  let mode: 'open' | 'silent' | 'reset' = 'open';
  let trigger: { text: string; onFired: () => void } | undefined;

  const silence = () => {
    mode = 'silent';
    for (const pair of pairs) pair.isSilent = true;
  };
  const afterDelay = (run: () => void) => (delayMs === 0 ? run() : void setTimeout(run, delayMs));
  const checkTrigger = (chunk: Buffer) => {
    if (trigger === undefined || !chunk.includes(trigger.text)) return;
    const { onFired } = trigger;
    trigger = undefined;
    silence();
    onFired();
  };

  const server = createServer((client) => {
    client.on('error', () => undefined);
    if (mode === 'reset') return void client.resetAndDestroy();
    // A silent proxy accepts connections without forwarding them.
    if (mode === 'silent') return;
    const database = connect(Number(port), hostname);
    const pair: ConnectionPair = { client, database, isSilent: false };
    pairs.add(pair);
    const bursts: { text: string; at: number }[] = [];
    proxiedConnections.push({ bursts });
    let isAnswered = true;
    client.on('data', (chunk: Buffer) => {
      if (pair.isSilent) return;
      if (isAnswered) bursts.push({ text: '', at: performance.now() });
      isAnswered = false;
      const burst = bursts.at(-1);
      if (burst !== undefined) burst.text += chunk.toString('latin1');
      afterDelay(() => database.write(chunk));
      checkTrigger(chunk);
    });
    database.on('data', (chunk: Buffer) => {
      if (pair.isSilent) return;
      afterDelay(() => {
        if (pair.isSilent) return;
        isAnswered = true;
        client.write(chunk);
        checkTrigger(chunk);
      });
    });
    const onClose = (other: Socket) => () => {
      // A silenced connection does not forward its end either.
      if (pair.isSilent) return;
      pairs.delete(pair);
      afterDelay(() => other.destroy());
    };
    database.on('error', () => undefined);
    database.on('close', onClose(client));
    client.on('close', onClose(database));
  });
  const openSockets = new Set<Socket>();
  server.on('connection', (socket) => {
    openSockets.add(socket);
    socket.on('close', () => openSockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(context, async () => {
    for (const { database } of pairs) database.destroy();
    for (const socket of openSockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const proxyUrl = new URL(databaseUrl);
  proxyUrl.port = String((server.address() as AddressInfo).port);
  proxyUrl.hostname = '127.0.0.1';
  return {
    database: proxyUrl.href,
    connections: proxiedConnections,
    silence,
    silenceAfter: (text) =>
      new Promise((resolve) => {
        trigger = { text, onFired: resolve };
      }),
    reset() {
      mode = 'reset';
      for (const { client, database } of pairs) {
        client.resetAndDestroy();
        database.resetAndDestroy();
      }
      pairs.clear();
    },
    resumeForwarding() {
      mode = 'open';
      for (const pair of pairs) {
        if (!pair.isSilent) continue;
        pair.database.destroy();
        pairs.delete(pair);
      }
    },
  };
}
