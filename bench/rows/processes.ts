import { once } from 'node:events';
import { type Cleanup, within } from '../../test/harness/cleanup.ts';
import { makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Side } from '../bench.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, Connection, wired } from '../load/connection.ts';
import { asFastAsTold, type Committing, MOST_BEHIND, type Tally, toldPerSecond } from '../load/telling.ts';
import { type Peer, nameOf as peerNameOf, startTelling } from '../peers.ts';
import { processorSeconds, processorSecondsBelow } from '../processor.ts';
import type { Program } from '../programs.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import type { Database, Stage } from '../stage.ts';

/** Queues of others, and with how many processes each is measured on what. */
const parties = [
  { database: 'PostgreSQL', peers: ['graphile-worker', 'pg-boss', 'bullmq'], processes: [1, 2, 4] },
  { database: 'SQLite', peers: ['plainjob'], processes: [1] },
] as const satisfies readonly { database: Database; peers: readonly Peer[]; processes: readonly number[] }[];

/** Each with a hook of its own, as the queues of others have no account that writes would share. */
const ACCOUNTS = 64;

/** Writers of a crew, all of its processes together: as many as nodes and databases have use for. */
const WRITERS = 64;

/**
 * Each process tells for so long without being counted, as if it had the machine for itself: one that shares two
 * processors with three others has had its code compiled after sixteen seconds, and not after four.
 */
const WARM_MS_A_PROCESS = 4_000;

const OURS = 'carillon';

const nameOf = (who: string, { database, processes }: Crew) =>
  `${who}, ${processes} ${processes === 1 ? 'process' : 'processes'} on ${database}`;

/** How many of one kind work together on one database. */
type Crew = { readonly database: Database; readonly processes: number };

type Setting = { readonly stage: Stage; readonly receiver: Receiver; readonly roundMs: number };

/** Somebody who tells, and what it has cost in processor so far: seconds, by who has spent them. */
type Telling = {
  readonly commitFor: (forMs: number) => Committing;
  readonly spent?: () => Readonly<Record<string, number>>;
};

const nothing = (): Readonly<Record<string, number>> => ({});

/** Somebody who is measured: it is there for its own turns alone, since those who wait look for work again and again. */
function told(
  crew: Crew,
  who: string,
  side: Side,
  { receiver, roundMs }: Setting,
  start: (context: Cleanup) => Promise<Telling>,
): Contender {
  return {
    name: nameOf(who, crew),
    side,
    measure: () =>
      within(async (context) => {
        const { commitFor, spent = nothing } = await start(context);
        const warmMs = WARM_MS_A_PROCESS * crew.processes;
        await toldPerSecond(receiver, warmMs, commitFor(warmMs));
        const before = spent();
        const { perSecond, told } = await toldPerSecond(receiver, roundMs, commitFor(roundMs));
        const costs = Object.entries(spent()).map(([who, seconds]) => {
          const micros = ((seconds - (before[who] ?? 0)) * 1e6) / told;
          return [`µs of processor a notification, ${who}`, micros] as const;
        });
        return { '/s': perSecond, ...Object.fromEntries(costs) };
      }),
  };
}

/** So many services on one database, each asked by its part of the writers. */
async function ours(setting: Setting, crew: Crew): Promise<Contender> {
  const { stage, receiver } = setting;
  const { processes, database } = crew;
  const where = await stage.newDatabase(database);
  const accounts = await makeAccounts(where, ACCOUNTS);
  const first = await stage.service(where);
  for (const [turn, account] of accounts.entries()) {
    await ask(first.baseUrl, subscribe(account, `${receiver.url}/count/${database}/${processes}/${turn}`));
  }
  await first.stop('SIGTERM');
  return told(crew, OURS, 'ours', setting, async (context) => {
    const urls: string[] = [];
    const pids: (number | undefined)[] = [];
    for (let one = 0; one < processes; one += 1) {
      const service = await stage.service(where);
      context.after(() => service.stop('SIGTERM'));
      urls.push(service.baseUrl);
      pids.push(service.process.pid);
    }
    const calls = urls.map((url) => accounts.map((account) => wired(url, createEvent(account))));
    const connections = await Promise.all(
      Array.from({ length: WRITERS }, (_, writer) => Connection.open(urls[writer % processes] ?? '')),
    );
    let turn = 0;
    const write = async (writer: number) => {
      turn += 1;
      const call = calls[writer % processes]?.[turn % ACCOUNTS];
      if (call === undefined) throw new Error('there are calls');
      await connections[writer]?.ask(call);
      return 1;
    };
    const spent = () => ({
      services: pids.reduce<number>((sum, pid) => sum + processorSeconds(pid), 0),
      ...(stage.postgresPid !== undefined &&
        database === 'PostgreSQL' && { PostgreSQL: processorSecondsBelow(stage.postgresPid) }),
    });
    return { commitFor: () => asFastAsTold(write, WRITERS), spent };
  });
}

/** So many processes of a queue of others on one database, each of which adds its part and tells what it finds. */
async function peer(setting: Setting, who: Peer, crew: Crew): Promise<Contender> {
  const { stage, receiver } = setting;
  const { processes, database } = crew;
  const address = database === 'SQLite' ? stage.newFile() : await stage.newDatabase(database);
  const target = `${receiver.url}/count/${who}/${processes}`;
  const order = { address, target, mostBehind: MOST_BEHIND / processes };
  return told(crew, peerNameOf(who), 'peer', setting, async (context) => {
    const programs: Program[] = [];
    // The first one makes what all of them need.
    for (let one = 0; one < processes; one += 1) programs.push(await startTelling(context, who, order));
    const commitFor = (forMs: number) => async (tally: Tally) => {
      const adding = programs.map(async ({ process }) => {
        const answered = once(process, 'message');
        process.send({ forMs, writers: WRITERS / processes });
        const [{ added }] = (await answered) as [{ added: number }];
        tally.owed += added;
      });
      await Promise.all(adding);
    };
    return { commitFor };
  });
}

export const processes: Bench = {
  id: 'P11',
  name: 'processes',
  title: 'told each second by one, two and four processes on one database, each notification committed by itself',
  target:
    'more with each process until the machine has no more; beside graphile-worker, pg-boss and BullMQ on PostgreSQL and plainjob on SQLite, which do the same posts: ahead of each, with as many processes',
  heldBack:
    'two processors, which callers, receivers and the database share: with two processes they are used up. By the statistics of PostgreSQL, before writes were gathered, a notification took 0.17 transactions with one process and 0.42 with two, and 0.82 with four since: each further one makes smaller groups of the same work, reads what the others tell of, and asks for each key once a second. Next: what is owed handed on with the news of other nodes, as a commit hands it to the lanes of its own (decision 129): of all statements of four processes a twentieth reads that. On a machine with more processors the same row should grow.',
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
