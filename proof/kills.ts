import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { hangBell, type Ring } from '../demo/bell.ts';
import { compare, type Verdict } from '../demo/ledgers.ts';
import { type Started, startProcess } from '../demo/started.ts';
import { apiKey, Carillon, CarillonError } from '../src/sdk/index.ts';

/** How long the receiver takes to answer, so that there is always something in flight to be killed. */
const ANSWER_AFTER_MS = 10;

/** Records that clients are answered 201 for before a service is killed. */
const LEAST_OF_A_LIFE = 10;

/** How long what is owed at the end may take to be told. */
const LONGEST_DRAIN_MS = 20_000;

/** Which hook is told of what. */
const hooks = [
  { path: '/events', kind: 'new_event', collection: '/v2/events/' },
  { path: '/events-too', kind: 'new_event', collection: '/v2/events/' },
  { path: '/clients', kind: 'new_client', collection: '/v2/clients/' },
] as const;

/** One SIGKILL, and what the database held right after it. */
export type Kill = {
  /** From when it was ready to the kill. */
  readonly afterMs: number;
  /** Records acknowledged to clients, and notifications heard, from the beginning. */
  readonly acknowledged: number;
  readonly heard: number;
  /** Deliveries that were owed at that moment. A kill counts if there were any. */
  readonly owed: number;
};

/** What is left when the last one is through. */
export type KillReport = Verdict & {
  readonly kills: readonly Kill[];
  readonly acknowledged: number;
  readonly stored: number;
  readonly heard: number;
  /** Notifications that are to have been heard at least. */
  readonly due: number;
  /** Requests that a kill cut off: whether they were done, only the database knows. */
  readonly unanswered: number;
  /** Notifications heard again although no kill had left them owed. */
  readonly unexplained: readonly string[];
  /** Hooks that are live in the end, of how many. */
  readonly liveHooks: number;
  readonly hooks: number;
  /** What the last service ended with after SIGTERM. */
  readonly exitCode: number | null;
};

export type KillOptions = {
  /** How many kills must count. */
  readonly kills: number;
  readonly writers: number;
  /** How long a service lives at least and, if it could write something by then, at most; milliseconds. */
  readonly lifeMs: readonly [number, number];
  readonly onKill?: (kill: Kill) => void;
};

/**
 * Lets clients write as fast as they can while the service is killed with SIGKILL and started again on the same
 * database, over and over; then lets what is owed be told, stops, and compares what the clients, the receiver and the
 * database know.
 */
