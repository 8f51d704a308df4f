import type { Store } from '../../../src/store/store.ts';
import type { Cleanup } from '../../kit/cleanup.ts';
import { openAt } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { type DatabaseProxy, startProxy } from '../../kit/network/proxy.ts';
import { nodesOn, ownersOf, processBeside } from '../../kit/service/nodes.ts';
import { type ServiceProcess, startServiceProcess } from '../../kit/service/service-process.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { Call } from '../checker/history.ts';
import { PAUSED } from '../crash/pauses.ts';
import { WATCHED } from '../workload/observers.ts';

const options = { ...WATCHED, ...PAUSED };

/** Maximum time until every hook queue is leased, or two nodes are running again. */
export const QUIESCE_TIMEOUT_MS = 15_000;

/** A node, and the proxy through which it alone reaches the database. */
export type ClusterNode = { readonly service: ServiceProcess; readonly proxy: DatabaseProxy; readonly name: string };

/** Two nodes on one database, the older one first. */
export type Pair = {
  readonly address: string;
  readonly store: Store;
  start(): Promise<ClusterNode>;
  nodes: ClusterNode[];
  /** Calls of earlier rounds on this database. */
  readonly calls: Call[];
};

export async function startPair(context: Cleanup, store: TestStore): Promise<Pair> {
  const address = await store.database(context);
  let started = 0;
  const start = async (process: (database: string) => Promise<ServiceProcess>): Promise<ClusterNode> => {
    started += 1;
    const name = `node-${started}`;
    const proxy = await startProxy(context, address);
    return { name, proxy, service: await process(`${proxy.database}?application_name=${name}`) };
  };
  const first = await start((database) => startServiceProcess(context, database, options));
  const another = () => start((database) => processBeside(context, { ...first.service, database }, options));
  const nodes = [first, await another()];
  return { address, store: await openAt(context, address, { as: 'command' }), start: another, nodes, calls: [] };
}

/**
 * Waits until all of these hook queues are leased. Returns the node that has more of them, the other node,
 * and the queues of the first.
 */
export async function choose({ store, nodes: both }: Pair, hooks: ReadonlyMap<string, string>) {
  const ids = [...hooks.values()];
  const owners = await eventually(
    () => ownersOf(store),
    (now) => ids.every((id) => (now.get(id) ?? 0) !== 0),
    QUIESCE_TIMEOUT_MS,
  );
  const held = (await nodesOn(store)).map((node) => [...hooks].filter(([, id]) => owners.get(id) === node));
  const [ofOlder = [], ofYounger = []] = held;
  const [victim, other] = ofOlder.length >= ofYounger.length ? both : both.toReversed();
  const queues = ofOlder.length >= ofYounger.length ? ofOlder : ofYounger;
  if (victim === undefined || other === undefined) throw new Error('there are not two nodes');
  return { victim, other, queues: new Set(queues.map(([path]) => path)) };
}
