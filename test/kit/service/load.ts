import { setTimeout as wait } from 'node:timers/promises';
import { type Carillon, CarillonError } from '../../../packages/sdk/src/index.ts';
import type { Store } from '../../../src/store/store.ts';
import { check, type Violation } from '../../reliability/checker/check.ts';
import { type Arrival, type ClientCall, type Crash, occurrenceCalls } from '../../reliability/checker/history.ts';
import { HISTORY_BASE_URL, readDatabase } from '../../reliability/workload/observers.ts';
import { atEnd, type Cleanup } from '../cleanup.ts';
import type { Target } from '../network/target.ts';
import { readPendingDeliveryIds } from './nodes.ts';

/** Concurrent writers that create events, and their results. */
export type Load = {
  /** All calls of the writers, for the delivery checker. */
  readonly calls: readonly ClientCall[];
  /** The paths of events whose creation was acknowledged with 201. */
  readonly acknowledgedPaths: ReadonlySet<string>;
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
export function startLoad(context: Cleanup, nodes: readonly Carillon[], writerCount: number, everyMs = 5): Load {
  const calls: ClientCall[] = [];
  const acknowledgedPaths = new Set<string>();
  const failures: CarillonError[] = [];
  let currentNodes = nodes;
  let isStopped = false;
  let gate = Promise.withResolvers<void>();
  let inFlightCount = 0;
  let drained = Promise.withResolvers<void>();
  /** Resolves to the user id. It is read before the first event, while all nodes are up. */
  let userIdPromise: Promise<string> | undefined;

  async function createOneEvent(eventName: string, node: Carillon): Promise<void> {
    userIdPromise ??= node.user.get().then((user) => user.user_id);
    const userId = await userIdPromise;
    const call = { did: 'occur', kind: 'new_event', userId, word: eventName, askedAt: performance.now() } as const;
    try {
      const { event_id } = await node.events.create({
        event_name: eventName,
        start_date: '20270101',
        due_date: '20270101',
      });
      calls.push({ ...call, answeredAt: performance.now(), record: `${HISTORY_BASE_URL}/v2/events/${event_id}` });
      acknowledgedPaths.add(`/v2/events/${event_id}`);
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error;
      failures.push(error);
      calls.push({ ...call, answeredAt: undefined, record: undefined });
    }
  }

  async function runWriter(writerIndex: number): Promise<void> {
    for (let count = writerIndex; !isStopped; count += 1) {
      await gate.promise;
      const node = currentNodes[count % currentNodes.length];
      if (isStopped || node === undefined) return;
      inFlightCount += 1;
      await createOneEvent(`Tick ${writerIndex}.${count}`, node).finally(() => {
        inFlightCount -= 1;
        if (inFlightCount === 0) drained.resolve();
      });
      await wait(everyMs);
    }
  }
  const finished = Promise.all(Array.from({ length: writerCount }, (_, index) => runWriter(index)));
  const stop = async () => {
    isStopped = true;
    gate.resolve();
    await finished;
  };
  atEnd(context, stop);
  return {
    calls,
    acknowledgedPaths,
    failures,
    redirectTo: (...next) => {
      currentNodes = next;
    },
    async pause() {
      gate = Promise.withResolvers();
      drained = Promise.withResolvers();
      if (inFlightCount > 0) await drained.promise;
    },
    resume: () => gate.resolve(),
    stop,
  };
}

/** Creates records without a load, and returns the calls for the delivery checker. */
export async function createRecords(
  { user, events, clients }: Carillon,
  kind: 'new_event' | 'new_client',
  recordNames: readonly string[],
): Promise<ClientCall[]> {
  const { user_id: userId } = await user.get();
  const dates = { start_date: '20270101', due_date: '20270102' };
  return Promise.all(
    recordNames.map(async (recordName): Promise<ClientCall> => {
      const askedAt = performance.now();
      const path =
        kind === 'new_event'
          ? `/v2/events/${(await events.create({ event_name: recordName, ...dates })).event_id}`
          : `/v2/clients/${(await clients.create({ client_name: recordName })).client_id}`;
      return {
        did: 'occur',
        kind,
        userId,
        word: recordName,
        record: HISTORY_BASE_URL + path,
        askedAt,
        answeredAt: performance.now(),
      };
    }),
  );
}

/** Returns the paths of all stored events. */
export async function readStoredEventPaths({ read }: Pick<Store, 'read'>): Promise<Set<string>> {
  const rows = await read.selectFrom('events').select('event_id').execute();
  return new Set(rows.map((row) => `/v2/events/${row.event_id}`));
}

/** Describes the crash of a node for the delivery checker: deliveries that are pending now may be sent again. */
export async function describeCrash(store: Pick<Store, 'read'>, target: Pick<Target, 'catchUp'>): Promise<Crash> {
  const pending = await readPendingDeliveryIds(store);
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
  const subscribeCalls = paths.map(
    (path): ClientCall => ({ did: 'subscribe', path, kind: 'new_event', userId, askedAt: 0, answeredAt: 0 }),
  );
  const arrivals = received
    .filter(({ path }) => paths.includes(path))
    .map(({ path, deliveryId, body, at }): Arrival => {
      const normalizedBody = body.replace(/"http:\/\/[^/"]+\//, `"${HISTORY_BASE_URL}/`);
      return { path, deliveryId, body: normalizedBody, at, answeredAt: at, answer: 200 };
    });
  const stored = await readDatabase(database, HISTORY_BASE_URL);
  const hooks = stored.hooks.filter(({ path }) => paths.includes(path));
  const settlesWithinMs = MAX_COMPLETION_MS;
  return check({
    calls: [...subscribeCalls, ...calls],
    arrivals,
    database: { ...stored, hooks },
    crashes,
    settlesWithinMs,
  });
}

/** Returns the ids of deliveries that arrived more than once. */
export function findDuplicateDeliveryIds({ received }: Pick<Target, 'received'>): string[] {
  const arrivalsByDelivery = Map.groupBy(received, (one) => one.deliveryId);
  return [...arrivalsByDelivery].filter(([, all]) => all.length > 1).map(([deliveryId]) => deliveryId);
}
