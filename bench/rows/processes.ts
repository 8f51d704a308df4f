import { once } from 'node:events';
import { makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Side } from '../bench.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, Connection, wired } from '../load/connection.ts';
import { asFastAsTold, type Committing, MOST_BEHIND, toldPerSecond, WRITERS } from '../load/telling.ts';
import { type Peer, nameOf as peerNameOf, startTelling } from '../peers.ts';
import type { Program } from '../programs.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import type { Database, Stage } from '../stage.ts';

/** Queues of others, and with how many processes each is measured on what. */
const parties = [
  { database: 'PostgreSQL', peers: ['graphile-worker', 'pg-boss', 'bullmq'], processes: [1, 2, 4] },
  { database: 'SQLite', peers: ['plainjob'], processes: [1] },
] as const satisfies readonly { database: Database; peers: readonly Peer[]; processes: readonly number[] }[];

/** Each with a hook of its own: on PostgreSQL, the writes of one account wait for each other. */
const ACCOUNTS = 64;

const OURS = 'carillon';

const nameOf = (who: string, { database, processes }: Crew) =>
  `${who}, ${processes} ${processes === 1 ? 'process' : 'processes'} on ${database}`;

/** How many of one kind work together on one database. */
type Crew = { readonly database: Database; readonly processes: number };

type Setting = { readonly stage: Stage; readonly receiver: Receiver; readonly roundMs: number };

function told(name: string, side: Side, { receiver, roundMs }: Setting, commit: Committing): Contender {
  return {
    name,
    side,
    measure: async () => ({ '/s': (await toldPerSecond(receiver, roundMs, commit)).perSecond }),
  };
}

/** So many services on one database, each asked by its part of the writers. */
async function ours(setting: Setting, crew: Crew): Promise<Contender> {
  const { stage, receiver } = setting;
  const { processes, database } = crew;
  const where = await stage.newDatabase(database);
  const accounts = await makeAccounts(where, ACCOUNTS);
  const urls: string[] = [];
  for (let one = 0; one < processes; one += 1) urls.push((await stage.service(where)).baseUrl);
  const urlOf = (turn: number) => urls[turn % processes] ?? '';
  for (const [turn, account] of accounts.entries()) {
    await ask(urlOf(turn), subscribe(account, `${receiver.url}/count/${database}/${processes}/${turn}`));
  }
  const calls = urls.map((url) => accounts.map((account) => wired(url, createEvent(account))));
  let turn = 0;
  // A connection that nothing is asked over is closed before the turn of this crew comes.
  const commit: Committing = async (tally, isOver) => {
    const writers = Array.from({ length: WRITERS }, (_, writer) => Connection.open(urlOf(writer)));
    const connections = await Promise.all(writers);
    const write = async (writer: number) => {
      turn += 1;
      const call = calls[writer % processes]?.[turn % ACCOUNTS];
      if (call === undefined) throw new Error('there are calls');
      await connections[writer]?.ask(call);
      return 1;
    };
    await asFastAsTold(write)(tally, isOver);
    for (const connection of connections) connection.close();
  };
  return told(nameOf(OURS, crew), 'ours', setting, commit);
}

/** So many processes of a queue of others on one database, each of which adds its part and tells what it finds. */
async function peer(setting: Setting, who: Peer, crew: Crew): Promise<Contender> {
  const { stage, receiver, roundMs } = setting;
  const { processes, database } = crew;
  const address = database === 'SQLite' ? stage.newFile() : await stage.newDatabase(database);
  const target = `${receiver.url}/count/${who}/${processes}`;
  const order = { address, target, mostBehind: MOST_BEHIND / processes };
  const programs: Program[] = [];
  // The first one makes what all of them need.
  for (let one = 0; one < processes; one += 1) programs.push(await startTelling(stage.context, who, order));
  const commit: Committing = async (tally) => {
    const adding = programs.map(async ({ process }) => {
      const answered = once(process, 'message');
      process.send({ forMs: roundMs, writers: WRITERS / processes });
      const [{ added }] = (await answered) as [{ added: number }];
      tally.owed += added;
    });
    await Promise.all(adding);
  };
  return told(nameOf(peerNameOf(who), crew), 'peer', setting, commit);
}

export const processes: Bench = {
  id: 'P11',
  name: 'processes',
  title: 'told each second by one, two and four processes on one database, each notification committed by itself',
  target:
    'more with each process until the machine has no more; beside graphile-worker, pg-boss and BullMQ on PostgreSQL and plainjob on SQLite, which do the same posts: ahead of each, with as many processes',
  async measure({ stage, rounds, roundMs, say }) {
    const setting = { stage, receiver: await stage.receiver(), roundMs };
    const contenders: Contender[] = [];
    const claims: Claim[] = [];
    for (const { database, peers, processes: counts } of parties) {
      for (const processes of counts) {
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
    await inRounds(contenders, 1, () => undefined);
    return { series: await inRounds(contenders, rounds, say), claims };
  },
};
