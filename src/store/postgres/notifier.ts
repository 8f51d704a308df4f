import pg from 'pg';
import { splitIntoBatches } from '../../async/batches.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { CommitEventsBuilder } from '../commit-events.ts';
import type { ClusterSession, CommitEvents, Queries } from '../store.ts';
import {
  type AddressOptions,
  createClientOptions,
  createQueries,
  createQueryFunction,
  isTimeout,
  PREFER_INDEX_PLANS_SQL,
} from './connection.ts';

const NOTIFY_CHANNEL = 'carillon';

/**
 * Maximum number of ids per message between nodes. The payload of a NOTIFY is limited to 8,000 bytes. This number of
 * 16-digit ids fits into it, even if each of them has the longest end reason.
 */
const MAX_IDS_PER_MESSAGE = 200;

const RECONNECT_DELAY_MS = 250;

/**
 * Query timeout of the notifier. After a timeout, its connection counts as cut and is opened again, well before the
 * peers evict this node.
 */
const NOTIFIER_QUERY_TIMEOUT_MS = 4_000;

/** Class id of the advisory locks that show which nodes are connected. */
export const NODE_LOCK_CLASS = 0x43_41_52_4e;

const TRY_LOCK_SQL = 'select pg_try_advisory_lock($1, $2)';

/**
 * A message between nodes with the commit events of one or more commits. `pending`: ids of hooks with new pending
 * deliveries. `asked`: ids of hooks with manual attempts. `ended`: ids and end reasons of ended hooks. `changed`: ids
 * of hooks whose settings have changed. `happened`: ids of accounts with new occurrences. `access`: permissions have
 * changed.
 */
