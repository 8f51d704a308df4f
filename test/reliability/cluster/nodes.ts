import { setTimeout as wait } from 'node:timers/promises';
import { type Cleanup, within } from '../../kit/cleanup.ts';
import { eventually } from '../../kit/eventually.ts';
import { nodesOn } from '../../kit/nodes.ts';
import { chanceFrom, type SeededChance } from '../../kit/random.ts';
import { shared } from '../../kit/stores.ts';
import { check, countFaults, sayFault } from '../checker/check.ts';
import type { Figure, Proof, Run } from '../reliability-test.ts';
import { brokeOff, sideBySide } from '../shards.ts';
import {
  BASE,
  type Heard,
  readCrash,
  readDatabase,
  startWitnesses,
  untilBetweenTransactions,
  untilQuiet,
  untilTold,
} from '../workload/observers.ts';
import { choose, type Pair, QUIESCE_TIMEOUT_MS, startPair, type Way } from './pair.ts';
import { pauseOne, type Round } from './paused.ts';

export const nodes: Proof = {
  id: 'R7',
  name: 'nodes',
  title: 'C13 C18 C20 one of two nodes is killed, paused or cut off',
  promise: 'the other delivers within 2 s (killed) or 15 s at p99, nothing is lost, nothing is sent after a DELETE',
  unit: 'lost nodes',
  quick: 6,
  long: 200,
  lacks: () => (shared.length === 0 ? 'TEST_STORES leaves PostgreSQL out' : undefined),
  prove,
};

/** What becomes of a node, how long its lanes may wait for the other, and how often it is done beside the others. */
const LOSSES = {
  killed: { limitMs: 2_000, often: 2 },
  'stands still': { limitMs: 15_000, often: 1 },
  /** Its lanes wait for it, and for nobody else. */
  'stands still for seconds': { limitMs: undefined, often: 1 },
  'cut off': { limitMs: 15_000, often: 1 },
  'cut off in a transaction': { limitMs: 15_000, often: 1 },
} as const;

type Loss = keyof typeof LOSSES;

/** Beside other tests, on processors that have to do with these, a killed one is at least never waited for as a silent one. */
const LIMIT_BESIDE_OTHERS_MS = 4_000;

/** What there is to be told at the moment of the loss: more than is in flight, so that a node could begin more. */
const BACKLOG = 60;

/** What a node that is cut off has in flight is answered then: by that time a hook of its lanes could be deleted, unacknowledged. */
const ANSWERED_AFTER_MS = 300;

/** So many pairs of nodes side by side: most of a round is waiting. */
const PAIRS = 4;

/** So many losses, then a new database and new nodes. */
const EVICTIONS_PER_PAIR = 20;

const HOOKS = 6;

/** So many of those that a node has are deleted at the moment of its loss, and one at least is not. */
const DELETED = 2;

/** A node that cannot reach the database may go on with what it has for so long, and no longer. */
const FRESH_MS = 1_000;

/** What cannot have been taken up by then is broken, and not waited for. */
const TAKEOVER_TIMEOUT_MS = 25_000;

async function prove({ count, seed, stores, say }: Run): Promise<Figure> {
  const [store] = stores.filter((one) => shared.includes(one));
  if (store === undefined) throw new Error('two nodes need a database that they can share');
  const random = chanceFrom(seed);
  const losses = lossesOf(count);
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const tookMs = new Map<Loss, number[]>();
  let done = 0;
  await sideBySide(
    Array.from({ length: PAIRS }, async () => {
      const dice = random.fork();
      while (losses.length > 0 && broken.length === 0) {
        await within(async (context) => {
          const pair = await startPair(context, store);
          for (let round = 0; round < EVICTIONS_PER_PAIR; round += 1) {
            const loss = losses.shift();
            if (loss === undefined) return;
            const found = await within((own) =>
              loss === 'stands still for seconds'
                ? pauseOne(own, pair, { round, dice })
                : lose(own, pair, { loss, round, dice }),
            );
            for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
            if (LOSSES[loss].limitMs !== undefined) tookMs.set(loss, [...(tookMs.get(loss) ?? []), ...found.tookMs]);
            broken.push(...found.broken.map((line) => `${loss}: ${line}`));
            done += 1;
            say(`${done} of ${count}: ${loss}, ${saySpan(loss, found.tookMs)}, ${found.broken.length} faults`);
          }
        }).catch((error: unknown) => void broken.push(...brokeOff(error).broken));
      }
    }),
  );
  return { counts: { ...figuresOf(tookMs), ...counts }, broken: [...broken, ...tooSlow(tookMs, count >= nodes.long)] };
}

