import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Cleanup } from '../../kit/cleanup.ts';
import { openStoreAt } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { type DatabaseProxy, startProxy } from '../../kit/network/proxy.ts';
import { readLeaseOwners, readRegisteredNodeIds, startSecondNode } from '../../kit/service/nodes.ts';
import { type ServiceProcess, startServiceProcess } from '../../kit/service/service-process.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import { check, countViolations, formatViolation } from '../checker/check.ts';
import type { ClientCall } from '../checker/history.ts';
import { PAUSE_OPTIONS, pause } from '../crash/crash-loop.ts';
import {
  HISTORY_BASE_URL,
  OBSERVED_SERVICE_OPTIONS,
  readCrash,
  readDatabase,
  startObservers,
  untilDelivered,
} from '../workload/observers.ts';

const options = { ...OBSERVED_SERVICE_OPTIONS, ...PAUSE_OPTIONS };

/** Maximum time until every hook queue is leased, or two nodes are running again. */
export const QUIESCE_TIMEOUT_MS = 15_000;

/** A node, and its own proxy to the database. */
export type ClusterNode = { readonly service: ServiceProcess; readonly proxy: DatabaseProxy; readonly name: string };

/** Two nodes on one database. The older node is first. */
export type NodePair = {
  readonly address: string;
  readonly store: Store;
  start(): Promise<ClusterNode>;
  nodes: ClusterNode[];
  /** Calls of earlier rounds on this database. */
  readonly calls: ClientCall[];
};

export async function startPair(context: Cleanup, store: TestStore): Promise<NodePair> {
  const address = await store.database(context);
  let started = 0;
  const start = async (process: (database: string) => Promise<ServiceProcess>): Promise<ClusterNode> => {
    started += 1;
    const name = `node-${started}`;
    const proxy = await startProxy(context, address);
    return { name, proxy, service: await process(`${proxy.database}?application_name=${name}`) };
  };
  const first = await start((database) => startServiceProcess(context, database, options));
  const startAnother = () => start((database) => startSecondNode(context, { ...first.service, database }, options));
  const nodes = [first, await startAnother()];
  return {
    address,
    store: await openStoreAt(context, address, { openAs: 'command' }),
    start: startAnother,
    nodes,
    calls: [],
  };
}

/**
 * Waits until the queues of all `hooks` are leased. Returns the node that leases more of them (the victim), the
 * other node, and the queues of the victim.
 */
export async function chooseVictim({ store, nodes: both }: NodePair, hooks: ReadonlyMap<string, string>) {
  const ids = [...hooks.values()];
  const owners = await eventually(
    () => readLeaseOwners(store),
    (now) => ids.every((id) => (now.get(id) ?? 0) !== 0),
    QUIESCE_TIMEOUT_MS,
  );
  const queuesByNode = (await readRegisteredNodeIds(store)).map((node) =>
    [...hooks].filter(([, id]) => owners.get(id) === node),
  );
  const [ofOlder = [], ofYounger = []] = queuesByNode;
  const [victim, other] = ofOlder.length >= ofYounger.length ? both : both.toReversed();
  const queues = ofOlder.length >= ofYounger.length ? ofOlder : ofYounger;
  if (victim === undefined || other === undefined) throw new Error('there are not two nodes');
  return { victim, other, queues: new Set(queues.map(([path]) => path)) };
}

const HOOKS = 6;

export type PauseOptions = { readonly round: number; readonly rng: SeededRandom };

/** Result of one round. */
export type RoundResult = {
  readonly counts: Record<string, number>;
  readonly tookMs: readonly number[];
  readonly broken: string[];
};

/**
 * Pauses one node for longer than an attempt may take, but not long enough for a takeover. The node must keep its
 * hook queues, count no failure because of the pause, and start no attempt for a hook that was deleted meanwhile.
 */
export async function runPause(context: Cleanup, pair: NodePair, { round, rng }: PauseOptions): Promise<RoundResult> {
  const [older] = pair.nodes;
  if (older === undefined) throw new Error('there is no node');
  const words = `r${round}w`;
  const observers = await startObservers(context, { random: rng, writers: 3, restMs: 40, words });
  const hooks = new Map<string, string>();
  for (let index = 0; index < HOOKS; index += 1) {
    const path = `/${round}-${index}`;
    hooks.set(path, await observers.subscribe(older.service, path, 'new_event'));
  }
  observers.routeTo(older.service);
  const { victim, other, queues } = await chooseVictim(pair, hooks);
  const before = await readLeaseOwners(pair.store);
  observers.routeTo(victim.service, other.service);
  await wait(100 + rng.integerBelow(300));
  await observers.untilAcknowledged(5);
  await observers.whenBusy();
  const [deletedPath = ''] = queues;
  const pausing = pause(victim.service.process);
  const ending = wait(rng.integerBelow(1_000)).then(() =>
    observers.unsubscribe(other.service, deletedPath, hooks.get(deletedPath) ?? ''),
  );
  const paused = await pausing;
  await ending;
  await observers.untilAcknowledged(5);
  const after = await readLeaseOwners(pair.store);
  observers.recover();
  await observers.stop();
  await untilDelivered(pair.address);
  // The checker compares the failure counts in the database with those that are possible.
  await observers.recordCrash(() => readCrash(pair.address, (path) => hooks.has(path)));

  const history = observers.history(await readDatabase(pair.address, HISTORY_BASE_URL), pair.calls);
  const faults = check({ ...history, pauses: [paused] });
  const ownerOf = (owners: typeof before, path: string) => owners.get(hooks.get(path) ?? '');
  const kept = [...queues].filter((path) => path !== deletedPath && ownerOf(before, path) === ownerOf(after, path));
  for (const [path, id] of hooks) if (path !== deletedPath) await observers.unsubscribe(other.service, path, id);
  pair.calls.push(...observers.calls);
  const broken = [...faults.map(formatViolation), ...observers.tally.others.map((one) => `C20 a client got ${one}`)];
  const { acknowledged, unanswered } = observers.tally;
  const counts = {
    'hook queues kept over a pause': kept.length,
    'hooks deleted during the loss': 1,
    acknowledged,
    'requests without a response': unanswered.length,
    notifications: observers.arrivals.length,
    ...countViolations(faults),
  };
  return { counts, tookMs: [], broken };
}
