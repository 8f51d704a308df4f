import pg from 'pg';
import type { Log } from '../log.ts';
import { clientOptions } from './postgres-connection.ts';

/** Connections for many, made as they are needed. */
export class Pool {
  readonly #make: () => pg.Pool;
  readonly #atWork = new Set<pg.PoolClient>();
  #pool: pg.Pool;

  /** @param max the most connections at once */
  constructor(address: string, max: number, log: Log) {
    this.#make = () => {
      const pool = new pg.Pool({ ...clientOptions(address), max, idleTimeoutMillis: 60_000 });
      // One that waits for work has lost its connection: another is made when it is needed.
      pool.on('error', (error) => log.warn({ event: 'database.connection_lost', err: error }));
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
    return this.#pool.connect();
  }

  query<R extends pg.QueryResultRow>(query: pg.QueryConfig | string): Promise<pg.QueryResult<R>> {
    return this.#pool.query<R>(query);
  }

  /** Leaves every connection, since none of them leads anywhere any more; what is under way on them fails. */
  renew(): void {
    const left = this.#pool;
    this.#pool = this.#make();
    left.end().catch(() => undefined);
    for (const client of this.#atWork) breakOff(client);
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }
}

/** The driver itself would wait for what is under way; its types leave the socket out. */
function breakOff(client: object): void {
  const { connection } = client as { connection?: { stream?: { destroy?: () => void } } };
  connection?.stream?.destroy?.();
}