export async function killAndCompare(options: KillOptions): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-kills-'));
  const database = join(folder, 'carillon.db');
  const listening = await freePort();
  const environment = {
    CARILLON_DATABASE: `sqlite:${database}`,
    CARILLON_PORT: String(listening),
    CARILLON_RETRY_WAITS: '100ms,200ms',
  };
  const receiver = await startReceiver();
  let service: Started | undefined;
  try {
    service = await startProcess(environment);
    const { baseUrl, domain = '', key = '' } = service;
    const carillon = new Carillon({ baseUrl, auth: apiKey({ domain, key }), retries: 0 });
    for (const { path, kind } of hooks) {
      await carillon.hooks.create({ target_url: receiver.at(path), event: kind });
    }
    const writing = startWriting(carillon, baseUrl, options.writers);
    const kills: Kill[] = [];
    const [least, most] = options.lifeMs;
    for (let tried = 0; kills.length < options.kills; tried += 1) {
      if (tried >= options.kills * 2) throw new Error('too many kills found nothing owed');
      writing.resume();
      const began = performance.now();
      const acknowledgedBefore = writing.acknowledged.size;
      await wait(least + Math.random() * (most - least));
      // On a slow machine a life lasts until there was something to lose.
      await writing.untilAcknowledged(acknowledgedBefore + LEAST_OF_A_LIFE);
      await receiver.whenBusy();
      writing.pause();
      await service.stop('SIGKILL');
      const afterMs = Math.round(performance.now() - began);
      const owed = owedIn(database);
      await receiver.killed(owed);
      const kill = { afterMs, acknowledged: writing.acknowledged.size, heard: receiver.heard(), owed: owed.size };
      if (owed.size > 0) {
        kills.push(kill);
        options.onKill?.(kill);
      }
      service = await startProcess(environment);
    }
    await writing.stop();
    await untilNothingIsOwed(carillon);
    const exitCode = await service.stop('SIGTERM');
    const { stored, liveHooks } = read(database, baseUrl);
    const concerns = (path: string, address: string) =>
      hooks.some((hook) => hook.path === path && address.startsWith(baseUrl + hook.collection));
    const verdict = compare({ acknowledged: writing.acknowledged, arrived: receiver.arrived, stored, concerns });
    const due = hooks.flatMap(({ path }) => [...stored].filter((address) => concerns(path, address))).length;
    return {
      ...verdict,
      kills,
      acknowledged: writing.acknowledged.size,
      stored: stored.size,
      heard: receiver.heard(),
      due,
      unanswered: writing.unanswered(),
      unexplained: receiver.unexplained,
      liveHooks,
      hooks: hooks.length,
      exitCode,
    };
  } finally {
    service?.process.kill('SIGKILL');
    await receiver.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A port of its own through all restarts, so that addresses stay what they are. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Clients that create one record after the other; paused, they wait with the next one until they are resumed. */
function startWriting(carillon: Carillon, baseUrl: string, writers: number) {
  const acknowledged = new Set<string>();
  let unanswered = 0;
  let stopped = false;
  let open = Promise.withResolvers<void>();
  let paused = true;

  async function writeOne(count: number): Promise<void> {
    if (count % 3 === 0) {
      const { client_id } = await carillon.clients.create({ client_name: `Client ${count}` });
      acknowledged.add(`${baseUrl}/v2/clients/${client_id}`);
    } else {
      const event = { event_name: `Event ${count}`, start_date: '20270101', due_date: '20270102' };
      const { event_id } = await carillon.events.create(event);
      acknowledged.add(`${baseUrl}/v2/events/${event_id}`);
    }
  }

  async function write(): Promise<void> {
    for (let count = 0; !stopped; count += 1) {
      try {
        await writeOne(count);
      } catch (error) {
        if (!(error instanceof CarillonError) || error.code !== 'connection') throw error;
        unanswered += 1;
        // A pause begins a moment before the kill; whoever was cut off waits for the next life.
        if (paused) await open.promise;
      }
    }
  }
  const all = Array.from({ length: writers }, write);
  const through = Promise.all(all);
  let failure: unknown;
  through.catch((error: unknown) => {
    failure = error;
  });
  return {
    acknowledged: acknowledged as ReadonlySet<string>,
    unanswered: () => unanswered,
    async untilAcknowledged(count: number) {
      while (acknowledged.size < count && failure === undefined) await wait(2);
      if (failure !== undefined) throw failure;
    },
    pause() {
      paused = true;
      open = Promise.withResolvers();
    },
    resume() {
      paused = false;
      open.resolve();
    },
    async stop() {
      stopped = true;
      open.resolve();
      await through;
    },
  };
}

/** The receiver, which answers 200 to everything and keeps its ledger. */
async function startReceiver() {
  const arrived = new Map<string, Map<string, number>>(hooks.map(({ path }) => [path, new Map()]));
  const unexplained: string[] = [];
  let total = 0;
  let life = 0;
  /** The life of the service in which each delivery was heard last, and until which one kills left it owed. */
  const lastHeardIn = new Map<string, number>();
  const owedUntil = new Map<string, number>();
  let answering = 0;
  const busy: (() => void)[] = [];

  function hear({ path, resourceUrl, deliveryId }: Ring): void {
    total += 1;
    const told = arrived.get(path) ?? new Map<string, number>();
    arrived.set(path, told.set(resourceUrl, (told.get(resourceUrl) ?? 0) + 1));
    const before = lastHeardIn.get(deliveryId);
    const explained = before === undefined || (before < life && owedUntil.get(deliveryId) === life);
    if (!explained) unexplained.push(`${deliveryId} ${path} ${resourceUrl}`);
    lastHeardIn.set(deliveryId, life);
  }
  const bell = await hangBell(
    async (ring) => {
      // Heard when it is here: whether the sender lives to see the answer is another matter.
      hear(ring);
      answering += 1;
      for (const resolve of busy.splice(0)) resolve();
      await wait(ANSWER_AFTER_MS);
      answering -= 1;
      return 200;
    },
    () => undefined,
  );
  return {
    arrived: arrived as ReadonlyMap<string, ReadonlyMap<string, number>>,
    unexplained: unexplained as readonly string[],
    heard: () => total,
    at: bell.at,
    close: bell.close,
    /** Resolves while a notification is being answered, at once or as soon as the next one is here. */
    whenBusy: (): Promise<void> =>
      answering > 0 ? Promise.resolve() : new Promise<void>((resolve) => busy.push(resolve)),
    /** What the dead one has sent is heard first: the next one tells before it has said that it is there. */
    async killed(owed: ReadonlySet<string>) {
      await bell.quiet();
      life += 1;
      for (const deliveryId of owed) owedUntil.set(deliveryId, life);
    },
  };
}

/** What a dead service's database says is owed, by delivery. */
function owedIn(path: string): ReadonlySet<string> {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const rows = database.prepare('select delivery_id from owed').all();
    return new Set(rows.map((row) => String(row.delivery_id)));
  } finally {
    database.close();
  }
}

function read(path: string, baseUrl: string): { stored: Set<string>; liveHooks: number } {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const events = database.prepare('select event_id as id from events').all();
    const clients = database.prepare('select client_id as id from clients').all();
    const [live] = database.prepare('select count(*) as count from hooks where date_ended is null').all();
    const stored = new Set([
      ...events.map(({ id }) => `${baseUrl}/v2/events/${id}`),
      ...clients.map(({ id }) => `${baseUrl}/v2/clients/${id}`),
    ]);
    return { stored, liveHooks: Number(live?.count) };
  } finally {
    database.close();
  }
}

async function untilNothingIsOwed(carillon: Carillon): Promise<void> {
  for (const giveUpAt = performance.now() + LONGEST_DRAIN_MS; performance.now() < giveUpAt; await wait(20)) {
    const { paging } = await carillon.deliveries.list({ state: 'owed', limit: 1 });
    if (paging.total_records === 0) return;
  }
}
