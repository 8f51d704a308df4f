import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { type Account, makeAccounts } from '../accounts.ts';
import type { Bench, Claim } from '../bench.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, Connection, wired } from '../load/connection.ts';
import { processorSeconds } from '../processor.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';

/** As many posts at once as F3 has connections. */
const POSTING_CONNECTIONS = 64;

/** Hooks that are all told of each event. */
const HOOKS = [1, 1_000] as const;

/** No more is committed while so much is still to be told: the rate that lasts is the one at which the backlog is flat. */
const MOST_BEHIND = 2_000;
const LOOK_MS = 20;
const WRITERS = 8;

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

async function arrived(receiver: Receiver): Promise<number> {
  const { counts } = await receiver.report();
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Commits as fast as it is told, and counts what has arrived: with so many hooks on each event. */
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
      const before = processorSeconds(process.pid);
      const begun = performance.now();
      let owed = 0;
      let told = 0;
      const isOver = () => performance.now() - begun > roundMs;
      const writers = Array.from({ length: WRITERS }, async () => {
        const connection = await Connection.open(baseUrl);
        while (!isOver()) {
          if (owed - told > MOST_BEHIND) await wait(LOOK_MS);
          else {
            owed += hooks;
            await connection.ask(call);
          }
        }
        connection.close();
      });
      while (!isOver()) {
        await wait(LOOK_MS);
        told += await arrived(receiver);
      }
      const perSecond = told / ((performance.now() - begun) / 1_000);
      const seconds = processorSeconds(process.pid) - before;
      const each = (seconds * 1e6) / told;
      await Promise.all(writers);
      // What is left over is told before anybody else is measured.
      while (told < owed) {
        await wait(LOOK_MS);
        told += await arrived(receiver);
      }
      return { '/s': perSecond, 'µs of processor each': each };
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
