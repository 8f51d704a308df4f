import pg from 'pg';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { CommitEventsBuilder } from '../commit-events.ts';
import type { CommitEvents, Queries, Sessions } from '../store.ts';
import { BY_INDEX, clientOptions, type Extras, isTimeout, queriesOver, queryFunctionOf } from './connection.ts';

const CHANNEL = 'carillon';

/**
 * Maximum number of ids per notification. A NOTIFY payload is limited to 8,000 bytes: this many ids of 16 digits fit,
 * each with the longest end reason.
 */
const IDS_PER_MESSAGE = 200;

const RECONNECT_AFTER_MS = 250;

/**
 * Query timeout of the notifier. After a timeout, its connection counts as cut and is opened again, well before the
 * peers evict this node.
 */
const PING_TIMEOUT_MS = 4_000;

/** Class id of the advisory locks that show which nodes are connected. */
export const NODE_LOCKS = 0x43_41_52_4e;

const TRY_LOCK = 'select pg_try_advisory_lock($1, $2)';

type Message = {
  readonly pending?: readonly number[];
  readonly asked?: readonly number[];
  readonly ended?: readonly (readonly [number, string])[];
  readonly changed?: readonly number[];
  readonly happened?: readonly number[];
  readonly access?: true;
  /** Sent by an API-only node: other nodes have to claim its pending deliveries. */
  readonly leaves?: true;
};

/**
 * The notifier: a dedicated connection of this node for LISTEN/NOTIFY, heartbeats and the advisory lock that shows that
 * the node is connected. Commit events are published to the other nodes on one channel, batched per event-loop
 * iteration. Notifications may be lost. The poll finds the same work, so notifications only reduce latency. A lost
 * connection is opened again.
 */
export class NotifierSession implements Sessions {
  readonly #address: string;
  readonly #extras: Extras;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onEvents: (events: CommitEvents) => void;
  readonly #onReconnected: () => void;
  delivers = false;
  #client: pg.Client | undefined;
  #queries: Queries | undefined;
  #nodeId: number | undefined;
  #waiting = new CommitEventsBuilder();
  #sending: Promise<void> | undefined;
  /** Whether the connection was lost by a timeout. Then the pooled connections are probably cut as well. */
  #timedOut = false;
  #closed = false;
  #cancel: () => void = () => undefined;

  constructor(ports: {
    address: string;
    extras: Extras;
    clock: Clock;
    log: Log;
    onEvents: (events: CommitEvents) => void;
    onReconnected: () => void;
  }) {
    this.#address = ports.address;
    this.#extras = ports.extras;
    this.#clock = ports.clock;
    this.#log = ports.log;
    this.#onEvents = ports.onEvents;
    this.#onReconnected = ports.onReconnected;
  }

