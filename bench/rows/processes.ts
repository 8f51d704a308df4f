import { once } from 'node:events';
import { type Cleanup, within } from '../../test/harness/cleanup.ts';
import type { Bench, Claim, Side } from '../bench.ts';
import { MOST_BEHIND, type Tally, toldPerSecond } from '../load/telling.ts';
import { type Peer, nameOf as peerNameOf, startTelling } from '../peers.ts';
import type { Program } from '../programs.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import type { Database, Stage } from '../stage.ts';
import { type Crowd, crowded, startTellers, type Told } from '../tellers.ts';

/** Queues of others, and with how many processes each is measured on what. */
const parties = [
  { database: 'PostgreSQL', peers: ['graphile-worker', 'pg-boss', 'bullmq'], processes: [1, 2, 4] },
  { database: 'SQLite', peers: ['plainjob'], processes: [1] },
] as const satisfies readonly { database: Database; peers: readonly Peer[]; processes: readonly number[] }[];

/**
 * Accounts with a hook each, as the queues of others have no account that writes would share; and writers of all processes
 * together, as many as nodes and databases have use for.
 */
export const EACH_ITS_OWN = { accounts: 64, hooksEach: 1, writers: 64 } as const satisfies Crowd;

/**
 * Each process tells for so long without being counted, as if it had the machine for itself: one that shares two
 * processors with three others has had its code compiled after sixteen seconds, and not after four.
 */
export const WARM_MS_A_PROCESS = 4_000;

const OURS = 'carillon';

const nameOf = (who: string, { database, processes }: Crew) =>
  `${who}, ${processes} ${processes === 1 ? 'process' : 'processes'} on ${database}`;

/** How many of one kind work together on one database. */
type Crew = { readonly database: Database; readonly processes: number };

type Setting = { readonly stage: Stage; readonly receiver: Receiver; readonly roundMs: number };

/** What was told each second of a stretch, and what each cost, by who has spent it; of others, that is not known. */
type Telling = (forMs: number) => Promise<{ readonly perSecond: number; readonly micros?: Told['micros'] }>;

/** Somebody who is measured: it is there for its own turns alone, since those who wait look for work again and again. */
function told(
  crew: Crew,
  who: string,
  side: Side,
  roundMs: number,
  start: (context: Cleanup) => Promise<Telling>,
): Contender {
  return {
    name: nameOf(who, crew),
    side,
    measure: () =>
      within(async (context) => {
        const tell = await start(context);
        await tell(WARM_MS_A_PROCESS * crew.processes);
        const { perSecond, micros = {} } = await tell(roundMs);
        const costs = Object.entries(micros).map(([who, each]) => [`µs of processor a notification, ${who}`, each]);
        return { '/s': perSecond, ...Object.fromEntries(costs) };
      }),
  };
}

/** So many services on one database, each asked by its part of the writers. */
async function ours({ stage, receiver, roundMs }: Setting, crew: Crew): Promise<Contender> {
  const where = await crowded(stage, receiver, crew.database, EACH_ITS_OWN);
  return told(crew, OURS, 'ours', roundMs, async (context) => {
    const tellers = await startTellers(stage, where, { processes: crew.processes });
    context.after(() => tellers.stop());
    return tellers.tell;
  });
}

/** So many processes of a queue of others on one database, each of which adds its part and tells what it finds. */
async function peer({ stage, receiver, roundMs }: Setting, who: Peer, crew: Crew): Promise<Contender> {
  const { processes, database } = crew;
  const address = database === 'SQLite' ? stage.newFile() : await stage.newDatabase(database);
  const target = `${receiver.url}/count/${who}/${processes}`;
  const order = { address, target, mostBehind: MOST_BEHIND / processes };
  return told(crew, peerNameOf(who), 'peer', roundMs, async (context) => {
    const programs: Program[] = [];
    // The first one makes what all of them need.
    for (let one = 0; one < processes; one += 1) programs.push(await startTelling(context, who, order));
    const commitFor = (forMs: number) => async (tally: Tally) => {
      const adding = programs.map(async ({ process }) => {
        const answered = once(process, 'message');
        process.send({ forMs, writers: EACH_ITS_OWN.writers / processes });
        const [{ added }] = (await answered) as [{ added: number }];
        tally.pending += added;
      });
      await Promise.all(adding);
    };
    return (forMs) => toldPerSecond(receiver, forMs, commitFor(forMs));
  });
}

export const processes: Bench = {
  id: 'P11',
  name: 'processes',
  title: 'told each second by one, two and four processes on one database, each notification of an event of its own',
  target:
    'more with each process until the machine has no more; beside graphile-worker, pg-boss and BullMQ on PostgreSQL and plainjob on SQLite, which do the same posts: ahead of each, with as many processes',
  heldBack: 'callers, receivers and the database share two processors with the service; two processes use them up.',
  async measure({ stage, rounds, roundMs, say }) {
    const setting = { stage, receiver: await stage.receiver(), roundMs };
    const contenders: Contender[] = [];
    const claims: Claim[] = [];
    for (const { database, peers, processes: counts } of parties) {
      for (const [index, processes] of counts.entries()) {
        const fewer = counts[index - 1];
        if (fewer !== undefined) {
          claims.push({
            says: `${processes} on ${database}, beside ${fewer} of our own`,
            of: seriesOf(nameOf(OURS, { database, processes }), '/s'),
            to: seriesOf(nameOf(OURS, { database, processes: fewer }), '/s'),
            atLeast: 1,
          });
        }
        const crew = { database, processes };
        contenders.push(await ours(setting, crew));
        for (const who of peers) {
          contenders.push(await peer(setting, who, crew));
          claims.push({
            says: `${processes} on ${database}, beside ${peerNameOf(who)}`,
            of: seriesOf(nameOf(OURS, crew), '/s'),
            to: seriesOf(nameOf(peerNameOf(who), crew), '/s'),
            atLeast: 1,
          });
        }
      }
    }
    return { series: await inRounds(contenders, rounds, say), claims };
  },
};
