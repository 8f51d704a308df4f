import pg from 'pg';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { CommitEventsBuilder } from '../commit-events.ts';
import type { CommitEvents, Queries, Sessions } from '../store.ts';
import { BY_INDEX, clientOptions, type Extras, isTimeout, queriesOver, queryFunctionOf } from './connection.ts';

const CHANNEL = 'carillon';

/** A message carries at most 8,000 bytes: so many ids of 16 digits, each with the longest reason of an end. */
const IDS_PER_MESSAGE = 200;

const RECONNECT_AFTER_MS = 250;

/**
 * Who has no answer by then is cut off, and tries a new connection: well before the others give this node up, and so
 * that it comes back by itself.
 */
const PING_TIMEOUT_MS = 4_000;

/** Keeps the locks by which nodes know each other's connections apart from all others. */
export const NODE_LOCKS = 0x43_41_52_4e;

const LOCK = 'select pg_try_advisory_lock($1, $2)';

type Message = {
  readonly pending?: readonly number[];
  readonly asked?: readonly number[];
  readonly ended?: readonly (readonly [number, string])[];
  readonly changed?: readonly number[];
  readonly happened?: readonly number[];
  readonly access?: true;
  /** It leaves what is pending for others. */
  readonly leaves?: true;
};

/**
 * The one connection of a node that stays: on it news goes out to the other nodes and comes in from them, and by it
 * they know that this node lives. What is lost on the way is found by those who poll: news only makes it sooner.
 */
export class NotifierSession implements Sessions {
  readonly #address: string;
  readonly #extras: Extras;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onNews: (news: CommitEvents) => void;
  readonly #onBack: () => void;
  delivers = false;
  #client: pg.Client | undefined;
  #queries: Queries | undefined;
  #held: number | undefined;
  #waiting = new CommitEventsBuilder();
  #sending: Promise<void> | undefined;
  /** It was lost without a word: nobody answered. */
  #wasSilent = false;
  #closed = false;
  #cancel: () => void = () => undefined;

  constructor(ports: {
    address: string;
    extras: Extras;
    clock: Clock;
    log: Log;
    onEvents: (news: CommitEvents) => void;
    onReconnected: () => void;
  }) {
    this.#address = ports.address;
    this.#extras = ports.extras;
    this.#clock = ports.clock;
    this.#log = ports.log;
    this.#onNews = ports.onEvents;
    this.#onBack = ports.onReconnected;
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
      if (this.#held !== undefined) await client.query(LOCK, [NODE_LOCKS, this.#held]);
      if (this.#closed) throw new Error('the session is closed');
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    this.#queries = queriesOver(queryFunctionOf(client, this.#extras, (error) => this.#failed(error)));
  }

  /** Queries on this connection, each for itself; they wait for nothing that others do. */
  get queries(): Queries {
    if (this.#queries === undefined) throw new Error('the connection to the database is lost');
    return this.#queries;
  }

  async hold(nodeId: number): Promise<void> {
    this.#held = nodeId;
    await this.#run(LOCK, [NODE_LOCKS, nodeId]);
  }

  async held(): Promise<ReadonlySet<number>> {
    const rows = await this.#run(
      "select objid::int8 as node_id from pg_locks where locktype = 'advisory' and granted and classid::int8 = $1 and objsubid = 2 and database = (select oid from pg_database where datname = current_database())",
      [NODE_LOCKS],
    );
    return new Set(rows.map((row) => Number(row.node_id)));
  }

  /** Tells the other nodes: what comes while a message is on its way goes together in the next. */
  publish(news: CommitEvents): void {
    if (!this.#extras.listen || this.#closed) return;
    this.#waiting.add(news);
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
    // What commits in this turn of the event loop is told together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (isEventMessage(this.#waiting)) {
      const news = this.#waiting;
      this.#waiting = new CommitEventsBuilder();
      try {
        for (const message of messagesOf(news))
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
    const news = new CommitEventsBuilder(message.leaves ? 'other' : 'deliverer');
    news.addPending(message.pending ?? []);
    news.addManual(message.asked ?? []);
    for (const [hookId, reason] of message.ended ?? []) news.addEnded([hookId], reason);
    news.addChanged(message.changed ?? []);
    news.addOccurred(message.happened ?? []);
    if (message.access) news.addAccessChange();
    this.#onNews(news);
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
          if (this.#wasSilent) this.#onBack();
          this.#wasSilent = false;
        },
        () => this.#reconnect(),
      );
    });
  }

  async #run(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    if (this.#client === undefined) throw new Error('the connection to the database is lost');
    const asking = this.#client.query({ text, values: [...values] });
    const { rows } = await asking.catch((error: unknown) => {
      throw this.#failed(error);
    });
    return rows;
  }

  #failed(error: unknown): unknown {
    if (isTimeout(error)) this.#wasSilent = true;
    return error;
  }
}

/** The process of the database that serves a connection; the driver's types leave it out. */
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

function isEventMessage(news: CommitEvents): boolean {
  return countOf(news) > 0 || news.access;
}

function countOf({ pending, asked, ended, changed, happened }: CommitEvents): number {
  return pending.size + asked.size + ended.size + changed.size + happened.size;
}

function* messagesOf(news: CommitEvents): Generator<Message> {
  const { pending, asked, ended, changed, happened, access } = news;
  if (countOf(news) <= IDS_PER_MESSAGE) {
    yield {
      pending: [...pending.keys()],
      asked: [...asked],
      ended: [...ended],
      ...(changed.size > 0 ? { changed: [...changed] } : {}),
      happened: [...happened],
      ...(access ? { access } : {}),
    };
    return;
  }
  for (const pending of chunks(news.pending.keys())) yield { pending };
  for (const asked of chunks(news.asked)) yield { asked };
  for (const ended of chunks(news.ended)) yield { ended };
  for (const changed of chunks(news.changed)) yield { changed };
  for (const happened of chunks(news.happened)) yield { happened };
  if (news.access) yield { access: true };
}

function* chunks<T>(items: Iterable<T>): Generator<T[]> {
  const all = [...items];
  for (let begin = 0; begin < all.length; begin += IDS_PER_MESSAGE) yield all.slice(begin, begin + IDS_PER_MESSAGE);
}
