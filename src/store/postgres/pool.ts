import pg from 'pg';
import type { Log } from '../../log.ts';
import { type AddressOptions, createClientOptions, isConnectionLost, PREFER_INDEX_PLANS_SQL } from './connection.ts';

/** A connection pool; connections are opened on demand. */
export class Pool {
  /** Maximum number of connections. */
  readonly maxConnections: number;
  readonly #createPool: () => pg.Pool;
  readonly #checkedOutClients = new Set<pg.PoolClient>();
  /** For each caller that waits for a connection, the function that lets it wait for one of the new pool instead. */
  readonly #waitingCallers = new Set<() => void>();
  #pool: pg.Pool;

  /** @param maxConnections maximum number of connections; default: the `pool` option of the address */
  constructor(address: string, addressOptions: AddressOptions, log: Log, maxConnections = addressOptions.poolSize) {
    this.maxConnections = maxConnections;
    this.#createPool = () => {
      const pool = new pg.Pool({ ...createClientOptions(address), max: maxConnections, idleTimeoutMillis: 60_000 });
      // An idle connection was lost. A new one is opened on demand.
      pool.on('error', (error) => log.warn({ event: 'database.connection_lost', err: error }));
      // Errors of busy connections are reported by their queries. Without a listener an error event would end
      // the process.
      pool.on('connect', (client) => void client.on('error', () => undefined));
      // This query is sent before all other queries of the connection.
      if (addressOptions.usesPreparedStatements)
        pool.on('connect', (client) => void client.query(PREFER_INDEX_PLANS_SQL).catch(() => undefined));
      pool.on('acquire', (client) => this.#checkedOutClients.add(client));
      pool.on('release', (_error, client) => this.#checkedOutClients.delete(client));
      return pool;
    };
    this.#pool = this.#createPool();
  }

  get waitingCount(): number {
    return this.#pool.waitingCount;
  }

  connect(): Promise<pg.PoolClient> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.PoolClient>();
    const waitAgain = () => void this.connect().then(resolve, reject);
    this.#waitingCallers.add(waitAgain);
    this.#pool.connect().then(
      (client) => (this.#waitingCallers.delete(waitAgain) ? resolve(client) : client.release(true)),
      (error: unknown) => {
        if (this.#waitingCallers.delete(waitAgain)) reject(error);
      },
    );
    return promise;
  }

  async query<R extends pg.QueryResultRow>(query: pg.QueryConfig | string): Promise<pg.QueryResult<R>> {
    const client = await this.connect();
    let failure: unknown;
    try {
      return await client.query<R>(query);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.release(isConnectionLost(failure));
    }
  }

  /**
   * Replaces all connections after the network was cut. Running queries fail. Callers that wait for a connection wait
   * for a connection of the new pool instead, since the old pool no longer serves them.
   */
  replaceConnections(): void {
    const oldPool = this.#pool;
    const waitingCallers = [...this.#waitingCallers];
    this.#pool = this.#createPool();
    this.#waitingCallers.clear();
    oldPool.end().catch(() => undefined);
    for (const client of this.#checkedOutClients) destroySocket(client);
    for (const waitAgain of waitingCallers) waitAgain();
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }
}

/** Destroys the socket of a connection, which the types of the driver omit. `end()` would wait for running queries. */
function destroySocket(client: object): void {
  const { connection } = client as { connection?: { stream?: { destroy?: () => void } } };
  connection?.stream?.destroy?.();
}