type CommitEventMessage = {
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
 * iteration. Messages between nodes may be lost: nodes also poll for pending deliveries, so messages only reduce the
 * latency. A lost connection is opened again.
 */
export class NotifierSession implements ClusterSession {
  readonly #address: string;
  readonly #addressOptions: AddressOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Called with the commit events of other nodes. */
  readonly #onEventsFromPeers: (events: CommitEvents) => void;
  /** Called when the connection was opened again after a timeout. */
  readonly #onReconnected: () => void;
  isDelivering = false;
  #client: pg.Client | undefined;
  #queries: Queries | undefined;
  #nodeId: number | undefined;
  #unsentEvents = new CommitEventsBuilder();
  #runningSend: Promise<void> | undefined;
  /** Whether the connection was lost by a timeout. Then the pooled connections are probably cut as well. */
  #hasTimedOut = false;
  #isClosed = false;
  #cancelReconnect: () => void = () => undefined;

  constructor(deps: {
    address: string;
    addressOptions: AddressOptions;
    clock: Clock;
    log: Log;
    onEventsFromPeers: (events: CommitEvents) => void;
    onReconnected: () => void;
  }) {
    this.#address = deps.address;
    this.#addressOptions = deps.addressOptions;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#onEventsFromPeers = deps.onEventsFromPeers;
    this.#onReconnected = deps.onReconnected;
  }

  async open(): Promise<void> {
    const client = new pg.Client({
      ...createClientOptions(this.#address),
      connectionTimeoutMillis: NOTIFIER_QUERY_TIMEOUT_MS,
      query_timeout: NOTIFIER_QUERY_TIMEOUT_MS,
    });
    client.on('error', (error) => this.#onConnectionLost(client, error));
    client.on('end', () => this.#onConnectionLost(client, undefined));
    client.on('notification', ({ processId, payload }) => {
      if (processId !== backendPidOf(client)) this.#onMessage(payload ?? '');
    });
    try {
      await client.connect();
      if (this.#addressOptions.usesPreparedStatements) await client.query(PREFER_INDEX_PLANS_SQL);
      if (this.#addressOptions.usesListenNotify) await client.query(`listen ${NOTIFY_CHANNEL}`);
      if (this.#nodeId !== undefined) await client.query(TRY_LOCK_SQL, [NODE_LOCK_CLASS, this.#nodeId]);
      if (this.#isClosed) throw new Error('the session is closed');
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    this.#queries = createQueries(
      createQueryFunction(client, this.#addressOptions, (error) => this.#recordTimeout(error)),
    );
  }

  /** Queries on the connection of the notifier, which never wait for a pooled connection. */
  get queries(): Queries {
    if (this.#queries === undefined) throw new Error('the connection to the database is lost');
    return this.#queries;
  }

  async acquireNodeLock(nodeId: number): Promise<void> {
    this.#nodeId = nodeId;
    await this.#runQuery(TRY_LOCK_SQL, [NODE_LOCK_CLASS, nodeId]);
  }

  async findConnectedNodes(): Promise<ReadonlySet<number>> {
    const rows = await this.#runQuery(
      "select objid::int8 as node_id from pg_locks where locktype = 'advisory' and granted and classid::int8 = $1 and objsubid = 2 and database = (select oid from pg_database where datname = current_database())",
      [NODE_LOCK_CLASS],
    );
    return new Set(rows.map((row) => Number(row.node_id)));
  }

  /**
   * Publishes commit events to the other nodes. Events that are added while a message is being sent are merged into the
   * next message.
   */
  publish(events: CommitEvents): void {
    if (!this.#addressOptions.usesListenNotify || this.#isClosed) return;
    this.#unsentEvents.merge(events);
    this.#runningSend ??= this.#sendUnsentEvents();
  }

  async close(): Promise<void> {
    await this.#runningSend;
    this.#isClosed = true;
    this.#cancelReconnect();
    const client = this.#client;
    this.#client = undefined;
    this.#queries = undefined;
    await client?.end();
  }

  async #sendUnsentEvents(): Promise<void> {
    // Batch the commit events of one event-loop iteration.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (hasEvents(this.#unsentEvents)) {
      const events = this.#unsentEvents;
      this.#unsentEvents = new CommitEventsBuilder();
      try {
        for (const message of toMessages(events))
          await this.#runQuery('select pg_notify($1, $2)', [
            NOTIFY_CHANNEL,
            JSON.stringify(this.isDelivering ? message : { ...message, leaves: true }),
          ]);
      } catch (error) {
        this.#log.warn({ event: 'notifier.not_sent', err: error });
      }
    }
    this.#runningSend = undefined;
  }

  #onMessage(payload: string): void {
    const message = parseMessage(payload);
    if (message === undefined) {
      this.#log.warn({ event: 'notifier.unreadable', payload });
      return;
    }
    const events = new CommitEventsBuilder(message.leaves ? 'other' : 'deliverer');
    events.addPendingHooks(message.pending ?? []);
    events.addManualAttempts(message.asked ?? []);
    for (const [hookId, reason] of message.ended ?? []) events.addEndedHooks([hookId], reason);
    events.addChangedSettings(message.changed ?? []);
    events.addAccountsWithOccurrences(message.happened ?? []);
    if (message.access) events.addAccessChange();
    this.#onEventsFromPeers(events);
  }

  #onConnectionLost(client: pg.Client, error: unknown): void {
    if (this.#isClosed || this.#client !== client) return;
    this.#client = undefined;
    this.#queries = undefined;
    this.#log.warn({ event: 'session.lost', err: error });
    client.end().catch(() => undefined);
    this.#reconnect();
  }

  #reconnect(): void {
    this.#cancelReconnect = this.#clock.after(RECONNECT_DELAY_MS, () => {
      if (this.#isClosed) return;
      this.open().then(
        () => {
          this.#log.info({ event: 'session.restored' });
          if (this.#hasTimedOut) this.#onReconnected();
          this.#hasTimedOut = false;
        },
        () => this.#reconnect(),
      );
    });
  }

  async #runQuery(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    if (this.#client === undefined) throw new Error('the connection to the database is lost');
    const runningQuery = this.#client.query({ text, values: [...values] });
    const { rows } = await runningQuery.catch((error: unknown) => {
      throw this.#recordTimeout(error);
    });
    return rows;
  }

  #recordTimeout(error: unknown): unknown {
    if (isTimeout(error)) this.#hasTimedOut = true;
    return error;
  }
}

/** Returns the backend process id of a connection, which the types of the driver omit. */
function backendPidOf(client: pg.Client): number | undefined {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : undefined;
}

function parseMessage(payload: string): CommitEventMessage | undefined {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}

function hasEvents(events: CommitEvents): boolean {
  return countIds(events) > 0 || events.hasAccessChanged;
}

function countIds({
  pendingDeliveriesByHook,
  hookIdsWithManualAttempts,
  endedHooks,
  hookIdsWithChangedSettings,
  accountsWithOccurrences,
}: CommitEvents): number {
  return (
    pendingDeliveriesByHook.size +
    hookIdsWithManualAttempts.size +
    endedHooks.size +
    hookIdsWithChangedSettings.size +
    accountsWithOccurrences.size
  );
}

function* toMessages(events: CommitEvents): Generator<CommitEventMessage> {
  const {
    pendingDeliveriesByHook,
    hookIdsWithManualAttempts,
    endedHooks,
    hookIdsWithChangedSettings,
    accountsWithOccurrences,
    hasAccessChanged,
  } = events;
  if (countIds(events) <= MAX_IDS_PER_MESSAGE) {
    yield {
      pending: [...pendingDeliveriesByHook.keys()],
      asked: [...hookIdsWithManualAttempts],
      ended: [...endedHooks],
      ...(hookIdsWithChangedSettings.size > 0 ? { changed: [...hookIdsWithChangedSettings] } : {}),
      happened: [...accountsWithOccurrences],
      ...(hasAccessChanged ? { access: hasAccessChanged } : {}),
    };
    return;
  }
  for (const pending of splitIntoMessages(events.pendingDeliveriesByHook.keys())) yield { pending };
  for (const asked of splitIntoMessages(events.hookIdsWithManualAttempts)) yield { asked };
  for (const ended of splitIntoMessages(events.endedHooks)) yield { ended };
  for (const changed of splitIntoMessages(events.hookIdsWithChangedSettings)) yield { changed };
  for (const happened of splitIntoMessages(events.accountsWithOccurrences)) yield { happened };
  if (events.hasAccessChanged) yield { access: true };
}

const splitIntoMessages = <T>(items: Iterable<T>) => splitIntoBatches([...items], MAX_IDS_PER_MESSAGE);
