import { setTimeout as wait } from 'node:timers/promises';
import { type Cleanup, within } from '../test/harness/cleanup.ts';
import { processBeside } from '../test/harness/nodes.ts';
import type { ServiceProcess } from '../test/harness/process.ts';
import type { TestStore } from '../test/harness/stores.ts';
import { chanceFrom, type SeededChance } from './chance.ts';
import { check, countFaults, sayFault } from './ledgers.ts';
import type { Figure, Proof, Run } from './proof.ts';
import { BASE, readDatabase, startWitnesses, type Tally, untilTold, WATCHED } from './witnesses.ts';

export const stops: Proof = {
  id: 'R13',
  name: 'stops',
  title: 'C19 C20 SIGTERM under load: to a service on SQLite, and to two nodes on PostgreSQL in turn',
  promise: 'exit code 0 within 10 s, no request without its answer, nothing lost, and nothing told twice',
  unit: 'stops',
  quick: 10,
  long: 200,
  prove,
};

/** So many stops, then a new database: what is compared stays small. */
const STOPS_A_STRETCH = 40;

const LONGEST_STOP_MS = 10_000;

/** How many nodes there are: so many as can share a database, so that somebody always answers. */
const NODES = { SQLite: 1, PostgreSQL: 2 } as const;

/** What one stretch comes to. */
type Found = { readonly counts: Record<string, number>; readonly tookMs: readonly number[]; readonly broken: string[] };

async function prove({ count, seed, stores, say }: Run): Promise<Figure> {
  const chance = chanceFrom(seed);
  const counts: Record<string, number> = {};
  const tookMs: number[] = [];
  const broken: string[] = [];
  const onAll = stores.map((store, index) => ({
    store,
    dice: chance.fork(),
    all: Math.floor((count + index) / stores.length),
  }));
  await Promise.all(
    onAll.map(async ({ store, dice, all }) => {
      for (let left = all; left > 0; left -= STOPS_A_STRETCH) {
        const times = Math.min(left, STOPS_A_STRETCH);
        const found = await within((context) => stretch(context, store, times, dice));
        for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
        tookMs.push(...found.tookMs);
        broken.push(...found.broken.map((line) => `${store.name}: ${line}`));
        say(`${store.name}: ${all - left + times} of ${all}, ${found.broken.length} faults`);
      }
    }),
  );
  tookMs.sort((a, b) => a - b);
  const longest = { 'half of them within, ms': tookMs[tookMs.length >> 1] ?? 0, 'the longest, ms': tookMs.at(-1) ?? 0 };
  return { counts: { stops: tookMs.length, ...longest, ...counts }, broken };
}

async function stretch(context: Cleanup, store: TestStore, times: number, chance: SeededChance): Promise<Found> {
  const first = await store.serviceProcess(context, WATCHED);
  const nodes: ServiceProcess[] = [first];
  while (nodes.length < NODES[store.name]) nodes.push(await processBeside(context, first, WATCHED));
  const witnesses = await startWitnesses(context, { chance });
  for (const path of ['/events', '/events-too']) await witnesses.subscribe(first, path, 'new_event');
  await witnesses.subscribe(first, '/clients', 'new_client');
  const tookMs: number[] = [];
  const broken: string[] = [];
  const stop = async (node: ServiceProcess) => {
    const begun = performance.now();
    const code = await node.stop('SIGTERM');
    const ms = Math.round(performance.now() - begun);
    tookMs.push(ms);
    broken.push(...wrongWith(code, ms));
  };

  for (let time = 0; time < times; time += 1) {
    // Whoever calls goes on calling the one that stops, as long as that takes a connection.
    witnesses.through(...nodes);
    await wait(50 + chance.below(250));
    await witnesses.untilAcknowledged(10);
    await witnesses.whenBusy();
    const leaving = nodes.shift();
    if (leaving !== undefined) await stop(leaving);
    nodes.push(await processBeside(context, first, WATCHED));
  }
  witnesses.recover();
  witnesses.through(...nodes);
  await witnesses.stop();
  await untilTold(first.database);
  for (const node of nodes) broken.push(...wrongWith(await node.stop('SIGTERM'), 0));
  const { acknowledged, unanswered } = witnesses.tally;
  const faults = check(witnesses.ledgers(await readDatabase(first.database, BASE)));
  broken.push(...unanswerable(witnesses.tally), ...faults.map(sayFault));
  const counts = {
    acknowledged,
    'taken and not answered': unanswered,
    told: witnesses.heard.length,
    'failures of the receiver': witnesses.heard.filter(({ answer }) => answer !== 200).length,
    ...countFaults(faults),
  };
  return { counts, tookMs, broken };
}

/** What is wrong with how a service has ended. */
export function wrongWith(exitCode: number | null, ms: number): string[] {
  return [
    ...(exitCode === 0 ? [] : [`exit code ${exitCode}`]),
    ...(ms <= LONGEST_STOP_MS ? [] : [`a stop took ${ms} ms`]),
  ];
}

/** Somebody is always there, or comes back: no request that was taken is without its answer, and none is refused. */
export function unanswerable({ unanswered, refused, others }: Tally): string[] {
  return [
    ...(unanswered === 0 ? [] : [`C20 ${unanswered} requests were taken and not answered`]),
    ...(refused === 0 ? [] : [`C20 ${refused} requests were answered 503`]),
    ...others.map((one) => `C20 a client was answered ${one}`),
  ];
}
