import { setTimeout as wait } from 'node:timers/promises';
import { type SeededRandom, seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { type Cleanup, withCleanup } from '../../kit/cleanup.ts';
import { eventually } from '../../kit/eventually.ts';
import { readRegisteredNodeIds } from '../../kit/service/nodes.ts';
import { sharedStores } from '../../kit/service/stores.ts';
import { check, countViolations, formatViolation } from '../checker/check.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import { abortedResult, waitForAll } from '../shards.ts';
import {
  HISTORY_BASE_URL,
  type ReceivedArrival,
  readCrash,
  readDatabase,
  startObservers,
  untilBetweenTransactions,
  untilDelivered,
  untilQuiet,
} from '../workload/observers.ts';
import {
  type ClusterNode,
  chooseVictim,
  type NodePair,
  QUIESCE_TIMEOUT_MS,
  type RoundResult,
  runPause,
  startPair,
} from './node-pair.ts';

export const nodes: ReliabilityTest = {
  id: 'R7',
  name: 'nodes',
  title: 'C13 C18 C20 one of two nodes is killed, paused, or cut off from PostgreSQL',
  promise:
    'at p99, the other node delivers within 2 s (after a kill) or 15 s; nothing is lost, and nothing is sent for a hook after its DELETE',
  unit: 'lost nodes',
  quick: 6,
  isQuickOnBoth: true,
  full: 200,
  lacks: () => (sharedStores.length === 0 ? 'TEST_STORES leaves PostgreSQL out' : undefined),
  execute,
};

/**
 * Ways to lose a node. `limitMs` is the limit for the takeover of its hook queues, and `often` the number of these
 * losses in each cycle.
 */
const LOSSES = {
  killed: { limitMs: 2_000, often: 2 },
  paused: { limitMs: 15_000, often: 1 },
  /** No takeover: the hook queues stay with the node. */
  'paused for seconds': { limitMs: undefined, often: 1 },
  partitioned: { limitMs: 15_000, often: 1 },
  'partitioned in a transaction': { limitMs: 15_000, often: 1 },
} as const;

type Loss = keyof typeof LOSSES;

/**
 * Takeover limit in the quick run, which may share the CPUs with other processes. This limit is far below the one for an
 * unresponsive node, so that a killed node is still distinguished from it.
 */
const SHARED_MACHINE_LIMIT_MS = 4_000;

/**
 * Number of pending deliveries at the moment of the loss. More are pending than in flight, so that the lost node
 * could start more.
 */
const BACKLOG = 60;

/**
 * Time after the loss until receivers respond to a partitioned node. In this time, one of its hooks could be
 * deleted without its acknowledgement.
 */
const RESPONSE_DELAY_MS = 300;

/** Number of pairs of nodes that run concurrently. A round spends most of its time waiting. */
const PAIRS = 4;

/** Number of losses before a new database and new nodes are started. */
const LOSSES_PER_PAIR = 20;

const HOOKS = 6;

/** Number of hooks of the lost node that are deleted at the moment of the loss. At least one of its hooks is kept. */
const DELETED_HOOKS = 2;

/** Time for which a node that cannot reach the database may deliver from its loaded queues. */
const LEASE_TTL_MS = 1_000;

/** Maximum time to wait for the takeover of a hook queue. A queue that is taken over later is reported. */
const TAKEOVER_TIMEOUT_MS = 25_000;

async function execute({ count, seed, stores, log }: RunParameters): Promise<RunResult> {
  const [store] = stores.filter((one) => sharedStores.includes(one));
  if (store === undefined) throw new Error('two nodes need a database that they can share');
  const random = seededRandom(seed);
  const losses = scheduleLosses(count);
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const tookMs = new Map<Loss, number[]>();
  let done = 0;
  await waitForAll(
    Array.from({ length: PAIRS }, async () => {
      const rng = random.fork();
      while (losses.length > 0 && broken.length === 0) {
        await withCleanup(async (context) => {
          const pair = await startPair(context, store);
          for (let round = 0; round < LOSSES_PER_PAIR; round += 1) {
            const loss = losses.shift();
            if (loss === undefined) return;
            const found = await withCleanup((own) =>
              loss === 'paused for seconds'
                ? runPause(own, pair, { round, rng })
                : runLoss(own, pair, { loss, round, rng }),
            );
            for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
            if (LOSSES[loss].limitMs !== undefined) tookMs.set(loss, [...(tookMs.get(loss) ?? []), ...found.tookMs]);
            broken.push(...found.broken.map((line) => `${loss}: ${line}`));
            done += 1;
            log(`${done} of ${count}: ${loss}, ${formatTakeover(loss, found.tookMs)}, ${found.broken.length} faults`);
          }
        }).catch((error: unknown) => void broken.push(...abortedResult(error).broken));
      }
    }),
  );
  return {
    counts: { ...summarize(tookMs), ...counts },
    broken: [...broken, ...findSlowTakeovers(tookMs, count >= nodes.full)],
  };
}

/**
 * Returns the losses of a run, with the slowest kinds first, so that no pair of nodes runs a slow loss alone at
 * the end.
 */
export function scheduleLosses(count: number): Loss[] {
  const cycle = (Object.keys(LOSSES) as Loss[]).flatMap((loss) => Array<Loss>(LOSSES[loss].often).fill(loss));
  const all = Array.from({ length: count }, (_, index) => cycle[index % cycle.length] ?? 'killed');
  return all.sort((a, b) => (LOSSES[b].limitMs ?? 0) - (LOSSES[a].limitMs ?? 0));
}

type LossOptions = {
  readonly loss: Exclude<Loss, 'paused for seconds'>;
  readonly round: number;
  readonly rng: SeededRandom;
};

/** Runs one loss with its own observers, and checks the history. */
async function runLoss(context: Cleanup, pair: NodePair, { loss, round, rng }: LossOptions): Promise<RoundResult> {
  const [older] = pair.nodes;
  if (older === undefined) throw new Error('there is no node');
  const observers = await startObservers(context, {
    random: rng,
    writers: 3,
    restMs: 40,
    words: `r${round}w`,
    responseDelayMs: [80, 160],
  });
  const hooks = new Map<string, string>();
  for (let index = 0; index < HOOKS; index += 1) {
    const path = `/${round}-${index}`;
    hooks.set(path, await observers.subscribe(older.service, path, 'new_event'));
  }
  // The node that handles a write claims the hook queues of its pending deliveries.
  observers.routeTo(older.service);
  const { victim, other, queues } = await chooseVictim(pair, hooks);
  observers.routeTo(victim.service, other.service);
  await wait(100 + rng.integerBelow(300));
  await observers.untilAcknowledged(5);
  // All pending deliveries exist before the queues are loaded, so that a partitioned node has them in memory
  // for every queue.
  const release = observers.holdResponses();
  await observers.burst(victim.service, BACKLOG);
  await release();
  await observers.whenBusy([...queues]);
  let releaseResponses = () => Promise.resolve();
  if (loss === 'partitioned') {
    // A transaction in progress would lock rows and block the DELETE, which hides whether the DELETE waits
    // for an acknowledgement of the node.
    releaseResponses = observers.holdResponses();
    observers.routeTo(other.service);
    await untilBetweenTransactions(pair.address, victim.name);
  }

  const toDelete = [...queues].slice(1).slice(0, DELETED_HOOKS);
  const lost = Promise.withResolvers<void>();
  const deletions = toDelete.map(async (path, index) => {
    // The first DELETE is sent a little before the loss, the second right after it.
    if (index > 0) await lost.promise;
    return observers.unsubscribe(other.service, path, hooks.get(path) ?? '');
  });
  await wait(rng.integerBelow(20));
  const lostAt = await injectLoss(loss, victim, () => {
    lost.resolve();
    observers.routeTo(other.service);
    // Unanswered notifications of the kept hooks fail now. The service does not learn of these failures, or only on a
    // node that no longer owns the queues. Deleted hooks do not fail, so that they keep pending deliveries.
    observers.failAll((path) => !toDelete.includes(path));
    void wait(RESPONSE_DELAY_MS).then(releaseResponses);
  });
  const isLost = (path: string) => queues.has(path);
  const { fates } = await observers.recordCrash(async () => {
    await untilQuiet(pair.address, victim.name);
    return readCrash(pair.address, isLost);
  });
  // Hooks that are in backoff continue later, so their takeover is not measured.
  const kept = [...queues].filter((path) => !toDelete.includes(path) && fates.get(path) === 0);
  const takeoverTimeOf = (path: string) =>
    firstAttempt(observers.arrivals, { path, from: other.service.baseUrl, since: lostAt });
  const takenOverAt = () => kept.map(takeoverTimeOf).filter((at) => at !== undefined);
  await eventually(takenOverAt, (all) => all.length === kept.length, TAKEOVER_TIMEOUT_MS).catch(() => undefined);
  const tookMs = takenOverAt().map((at) => Math.round(at - lostAt));
  const endedAt = await Promise.all(deletions);
  const recoveredAt = await recover(loss, victim, pair);
  observers.recover();
  observers.routeTo(other.service);
  await observers.stop();
  await untilDelivered(pair.address);
  // Late results of the lost node must not change the failure counts: the other node owns the hooks now.
  await observers.recordCrash(() => readCrash(pair.address, (path) => hooks.has(path)));

  const faults = check(observers.history(await readDatabase(pair.address, HISTORY_BASE_URL), pair.calls));
  for (const [path, id] of hooks) if (!toDelete.includes(path)) await observers.unsubscribe(other.service, path, id);
  pair.calls.push(...observers.calls);
  const late = observers.arrivals.filter(
    (one) => one.from === victim.service.baseUrl && one.at > recoveredAt && queues.has(one.path),
  );
  const broken = [
    ...faults.map(formatViolation),
    ...late.map((one) => `C20 started by a node without the lease: ${one.path} ${one.deliveryId}`),
    ...observers.tally.others.map((one) => `C20 a client got ${one}`),
    ...(tookMs.length === kept.length ? [] : [`C20 ${kept.length - tookMs.length} hook queues were not taken over`]),
  ];
  const { acknowledged, unanswered } = observers.tally;
  const counts = {
    'hook queues taken over': tookMs.length,
    'hooks deleted during the loss': endedAt.length,
    acknowledged,
    'requests without a response': unanswered.length,
    notifications: observers.arrivals.length,
    ...countViolations(faults),
  };
  return { counts, tookMs, broken };
}

/** Causes the loss of a node. Returns the time of the loss. */
async function injectLoss(loss: Loss, { service, proxy }: ClusterNode, onLost: () => void): Promise<number> {
  if (loss !== 'killed' && loss !== 'paused') {
    // This loss happens in the middle of committing results. PostgreSQL would keep the row locks as long as the node
    // is silent.
    if (loss === 'partitioned in a transaction') await proxy.silenceAfter('delivered');
    else proxy.silence();
    const at = performance.now();
    onLost();
    await wait(LEASE_TTL_MS + 100);
    return at;
  }
  service.process.kill(loss === 'killed' ? 'SIGKILL' : 'SIGSTOP');
  const at = performance.now();
  onLost();
  return at;
}

/** Restores two nodes. Returns the time from which on the lost node must not start attempts of its former hooks. */
async function recover(loss: Loss, victim: ClusterNode, pair: NodePair): Promise<number> {
  const recoveredAt = performance.now();
  if (loss === 'killed') {
    pair.nodes = [...pair.nodes.filter((one) => one !== victim), await pair.start()];
    return recoveredAt;
  }
  if (loss === 'paused') victim.service.process.kill('SIGCONT');
  else victim.proxy.resumeForwarding();
  await eventually(
    () => readRegisteredNodeIds(pair.store),
    (now) => now.length === 2,
    QUIESCE_TIMEOUT_MS,
  );
  // The returning node counts as the younger one.
  pair.nodes = [...pair.nodes.filter((one) => one !== victim), victim];
  return recoveredAt;
}

type AttemptQuery = { readonly path: string; readonly from: string; readonly since: number };

function firstAttempt(arrivals: readonly ReceivedArrival[], { path, from, since }: AttemptQuery): number | undefined {
  return arrivals.find((one) => one.path === path && one.from === from && one.at > since)?.at;
}

const percentile = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

function formatTakeover(loss: Loss, tookMs: readonly number[]): string {
  if (LOSSES[loss].limitMs === undefined) return 'its hook queues were kept';
  if (tookMs.length === 0) return 'every hook was in backoff';
  return `hook queues taken over after ${Math.min(...tookMs)} to ${Math.max(...tookMs)} ms`;
}

function summarize(tookMs: ReadonlyMap<Loss, readonly number[]>): Record<string, string> {
  return Object.fromEntries(
    [...tookMs].map(([loss, all]) => {
      const sorted = all.toSorted((a, b) => a - b);
      const [p50, p99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
      return [`${loss}: takeover after, ms`, `p50 ${p50}, p99 ${p99}, max ${sorted.at(-1)}`];
    }),
  );
}

/** Returns the kinds of loss after which the takeover took too long at p99. */
export function findSlowTakeovers(tookMs: ReadonlyMap<Loss, readonly number[]>, isMachineExclusive: boolean): string[] {
  return [...tookMs].flatMap(([loss, all]) => {
    const p99 = percentile(
      all.toSorted((a, b) => a - b),
      0.99,
    );
    const { limitMs: exclusiveMs = 0 } = LOSSES[loss];
    const limitMs = isMachineExclusive ? exclusiveMs : Math.max(exclusiveMs, SHARED_MACHINE_LIMIT_MS);
    return p99 <= limitMs ? [] : [`C20 ${loss}: takeover took ${p99} ms at p99`];
  });
}
