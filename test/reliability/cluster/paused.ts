import { setTimeout as wait } from 'node:timers/promises';
import type { Cleanup } from '../../kit/cleanup.ts';
import type { SeededChance } from '../../kit/random.ts';
import { ownersOf } from '../../kit/service/nodes.ts';
import { check, countFaults, formatFault } from '../checker/check.ts';
import { pause } from '../crash/pauses.ts';
import { BASE, readCrash, readDatabase, startObservers, untilDelivered } from '../workload/observers.ts';
import { choose, type Pair } from './pair.ts';

const HOOKS = 6;

export type PauseOptions = { readonly round: number; readonly rng: SeededChance };

/** Result of one round. */
export type Round = {
  readonly counts: Record<string, number>;
  readonly tookMs: readonly number[];
  readonly broken: string[];
};

/**
 * Pauses one node for longer than an attempt may take, but not long enough for a takeover. It keeps its hook
 * queues, counts no failure because of the pause, and starts nothing for a hook that was deleted meanwhile.
 */
export async function pauseOne(context: Cleanup, pair: Pair, { round, rng }: PauseOptions): Promise<Round> {
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
  const { victim, other, queues } = await choose(pair, hooks);
  const before = await ownersOf(pair.store);
  observers.routeTo(victim.service, other.service);
  await wait(100 + rng.below(300));
  await observers.untilAcknowledged(5);
  await observers.whenBusy();
  const [doomed = ''] = queues;
  const pausing = pause(victim.service.process);
  const ending = wait(rng.below(1_000)).then(() =>
    observers.unsubscribe(other.service, doomed, hooks.get(doomed) ?? ''),
  );
  const paused = await pausing;
  await ending;
  await observers.untilAcknowledged(5);
  const after = await ownersOf(pair.store);
  observers.recover();
  await observers.stop();
  await untilDelivered(pair.address);
  // The checker compares the failure counts in the database with those that are possible.
  await observers.recordCrash(() => readCrash(pair.address, (path) => hooks.has(path)));

  const history = observers.history(await readDatabase(pair.address, BASE), pair.calls);
  const faults = check({ ...history, pauses: [paused] });
  const ownerOf = (owners: typeof before, path: string) => owners.get(hooks.get(path) ?? '');
  const kept = [...queues].filter((path) => path !== doomed && ownerOf(before, path) === ownerOf(after, path));
  for (const [path, id] of hooks) if (path !== doomed) await observers.unsubscribe(other.service, path, id);
  pair.calls.push(...observers.calls);
  const broken = [...faults.map(formatFault), ...observers.tally.others.map((one) => `C20 a client got ${one}`)];
  const { acknowledged, unanswered } = observers.tally;
  const counts = {
    'hook queues kept over a pause': kept.length,
    'hooks deleted during the loss': 1,
    acknowledged,
    'requests without a response': unanswered.length,
    notifications: observers.arrivals.length,
    ...countFaults(faults),
  };
  return { counts, tookMs: [], broken };
}
