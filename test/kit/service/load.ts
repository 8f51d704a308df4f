import { setTimeout as wait } from 'node:timers/promises';
import { type Carillon, CarillonError } from '../../../packages/sdk/src/index.ts';
import type { Store } from '../../../src/store/store.ts';
import { check, type Violation } from '../../reliability/checker/check.ts';
import { type Arrival, type ClientCall, type Crash, occurrenceCalls } from '../../reliability/checker/history.ts';
import { HISTORY_BASE_URL, readDatabase } from '../../reliability/workload/observers.ts';
import { atEnd, type Cleanup } from '../cleanup.ts';
import type { Target } from '../network/target.ts';
import { pendingDeliveryIds } from './nodes.ts';

/** Concurrent writers that create events, and their results. */
export type Load = {
  /** All calls of the writers, for the delivery checker. */
  readonly calls: readonly ClientCall[];
  /** The paths of events whose creation was acknowledged with 201. */
  readonly acknowledged: ReadonlySet<string>;
  /** Errors of the calls that did not succeed. */
  readonly failures: readonly CarillonError[];
  /** Sends all following calls to these nodes. */
  redirectTo(...nodes: readonly Carillon[]): void;
  /** Suspends the writers until `resume`. Resolves when no call is in flight. */
  pause(): Promise<void>;
  resume(): void;
  stop(): Promise<void>;
};

/**
 * Starts the writers. They begin to create events at the first `resume()`, and use the nodes in turn.
 *
 * @param everyMs the pause between two events of one writer, in milliseconds
 */
export function startLoad(context: Cleanup, nodes: readonly Carillon[], writers: number, everyMs = 5): Load {
  const calls: ClientCall[] = [];
  const acknowledged = new Set<string>();
  const failures: CarillonError[] = [];
  let current = nodes;
  let stopped = false;
  let gate = Promise.withResolvers<void>();
  let inFlight = 0;
  let drained = Promise.withResolvers<void>();
  /** Resolves to the user id. It is read before the first event, while all nodes are up. */
  let userIdOnce: Promise<string> | undefined;

  async function writeOne(word: string, node: Carillon): Promise<void> {
    userIdOnce ??= node.user.get().then((user) => user.user_id);
    const userId = await userIdOnce;
    const call = { did: 'occur', kind: 'new_event', userId, word, askedAt: performance.now() } as const;
    try {
      const { event_id } = await node.events.create({ event_name: word, start_date: '20270101', due_date: '20270101' });
      calls.push({ ...call, answeredAt: performance.now(), record: `${HISTORY_BASE_URL}/v2/events/${event_id}` });
      acknowledged.add(`/v2/events/${event_id}`);
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error;
      failures.push(error);
      calls.push({ ...call, answeredAt: undefined, record: undefined });
    }
  }

  async function runWriter(first: number): Promise<void> {
    for (let count = first; !stopped; count += 1) {
      await gate.promise;
      const node = current[count % current.length];
      if (stopped || node === undefined) return;
      inFlight += 1;
      await writeOne(`Tick ${first}.${count}`, node).finally(() => {
        inFlight -= 1;
        if (inFlight === 0) drained.resolve();
      });
      await wait(everyMs);
    }
  }
  const finished = Promise.all(Array.from({ length: writers }, (_, index) => runWriter(index)));
  const stop = async () => {
    stopped = true;
    gate.resolve();
    await finished;
  };
  atEnd(context, stop);
  return {
    calls,
    acknowledged,
    failures,
    redirectTo: (...next) => {
      current = next;
    },
    async pause() {
      gate = Promise.withResolvers();
      drained = Promise.withResolvers();
      if (inFlight > 0) await drained.promise;
    },
    resume: () => gate.resolve(),
    stop,
  };
}

/** Creates records without a load, and returns the calls for the delivery checker. */
export async function createRecords(
  { user, events, clients }: Carillon,
  kind: 'new_event' | 'new_client',
  words: readonly string[],
): Promise<ClientCall[]> {
  const { user_id: userId } = await user.get();
  const dates = { start_date: '20270101', due_date: '20270102' };
  return Promise.all(
    words.map(async (word): Promise<ClientCall> => {
      const askedAt = performance.now();
      const path =
        kind === 'new_event'
          ? `/v2/events/${(await events.create({ event_name: word, ...dates })).event_id}`
          : `/v2/clients/${(await clients.create({ client_name: word })).client_id}`;
      return {
        did: 'occur',
        kind,
        userId,
        word,
        record: HISTORY_BASE_URL + path,
        askedAt,
        answeredAt: performance.now(),
      };
    }),
  );
}

/** Returns the paths of all stored events. */
export async function storedEvents({ read }: Pick<Store, 'read'>): Promise<Set<string>> {
  const rows = await read.selectFrom('events').select('event_id').execute();
  return new Set(rows.map((row) => `/v2/events/${row.event_id}`));
}

/** Describes the crash of a node for the delivery checker: deliveries that are pending now may be sent again. */
export async function recordCrash(store: Pick<Store, 'read'>, target: Pick<Target, 'catchUp'>): Promise<Crash> {
  const pending = await pendingDeliveryIds(store);
  // Include the notifications that were in transit when the node ended.
  await target.catchUp();
  return { at: performance.now(), pending, fates: new Map() };
}

/** Maximum time from an attempt until its result is stored, on a busy machine. */
const MAX_COMPLETION_MS = 2_000;

/**
 * Checks calls, arrivals and the database against each other, and returns the violations. The hooks of `paths` exist
 * from the start.
 */
export async function checkHistory(
  database: string,
  { calls }: Pick<Load, 'calls'>,
  { received }: Pick<Target, 'received'>,
  { paths, crashes = [] }: { readonly paths: readonly string[]; readonly crashes?: readonly Crash[] },
): Promise<readonly Violation[]> {
  const [{ userId = '' } = {}] = occurrenceCalls(calls);
  const subscribed = paths.map(
    (path): ClientCall => ({ did: 'subscribe', path, kind: 'new_event', userId, askedAt: 0, answeredAt: 0 }),
  );
  const arrivals = received
    .filter(({ path }) => paths.includes(path))
    .map(({ path, deliveryId, body, at }): Arrival => {
      const normalized = body.replace(/"http:\/\/[^/"]+\//, `"${HISTORY_BASE_URL}/`);
      return { path, deliveryId, body: normalized, at, answeredAt: at, answer: 200 };
    });
  const stored = await readDatabase(database, HISTORY_BASE_URL);
  const hooks = stored.hooks.filter(({ path }) => paths.includes(path));
  const settlesWithinMs = MAX_COMPLETION_MS;
  return check({
    calls: [...subscribed, ...calls],
    arrivals,
    database: { ...stored, hooks },
    crashes,
    settlesWithinMs,
  });
}

/** Returns the ids of deliveries that arrived more than once. */
export function duplicateDeliveryIds({ received }: Pick<Target, 'received'>): string[] {
  const times = Map.groupBy(received, (one) => one.deliveryId);
  return [...times].filter(([, all]) => all.length > 1).map(([deliveryId]) => deliveryId);
}