/** The long ones first, so that none of them is waited for alone. */
export function lossesOf(count: number): Loss[] {
  const mix = (Object.keys(LOSSES) as Loss[]).flatMap((loss) => Array<Loss>(LOSSES[loss].often).fill(loss));
  const all = Array.from({ length: count }, (_, index) => mix[index % mix.length] ?? 'killed');
  return all.sort((a, b) => (LOSSES[b].limitMs ?? 0) - (LOSSES[a].limitMs ?? 0));
}

type Losing = {
  readonly loss: Exclude<Loss, 'stands still for seconds'>;
  readonly round: number;
  readonly dice: SeededChance;
};

/** One loss, under the eyes of witnesses of its own. */
async function lose(context: Cleanup, pair: Pair, { loss, round, dice }: Losing): Promise<Round> {
  const [older] = pair.nodes;
  if (older === undefined) throw new Error('there is no node');
  const witnesses = await startWitnesses(context, {
    random: dice,
    writers: 3,
    restMs: 40,
    words: `r${round}w`,
    answersAfterMs: [80, 160],
  });
  const hooks = new Map<string, string>();
  for (let index = 0; index < HOOKS; index += 1) {
    const path = `/${round}-${index}`;
    hooks.set(path, await witnesses.subscribe(older.service, path, 'new_event'));
  }
  // Whoever an event is made at takes up the lanes that it is pending for.
  witnesses.through(older.service);
  const { victim, other, queues } = await choose(pair, hooks);
  witnesses.through(victim.service, other.service);
  await wait(100 + dice.below(300));
  await witnesses.untilAcknowledged(5);
  // All of it is there before more is looked for: so a node that is cut off has it at hand, on every lane.
  const release = witnesses.hold();
  await witnesses.burst(victim.service, BACKLOG);
  await release();
  await witnesses.whenBusy([...queues]);
  let answer = () => Promise.resolve();
  if (loss === 'cut off') {
    // A row that it had locked would keep a hook from being deleted, and hide that nobody waits for its word.
    answer = witnesses.hold();
    witnesses.through(other.service);
    await untilBetweenTransactions(pair.address, victim.name);
  }

  const doomed = [...queues].slice(1).slice(0, DELETED);
  const lost = Promise.withResolvers<void>();
  const ending = doomed.map(async (path, index) => {
    // One of them a little before the loss, the other right after it.
    if (index > 0) await lost.promise;
    return witnesses.unsubscribe(other.service, path, hooks.get(path) ?? '');
  });
  await wait(dice.below(20));
  const lostAt = await strike(loss, victim, () => {
    lost.resolve();
    witnesses.through(other.service);
    // These failures nobody hears of, or somebody whose lanes they are no more. The deleted ones have more to be told.
    witnesses.failAll((path) => !doomed.includes(path));
    void wait(ANSWERED_AFTER_MS).then(answer);
  });
  const isLost = (path: string) => queues.has(path);
  const { fates } = await witnesses.crashed(async () => {
    await untilQuiet(pair.address, victim.name);
    return readCrash(pair.address, isLost);
  });
  // Those that wait after a failure go on when that is over.
  const kept = [...queues].filter((path) => !doomed.includes(path) && fates.get(path) === 0);
  const firstBy = (path: string) => firstAttempt(witnesses.heard, { path, from: other.service.baseUrl, since: lostAt });
  const taken = () => kept.map(firstBy).filter((at) => at !== undefined);
  await eventually(taken, (all) => all.length === kept.length, TAKEOVER_TIMEOUT_MS).catch(() => undefined);
  const tookMs = taken().map((at) => Math.round(at - lostAt));
  const endedAt = await Promise.all(ending);
  const awake = await recover(loss, victim, pair);
  witnesses.recover();
  witnesses.through(other.service);
  await witnesses.stop();
  await untilTold(pair.address);
  // What came too late has changed nothing of what the other counts.
  await witnesses.crashed(() => readCrash(pair.address, (path) => hooks.has(path)));

  const faults = check(witnesses.ledgers(await readDatabase(pair.address, BASE), pair.calls));
  for (const [path, id] of hooks) if (!doomed.includes(path)) await witnesses.unsubscribe(other.service, path, id);
  pair.calls.push(...witnesses.calls);
  const late = witnesses.heard.filter(
    (one) => one.from === victim.service.baseUrl && one.at > awake && queues.has(one.path),
  );
  const broken = [
    ...faults.map(sayFault),
    ...late.map((one) => `C20 begun by a node whose lane it was no more: ${one.path} ${one.deliveryId}`),
    ...witnesses.tally.others.map((one) => `C20 a client was answered ${one}`),
    ...(tookMs.length === kept.length ? [] : [`C20 ${kept.length - tookMs.length} lanes were not taken up`]),
  ];
  const { acknowledged, unanswered } = witnesses.tally;
  const counts = {
    'lanes taken up': tookMs.length,
    'deleted at that moment': endedAt.length,
    acknowledged,
    'cut off before the answer': unanswered.length,
    told: witnesses.heard.length,
    ...countFaults(faults),
  };
  return { counts, tookMs, broken };
}

