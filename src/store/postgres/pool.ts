import pg from 'pg';
import type { Log } from '../../log.ts';
import { BY_INDEX, clientOptions, type Extras, isConnectionLost } from './connection.ts';

/** Connections for many, made as they are needed. */
export class Pool {
  /** The most connections at once. */
  readonly most: number;
  readonly #make: () => pg.Pool;
  readonly #atWork = new Set<pg.PoolClient>();
  readonly #waiting = new Set<() => void>();
  #pool: pg.Pool;

  /** @param max as many as the address says, unless it is said */
  constructor(address: string, extras: Extras, log: Log, max = extras.pool) {
    this.most = max;
    this.#make = () => {
      const pool = new pg.Pool({ ...clientOptions(address), max, idleTimeoutMillis: 60_000 });
      // One that waits for work has lost its connection: another is made when it is needed.
      pool.on('error', (error) => log.warn({ event: 'database.connection_lost', err: error }));
      // One that is at work, too, and at once: what its queries come to is told to whoever asked. An error that nobody
      // hears would end the process.
      pool.on('connect', (client) => void client.on('error', () => undefined));
      // Before anything else: whoever has waited for the connection asks behind it.
      if (extras.prepared) pool.on('connect', (client) => void client.query(BY_INDEX).catch(() => undefined));
      pool.on('acquire', (client) => this.#atWork.add(client));
      pool.on('release', (_error, client) => this.#atWork.delete(client));
      return pool;
    };
    this.#pool = this.#make();
  }

  get waitingCount(): number {
    return this.#pool.waitingCount;
  }

  connect(): Promise<pg.PoolClient> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.PoolClient>();
    const waitAnew = () => void this.connect().then(resolve, reject);
    this.#waiting.add(waitAnew);
    this.#pool.connect().then(
      (client) => (this.#waiting.delete(waitAnew) ? resolve(client) : client.release(true)),
      (error: unknown) => {
        if (this.#waiting.delete(waitAnew)) reject(error);
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
   * Leaves every connection, since none of them leads anywhere any more; what is under way on them fails. Whoever waits
   * for one waits for a new one: a pool that is ended forgets them.
   */
  renew(): void {
    const left = this.#pool;
    const waiting = [...this.#waiting];
    this.#pool = this.#make();
    this.#waiting.clear();
    left.end().catch(() => undefined);
    for (const client of this.#atWork) abort(client);
    for (const waitAnew of waiting) waitAnew();
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }
}

/** The driver itself would wait for what is under way; its types leave the socket out. */
function abort(client: object): void {
  const { connection } = client as { connection?: { stream?: { destroy?: () => void } } };
  connection?.stream?.destroy?.();
}
