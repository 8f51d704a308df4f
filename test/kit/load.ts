import { setTimeout as wait } from 'node:timers/promises';
import { type Carillon, CarillonError } from '../../packages/sdk/src/index.ts';
import type { Store } from '../../src/store/store.ts';
import { check, type Fault } from '../reliability/checker/check.ts';
import { type Arrival, type Call, type Crash, occurring } from '../reliability/checker/history.ts';
import { BASE, readDatabase } from '../reliability/workload/observers.ts';
import type { Cleanup } from './cleanup.ts';
import { atEnd } from './cleanup.ts';
import { pendingNow } from './nodes.ts';
import type { Target } from './target.ts';

/** Clients that create one event after the other, and what came of it. */
export type Load = {
  /** What was asked for. */
  readonly calls: readonly Call[];
  /** Where the events are that were answered with 201. */
  readonly acknowledged: ReadonlySet<string>;
  /** What was not. */
  readonly failures: readonly CarillonError[];
  /** From now on through these. */
  through(...nodes: readonly Carillon[]): void;
  /** The next one waits for `resume`; resolves when those under way have their answers. */
  pause(): Promise<void>;
  resume(): void;
  stop(): Promise<void>;
};

/**
 * Each writer goes round the nodes, from the first `resume` on; where one does not answer, the next one is asked.
 *
 * @param everyMs the rest between two events of one writer
 */
export function startLoad(context: Cleanup, nodes: readonly Carillon[], writers: number, everyMs = 5): Load {
  const calls: Call[] = [];
  const acknowledged = new Set<string>();
  const failures: CarillonError[] = [];
  let present = nodes;
  let stopped = false;
  let open = Promise.withResolvers<void>();
  let busy = 0;
  let idle = Promise.withResolvers<void>();
  /** Who writes: asked before the first event, while every node is well. */
  let asked: Promise<string> | undefined;

  async function writeOne(word: string, node: Carillon): Promise<void> {
    asked ??= node.user.get().then((user) => user.user_id);
    const userId = await asked;
    const call = { did: 'occur', kind: 'new_event', userId, word, askedAt: performance.now() } as const;
    try {
      const { event_id } = await node.events.create({ event_name: word, start_date: '20270101', due_date: '20270101' });
      calls.push({ ...call, answeredAt: performance.now(), record: `${BASE}/v2/events/${event_id}` });
      acknowledged.add(`/v2/events/${event_id}`);
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error;
      failures.push(error);
      calls.push({ ...call, answeredAt: undefined, record: undefined });
    }
  }

  async function write(first: number): Promise<void> {
    for (let count = first; !stopped; count += 1) {
      await open.promise;
      const node = present[count % present.length];
      if (stopped || node === undefined) return;
      busy += 1;
      await writeOne(`Tick ${first}.${count}`, node).finally(() => {
        busy -= 1;
        if (busy === 0) idle.resolve();
      });
      await wait(everyMs);
    }
  }
  const through = Promise.all(Array.from({ length: writers }, (_, index) => write(index)));
  const stop = async () => {
    stopped = true;
    open.resolve();
    await through;
  };
  atEnd(context, stop);
  return {
    calls,
    acknowledged,
    failures,
    through: (...next) => {
      present = next;
    },
    async pause() {
      open = Promise.withResolvers();
      idle = Promise.withResolvers();
      if (busy > 0) await idle.promise;
    },
    resume: () => open.resolve(),
    stop,
  };
}

/** Creates so many by hand, beside what any load does, and answers what a ledger says of it. */
export async function createNoted(
  { user, events, clients }: Carillon,
  kind: 'new_event' | 'new_client',
  words: readonly string[],
): Promise<Call[]> {
  const { user_id: userId } = await user.get();
  const dates = { start_date: '20270101', due_date: '20270102' };
  return Promise.all(
    words.map(async (word): Promise<Call> => {
      const askedAt = performance.now();
      const path =
        kind === 'new_event'
          ? `/v2/events/${(await events.create({ event_name: word, ...dates })).event_id}`
          : `/v2/clients/${(await clients.create({ client_name: word })).client_id}`;
      return { did: 'occur', kind, userId, word, record: BASE + path, askedAt, answeredAt: performance.now() };
    }),
  );
}

/** The paths of all events that are in the database. */
export async function storedEvents({ read }: Pick<Store, 'read'>): Promise<Set<string>> {
  const rows = await read.selectFrom('events').select('event_id').execute();
  return new Set(rows.map((row) => `/v2/events/${row.event_id}`));
}

/** The end of a node, for the ledgers: what is pending at this moment may be told once more. */
export async function crashNow(store: Pick<Store, 'read'>, target: Pick<Target, 'caughtUp'>): Promise<Crash> {
  const pending = await pendingNow(store);
  // What was on its way when it ended is heard before.
  await target.caughtUp();
  return { at: performance.now(), pending, fates: new Map() };
}

/** On a busy machine, what was told is written down so late at the latest. */
const SETTLES_WITHIN_MS = 2_000;

/** What clients, receiver and database disagree about, a line each; every hook of these paths was there from the beginning. */
export async function compareLedgers(
  database: string,
  { calls }: Pick<Load, 'calls'>,
  { received }: Pick<Target, 'received'>,
  { paths, crashes = [] }: { readonly paths: readonly string[]; readonly crashes?: readonly Crash[] },
): Promise<readonly Fault[]> {
  const [{ userId = '' } = {}] = occurring(calls);
  const subscribed = paths.map(
    (path): Call => ({ did: 'subscribe', path, kind: 'new_event', userId, askedAt: 0, answeredAt: 0 }),
  );
  const arrivals = received
    .filter(({ path }) => paths.includes(path))
    .map(({ path, deliveryId, body, at }): Arrival => {
      const named = body.replace(/"http:\/\/[^/"]+\//, `"${BASE}/`);
      return { path, deliveryId, body: named, at, answeredAt: at, answer: 200 };
    });
  const held = await readDatabase(database, BASE);
  const hooks = held.hooks.filter(({ path }) => paths.includes(path));
  const settlesWithinMs = SETTLES_WITHIN_MS;
  return check({ calls: [...subscribed, ...calls], arrivals, database: { ...held, hooks }, crashes, settlesWithinMs });
}

/** The deliveries that arrived more than once. */
export function repeatedIn({ received }: Pick<Target, 'received'>): string[] {
  const times = Map.groupBy(received, (one) => one.deliveryId);
  return [...times].filter(([, all]) => all.length > 1).map(([deliveryId]) => deliveryId);
}
