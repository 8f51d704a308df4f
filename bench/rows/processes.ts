import { once } from 'node:events';
import { type Cleanup, withCleanup } from '../../test/kit/cleanup.ts';
import type { Bench, ComparisonSide, PerformanceClaim } from '../bench.ts';
import { type DeliveryRate, type LoadShape, populateDatabase, startDeliveryServices } from '../delivery-services.ts';
import type { BenchEnvironment, DatabaseKind } from '../environment.ts';
import { type DeliveryCounts, MAX_BACKLOG, measureDeliveryRate } from '../load/delivery-load.ts';
import { type Peer, nameOf as peerNameOf, startTelling } from '../peers.ts';
import type { Program } from '../programs.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';

/** The databases, the job queues that are compared on each, and the numbers of processes. */
const comparisons = [
  { database: 'PostgreSQL', peers: ['graphile-worker', 'pg-boss', 'bullmq'], processes: [1, 2, 4] },
  { database: 'SQLite', peers: [], processes: [1] },
] as const satisfies readonly { database: DatabaseKind; peers: readonly Peer[]; processes: readonly number[] }[];

/** One hook for each account, because job queues have no account lock. The writers are split among the processes. */
export const ONE_HOOK_PER_ACCOUNT = { accounts: 64, hooksEach: 1, writers: 64 } as const satisfies LoadShape;

/**
 * Warm-up time for each process. A process that shares two cores with three others needs four times as long to
 * compile its code.
 */
export const WARM_MS_PER_PROCESS = 4_000;

const OUR_NAME = 'carillon';

export const nameOf = (who: string, { database, processes }: ProcessGroup) =>
  `${who}, ${processes} ${processes === 1 ? 'process' : 'processes'} on ${database}`;

/** A number of processes of one system on one database. */
type ProcessGroup = { readonly database: DatabaseKind; readonly processes: number };

type DeliverySetting = { readonly stage: BenchEnvironment; readonly receiver: Receiver; readonly roundMs: number };

/**
 * Delivers for `forMs` milliseconds. Returns deliveries per second, and the CPU time of each in microseconds by
 * kind of process (unknown for job queues).
 */
type DeliverFor = (forMs: number) => Promise<{ readonly perSecond: number; readonly micros?: DeliveryRate['micros'] }>;

/** Returns a contender that runs only during its own rounds, because idle job queues keep polling. */
function createContender(
  crew: ProcessGroup,
  who: string,
  side: ComparisonSide,
  roundMs: number,
  start: (context: Cleanup) => Promise<DeliverFor>,
): Contender {
  return {
    name: nameOf(who, crew),
    side,
    measure: () =>
      withCleanup(async (context) => {
        const deliver = await start(context);
        await deliver(WARM_MS_PER_PROCESS * crew.processes);
        const { perSecond, micros = {} } = await deliver(roundMs);
        const costs = Object.entries(micros).map(([who, each]) => [`µs of CPU per delivery, ${who}`, each]);
        return { '/s': perSecond, ...Object.fromEntries(costs) };
      }),
  };
}

/**
 * Returns a contender with several services on one database. Each service receives the requests of its part of the
 * writers.
 */
async function createOurContender(
  { stage, receiver, roundMs }: DeliverySetting,
  crew: ProcessGroup,
): Promise<Contender> {
  const where = await populateDatabase(stage, receiver, crew.database, ONE_HOOK_PER_ACCOUNT);
  return createContender(crew, OUR_NAME, 'ours', roundMs, async (context) => {
    const tellers = await startDeliveryServices(stage, where, { processes: crew.processes });
    context.after(() => tellers.stop());
    return tellers.measureDeliveries;
  });
}

/**
 * Returns a contender with several processes of a job queue on one database. Each process adds its part of the
 * jobs, and runs any job that it finds.
 */
async function createPeerContender(
  { stage, receiver, roundMs }: DeliverySetting,
  who: Peer,
  crew: ProcessGroup,
): Promise<Contender> {
  const { processes, database } = crew;
  const address = database === 'SQLite' ? stage.newFilePath() : await stage.newDatabase(database);
  const target = `${receiver.url}/count/${who}/${processes}`;
  const order = { address, target, mostBehind: MAX_BACKLOG / processes };
  return createContender(crew, peerNameOf(who), 'peer', roundMs, async (context) => {
    const programs: Program[] = [];
    // The processes start one after the other, because the first one creates the schema.
    for (let one = 0; one < processes; one += 1) programs.push(await startTelling(context, who, order));
    const commitFor = (forMs: number) => async (tally: DeliveryCounts) => {
      const adding = programs.map(async ({ process }) => {
        const answered = once(process, 'message');
        process.send({ forMs, writers: ONE_HOOK_PER_ACCOUNT.writers / processes });
        const [{ added }] = (await answered) as [{ added: number }];
        tally.pending += added;
      });
      await Promise.all(adding);
    };
    return (forMs) => measureDeliveryRate(receiver, forMs, commitFor(forMs));
  });
}

export const processes: Bench = {
  id: 'P11',
  name: 'processes',
  title: 'webhooks delivered per second by 1, 2 and 4 processes',
  target: 'more with each process; more than graphile-worker, pg-boss, BullMQ',
  heldBack: 'Database, load generator and receiver share the two cores.',
  async measure({ stage, rounds, roundMs, say }) {
    const setting = { stage, receiver: await stage.startReceiver(), roundMs };
    const contenders: Contender[] = [];
    const claims: PerformanceClaim[] = [];
    for (const { database, peers, processes: counts } of comparisons) {
      for (const [index, processes] of counts.entries()) {
        const fewer = counts[index - 1];
        if (fewer !== undefined) {
          claims.push({
            description: `${processes} processes compared with ${fewer}`,
            of: seriesName(nameOf(OUR_NAME, { database, processes }), '/s'),
            to: seriesName(nameOf(OUR_NAME, { database, processes: fewer }), '/s'),
            atLeast: 1,
          });
        }
        const crew = { database, processes };
        contenders.push(await createOurContender(setting, crew));
        for (const who of peers) {
          contenders.push(await createPeerContender(setting, who, crew));
          claims.push({
            description: `${processes} ${processes === 1 ? 'process' : 'processes'}, compared with ${peerNameOf(who)}`,
            of: seriesName(nameOf(OUR_NAME, crew), '/s'),
            to: seriesName(nameOf(peerNameOf(who), crew), '/s'),
            atLeast: 1,
          });
        }
      }
    }
    return { series: await measureInRounds(contenders, rounds, say), claims };
  },
};
