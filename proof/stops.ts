import { setTimeout as wait } from 'node:timers/promises';
import { type Cleanup, within } from '../test/harness/cleanup.ts';
import { processBeside } from '../test/harness/nodes.ts';
import type { ServiceProcess } from '../test/harness/process.ts';
import type { TestStore } from '../test/harness/stores.ts';
import { chanceFrom, type SeededChance } from './chance.ts';
import { check, countFaults, sayFault } from './ledgers.ts';
import type { Figure, Proof, Run } from './proof.ts';
import { BASE, readDatabase, startWitnesses, untilTold, WATCHED } from './witnesses.ts';

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
  const dice = new Map(stores.map(({ name }) => [name, chance.fork()]));
  for (const [index, store] of stores.entries()) {
    const all = Math.floor((count + index) / stores.length);
    for (let done = 0; done < all; ) {
      const times = Math.min(all - done, STOPS_A_STRETCH);
      const own = dice.get(store.name) ?? chance;
      const found = await within((context) => stretch(context, store, times, own));
      for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
      tookMs.push(...found.tookMs);
      broken.push(...found.broken.map((line) => `${store.name}: ${line}`));
      done += times;
      say(`${store.name}: ${done} of ${all}, ${found.broken.length} faults`);
    }
  }
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
    if (code !== 0) broken.push(`exit code ${code}`);
    if (ms > LONGEST_STOP_MS) broken.push(`a stop took ${ms} ms`);
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
  for (const node of nodes) {
    const code = await node.stop('SIGTERM');
    if (code !== 0) broken.push(`exit code ${code} at the end`);
  }
  const { acknowledged, unanswered, refused, others } = witnesses.tally;
  const faults = check(witnesses.ledgers(await readDatabase(first.database, BASE)));
  if (unanswered > 0) broken.push(`C20 ${unanswered} requests were taken and not answered`);
  if (refused > 0) broken.push(`C20 ${refused} requests were answered 503`);
  broken.push(...others.map((one) => `C20 a client was answered ${one}`), ...faults.map(sayFault));
  const counts = {
    acknowledged,
    'taken and not answered': unanswered,
    told: witnesses.heard.length,
    'failures of the receiver': witnesses.heard.filter(({ answer }) => answer !== 200).length,
    ...countFaults(faults),
  };
  return { counts, tookMs, broken };
}
