import { setTimeout as wait } from 'node:timers/promises';
import type { Cleanup } from '../../kit/cleanup.ts';
import { ownersOf } from '../../kit/nodes.ts';
import type { SeededChance } from '../../kit/random.ts';
import { check, countFaults, sayFault } from '../checker/check.ts';
import { pause } from '../crash/pauses.ts';
import { BASE, readCrash, readDatabase, startWitnesses, untilTold } from '../workload/observers.ts';
import { choose, type Pair } from './pair.ts';

const HOOKS = 6;

export type Pausing = { readonly round: number; readonly dice: SeededChance };

/** What a round came to. */
export type Round = {
  readonly counts: Record<string, number>;
  readonly tookMs: readonly number[];
  readonly broken: string[];
};

/**
 * One node is paused for longer than an attempt may take, and not for so long that the other one takes its lanes up: it goes
 * on with them, holds the pause against no target, and begins nothing on a hook that was deleted meanwhile.
 */
export async function pauseOne(context: Cleanup, pair: Pair, { round, dice }: Pausing): Promise<Round> {
  const [older] = pair.nodes;
  if (older === undefined) throw new Error('there is no node');
  const words = `r${round}w`;
  const witnesses = await startWitnesses(context, { random: dice, writers: 3, restMs: 40, words });
  const hooks = new Map<string, string>();
  for (let index = 0; index < HOOKS; index += 1) {
    const path = `/${round}-${index}`;
    hooks.set(path, await witnesses.subscribe(older.service, path, 'new_event'));
  }
  witnesses.through(older.service);
  const { victim, other, queues } = await choose(pair, hooks);
  const before = await ownersOf(pair.store);
  witnesses.through(victim.service, other.service);
  await wait(100 + dice.below(300));
  await witnesses.untilAcknowledged(5);
  await witnesses.whenBusy();
  const [doomed = ''] = queues;
  const pausing = pause(victim.service.process);
  const ending = wait(dice.below(1_000)).then(() =>
    witnesses.unsubscribe(other.service, doomed, hooks.get(doomed) ?? ''),
  );
  const paused = await pausing;
  await ending;
  await witnesses.untilAcknowledged(5);
  const after = await ownersOf(pair.store);
  witnesses.recover();
  await witnesses.stop();
  await untilTold(pair.address);
  // What the database counts is held against what may be.
  await witnesses.crashed(() => readCrash(pair.address, (path) => hooks.has(path)));

  const ledgers = witnesses.ledgers(await readDatabase(pair.address, BASE), pair.calls);
  const faults = check({ ...ledgers, pauses: [paused] });
  const ownerOf = (owners: typeof before, path: string) => owners.get(hooks.get(path) ?? '');
  const kept = [...queues].filter((path) => path !== doomed && ownerOf(before, path) === ownerOf(after, path));
  for (const [path, id] of hooks) if (path !== doomed) await witnesses.unsubscribe(other.service, path, id);
  pair.calls.push(...witnesses.calls);
  const broken = [...faults.map(sayFault), ...witnesses.tally.others.map((one) => `C20 a client was answered ${one}`)];
  const { acknowledged, unanswered } = witnesses.tally;
  const counts = {
    'lanes kept over a pause': kept.length,
    'deleted at that moment': 1,
    acknowledged,
    'cut off before the answer': unanswered.length,
    told: witnesses.heard.length,
    ...countFaults(faults),
  };
  return { counts, tookMs: [], broken };
}
