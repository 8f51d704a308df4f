import { once } from 'node:events';
import { type Account, makeAccounts } from '../accounts.ts';
import type { Bench, Claim } from '../bench.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, Connection, wired } from '../load/connection.ts';
import { asFastAsTold, toldPerSecond, WRITERS } from '../load/telling.ts';
import { processorSeconds } from '../processor.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';

/** As many posts at once as F3 has connections. */
const POSTING_CONNECTIONS = 64;

/** Hooks that are all told of each event. */
const HOOKS = [1, 1_000] as const;

const FLOOR = 'F3';
const nameOf = (hooks: number, database: Database) =>
  `${hooks === 1 ? 'one hook' : `${hooks.toLocaleString('en')} hooks`} on ${database}`;

async function floor(stage: Stage, receiver: Receiver, roundMs: number): Promise<Contender> {
  const { process } = await stage.program('./floors/posting.ts');
  return {
    name: FLOOR,
    side: 'floor',
    async measure() {
      const before = processorSeconds(process.pid);
      const answered = once(process, 'message');
      process.send({ target: `${receiver.url}/count/floor`, connections: POSTING_CONNECTIONS, forMs: roundMs });
      const [{ perSecond }] = (await answered) as [{ perSecond: number }];
      await receiver.report();
      const seconds = processorSeconds(process.pid) - before;
      return { '/s': perSecond, 'µs of processor each': (seconds * 1e9) / (perSecond * roundMs) };
    },
  };
}

/** Commits as fast as it is told, with so many hooks on each event, and counts what has arrived. */
async function ours(stage: Stage, receiver: Receiver, database: Database, hooks: number, roundMs: number) {
  const where = await stage.newDatabase(database);
  const [account] = await makeAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  const { baseUrl, process } = await stage.service(where);
  await subscribeAll(baseUrl, account, hooks, (turn) => `${receiver.url}/count/${database}/${hooks}/${turn}`);
  const call = wired(baseUrl, createEvent(account));
  const contender: Contender = {
    name: nameOf(hooks, database),
    async measure() {
      const connections = await Promise.all(Array.from({ length: WRITERS }, () => Connection.open(baseUrl)));
      const write = async (writer: number) => {
        await connections[writer]?.ask(call);
        return hooks;
      };
      const before = processorSeconds(process.pid);
      const { perSecond, told } = await toldPerSecond(receiver, roundMs, asFastAsTold(write));
      const seconds = processorSeconds(process.pid) - before;
      for (const connection of connections) connection.close();
      return { '/s': perSecond, 'µs of processor each': (seconds * 1e6) / told };
    },
  };
  return contender;
}

async function subscribeAll(baseUrl: string, account: Account, hooks: number, target: (turn: number) => string) {
  for (let turn = 1; turn <= hooks; turn += 1) await ask(baseUrl, subscribe(account, target(turn)));
}

export const deliver: Bench = {
  id: 'P5',
  name: 'deliver',
  title:
    'told each second for as long as one likes, from the commit to the 200 of the receiver, one hook and 1,000 hooks',
  target: 'at least 0.35 of F3: undici posting the same body to the same receiver over kept connections',
  async measure({ stage, rounds, roundMs, say }) {
    const receiver = await stage.receiver();
    const contenders = [await floor(stage, receiver, roundMs)];
    for (const database of databases) {
      for (const hooks of HOOKS) contenders.push(await ours(stage, receiver, database, hooks, roundMs));
    }
    await inRounds(contenders, 1, () => undefined);
    const claims = databases.flatMap((database) =>
      HOOKS.map(
        (hooks): Claim => ({
          says: nameOf(hooks, database),
          of: seriesOf(nameOf(hooks, database), '/s'),
          to: seriesOf(FLOOR, '/s'),
          atLeast: 0.35,
        }),
      ),
    );
    return { series: await inRounds(contenders, rounds, say), claims };
  },
};