  async open(): Promise<void> {
    const client = new pg.Client({
      ...clientOptions(this.#address),
      connectionTimeoutMillis: PING_TIMEOUT_MS,
      query_timeout: PING_TIMEOUT_MS,
    });
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, undefined));
    client.on('notification', ({ processId, payload }) => {
      if (processId !== backendOf(client)) this.#onMessage(payload ?? '');
    });
    try {
      await client.connect();
      if (this.#extras.prepared) await client.query(BY_INDEX);
      if (this.#extras.listen) await client.query(`listen ${CHANNEL}`);
      if (this.#nodeId !== undefined) await client.query(TRY_LOCK, [NODE_LOCKS, this.#nodeId]);
      if (this.#closed) throw new Error('the session is closed');
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    this.#queries = queriesOver(queryFunctionOf(client, this.#extras, (error) => this.#failed(error)));
  }

  /** Queries on the connection of the notifier, which never wait for a pooled connection. */
  get queries(): Queries {
    if (this.#queries === undefined) throw new Error('the connection to the database is lost');
    return this.#queries;
  }

  async hold(nodeId: number): Promise<void> {
    this.#nodeId = nodeId;
    await this.#run(TRY_LOCK, [NODE_LOCKS, nodeId]);
  }

  async held(): Promise<ReadonlySet<number>> {
    const rows = await this.#run(
      "select objid::int8 as node_id from pg_locks where locktype = 'advisory' and granted and classid::int8 = $1 and objsubid = 2 and database = (select oid from pg_database where datname = current_database())",
      [NODE_LOCKS],
    );
    return new Set(rows.map((row) => Number(row.node_id)));
  }

  /**
   * Publishes commit events to the other nodes. Events that are added while a message is being sent are merged into the
   * next message.
   */
  publish(events: CommitEvents): void {
    if (!this.#extras.listen || this.#closed) return;
    this.#waiting.add(events);
    this.#sending ??= this.#sendAll();
  }

  async close(): Promise<void> {
    await this.#sending;
    this.#closed = true;
    this.#cancel();
    const client = this.#client;
    this.#client = undefined;
    this.#queries = undefined;
    await client?.end();
  }

  async #sendAll(): Promise<void> {
    // Batch the commit events of one event-loop iteration.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (hasEvents(this.#waiting)) {
      const events = this.#waiting;
      this.#waiting = new CommitEventsBuilder();
      try {
        for (const message of messagesOf(events))
          await this.#run('select pg_notify($1, $2)', [
            CHANNEL,
            JSON.stringify(this.delivers ? message : { ...message, leaves: true }),
          ]);
      } catch (error) {
        this.#log.warn({ event: 'notifier.not_sent', err: error });
      }
    }
    this.#sending = undefined;
  }

  #onMessage(payload: string): void {
    const message = readMessage(payload);
    if (message === undefined) {
      this.#log.warn({ event: 'notifier.unreadable', payload });
      return;
    }
    const events = new CommitEventsBuilder(message.leaves ? 'other' : 'deliverer');
    events.addPending(message.pending ?? []);
    events.addManual(message.asked ?? []);
    for (const [hookId, reason] of message.ended ?? []) events.addEnded([hookId], reason);
    events.addChanged(message.changed ?? []);
    events.addOccurred(message.happened ?? []);
    if (message.access) events.addAccessChange();
    this.#onEvents(events);
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    this.#queries = undefined;
    this.#log.warn({ event: 'session.lost', err: error });
    client.end().catch(() => undefined);
    this.#reconnect();
  }

  #reconnect(): void {
    this.#cancel = this.#clock.after(RECONNECT_AFTER_MS, () => {
      if (this.#closed) return;
      this.open().then(
        () => {
          this.#log.info({ event: 'session.restored' });
          if (this.#timedOut) this.#onReconnected();
          this.#timedOut = false;
        },
        () => this.#reconnect(),
      );
    });
  }

  async #run(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    if (this.#client === undefined) throw new Error('the connection to the database is lost');
    const running = this.#client.query({ text, values: [...values] });
    const { rows } = await running.catch((error: unknown) => {
      throw this.#failed(error);
    });
    return rows;
  }

  #failed(error: unknown): unknown {
    if (isTimeout(error)) this.#timedOut = true;
    return error;
  }
}

/** Returns the backend process id of a connection, which the types of the driver omit. */
function backendOf(client: pg.Client): number | undefined {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : undefined;
}

function readMessage(payload: string): Message | undefined {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}

function hasEvents(events: CommitEvents): boolean {
  return countOf(events) > 0 || events.access;
}

function countOf({ pending, manualAttempts, ended, changedSecrets, accountsWithOccurrences }: CommitEvents): number {
  return pending.size + manualAttempts.size + ended.size + changedSecrets.size + accountsWithOccurrences.size;
}

function* messagesOf(events: CommitEvents): Generator<Message> {
  const { pending, manualAttempts, ended, changedSecrets, accountsWithOccurrences, access } = events;
  if (countOf(events) <= IDS_PER_MESSAGE) {
    yield {
      pending: [...pending.keys()],
      asked: [...manualAttempts],
      ended: [...ended],
      ...(changedSecrets.size > 0 ? { changed: [...changedSecrets] } : {}),
      happened: [...accountsWithOccurrences],
      ...(access ? { access } : {}),
    };
    return;
  }
  for (const pending of chunks(events.pending.keys())) yield { pending };
  for (const asked of chunks(events.manualAttempts)) yield { asked };
  for (const ended of chunks(events.ended)) yield { ended };
  for (const changed of chunks(events.changedSecrets)) yield { changed };
  for (const happened of chunks(events.accountsWithOccurrences)) yield { happened };
  if (events.access) yield { access: true };
}

function* chunks<T>(items: Iterable<T>): Generator<T[]> {
  const all = [...items];
  for (let begin = 0; begin < all.length; begin += IDS_PER_MESSAGE) yield all.slice(begin, begin + IDS_PER_MESSAGE);
}