/** Does it; answers since when the node is lost. */
async function strike(loss: Loss, { service, proxy }: Way, onLost: () => void): Promise<number> {
  if (loss !== 'killed' && loss !== 'stands still') {
    // In the middle of a settlement, whose locks the database would keep for as long as the node is silent.
    if (loss === 'cut off in a transaction') await proxy.silenceAfter('delivered');
    else proxy.silence();
    const at = performance.now();
    onLost();
    await wait(FRESH_MS + 100);
    return at;
  }
  service.process.kill(loss === 'killed' ? 'SIGKILL' : 'SIGSTOP');
  const at = performance.now();
  onLost();
  return at;
}

/** Two nodes again; answers from when on the one that was lost may begin nothing on what it had. */
async function recover(loss: Loss, victim: Way, pair: Pair): Promise<number> {
  const awake = performance.now();
  if (loss === 'killed') {
    pair.nodes = [...pair.nodes.filter((one) => one !== victim), await pair.start()];
    return awake;
  }
  if (loss === 'stands still') victim.service.process.kill('SIGCONT');
  else victim.proxy.mend();
  await eventually(
    () => nodesOn(pair.store),
    (now) => now.length === 2,
    QUIESCE_TIMEOUT_MS,
  );
  // It has come back as the younger one.
  pair.nodes = [...pair.nodes.filter((one) => one !== victim), victim];
  return awake;
}

type Wanted = { readonly path: string; readonly from: string; readonly since: number };

function firstAttempt(heard: readonly Heard[], { path, from, since }: Wanted): number | undefined {
  return heard.find((one) => one.path === path && one.from === from && one.at > since)?.at;
}

const percentile = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

function saySpan(loss: Loss, tookMs: readonly number[]): string {
  if (LOSSES[loss].limitMs === undefined) return 'its lanes stayed its own';
  if (tookMs.length === 0) return 'every lane waited after a failure';
  return `lanes taken up after ${Math.min(...tookMs)} to ${Math.max(...tookMs)} ms`;
}

function figuresOf(tookMs: ReadonlyMap<Loss, readonly number[]>): Record<string, string> {
  return Object.fromEntries(
    [...tookMs].map(([loss, all]) => {
      const sorted = all.toSorted((a, b) => a - b);
      const [p50, p99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
      return [`${loss}: a lane goes on after, ms`, `p50 ${p50}, p99 ${p99}, max ${sorted.at(-1)}`];
    }),
  );
}

/** Those losses whose lanes waited for too long. */
export function tooSlow(tookMs: ReadonlyMap<Loss, readonly number[]>, isAlone: boolean): string[] {
  return [...tookMs].flatMap(([loss, all]) => {
    const p99 = percentile(
      all.toSorted((a, b) => a - b),
      0.99,
    );
    const { limitMs: aloneMs = 0 } = LOSSES[loss];
    const limitMs = isAlone ? aloneMs : Math.max(aloneMs, LIMIT_BESIDE_OTHERS_MS);
    return p99 <= limitMs ? [] : [`C20 ${loss}: lanes waited for ${p99} ms at p99`];
  });
}
