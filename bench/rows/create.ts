import { setTimeout as wait } from 'node:timers/promises';
import { type Account, makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Measured, Run } from '../bench.ts';
import { busy } from '../load/busy.ts';
import { createBare, createEvent, subscribe } from '../load/calls.ts';
import { ask } from '../load/connection.ts';
import { untilSilent } from '../load/telling.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';

/** As many as there are connections: each has places of its own in every index. */
const ACCOUNTS = 64;

/** A first attempt that is refused has come back by then, and its hook waits. */
const REFUSED_MS = 500;

const floorOf = (database: Database) => `F2 on ${database}`;

async function floor(stage: Stage, database: Database, roundMs: number): Promise<Contender> {
  const { url, process } =
    database === 'SQLite'
      ? await stage.program('./floors/durable.ts', stage.newFile())
      : await stage.program('./floors/durable-postgres.ts', await stage.newDatabase(database));
  return busy(floorOf(database), { url, pid: process.pid }, [createBare], roundMs, 'floor');
}

/** A service whose accounts are called in turn; each with a hook, if there is a target for it. */
async function ours(
  { stage, roundMs }: Run,
  database: Database,
  { name, accounts, target }: { name: string; accounts: number; target?: (turn: number) => string },
): Promise<Contender> {
  const where = await stage.newDatabase(database);
  const [first, ...others] = await makeAccounts(where, accounts);
  if (first === undefined) throw new Error('there are accounts');
  const { baseUrl, process } = await stage.service(where, { CARILLON_RETRY_WAITS: '2h,2h' });
  if (target !== undefined) {
    const hooked = async (account: Account, turn: number) => {
      await ask(baseUrl, subscribe(account, target(turn)));
      await ask(baseUrl, createEvent(account));
    };
    await Promise.all([first, ...others].map(hooked));
    await wait(REFUSED_MS);
  }
  return busy(name, { url: baseUrl, pid: process.pid }, [createEvent(first), ...others.map(createEvent)], roundMs);
}

/** The next one is measured when it has told all that it owes. */
function toTheEnd(contender: Contender, receiver: Receiver): Contender {
  return {
    ...contender,
    async measure() {
      const came = await contender.measure();
      await untilSilent(receiver);
      return came;
    },
  };
}

async function measured(
  run: Run,
  of: (database: Database) => Promise<Contender[]>,
  claims: (database: Database) => Claim[],
): Promise<Measured> {
  const contenders: Contender[] = [];
  for (const database of databases) {
    contenders.push(await floor(run.stage, database, run.roundMs), ...(await of(database)));
  }
  // Once without being counted: code is compiled, caches are filled.
  await inRounds(contenders, 1, () => undefined);
  return { series: await inRounds(contenders, run.rounds, run.say), claims: databases.flatMap(claims) };
}

const crowds = [1, ACCOUNTS] as const;

const whereOf = (accounts: number, database: Database) =>
  `on ${database}, in ${accounts === 1 ? 'one account' : `${accounts} accounts`}`;

const nameOf = (accounts: number, database: Database) => `POST /v2/events ${whereOf(accounts, database)}`;

export const create: Bench = {
  id: 'P1',
  name: 'create',
  title: 'events created over 64 connections, each with its key, on disk before its 201, no hook',
  target:
    'at least 0.60 of F2: node:http, one prepared insert, group commit, nobody asked who they are, nothing checked',
  heldBack:
    "on SQLite one thread does everything: of 110 µs for a creation, 35 are SQL statements and the commit, 29 Node's HTTP, 10 garbage collection. With 64 accounts SQLite takes 121 of 199 µs, because each account has its own pages in every index. On PostgreSQL the database processes take 109 µs beside the 163 µs of the service.",
  measure: (run) =>
    measured(
      run,
      async (database) => {
        const contenders: Contender[] = [];
        for (const accounts of crowds) {
          contenders.push(await ours(run, database, { name: nameOf(accounts, database), accounts }));
        }
        return contenders;
      },
      (database) =>
        crowds.map((accounts) => ({
          says: whereOf(accounts, database),
          of: seriesOf(nameOf(accounts, database), '/s'),
          to: seriesOf(floorOf(database), '/s'),
          atLeast: 0.6,
        })),
    ),
};

const WAITING = 'with a hook that waits for its next try';
const TOLD = 'with a hook that is told as it goes';

export const createHooked: Bench = {
  id: 'P2',
  name: 'create-hooked',
  title: 'the same, in one account on SQLite and 64 on PostgreSQL, where each event is pending for a hook',
  target: 'at least 0.50 of F2, in which nothing is pending for anybody',
  heldBack:
    'a pending delivery is one more insert with three indexes: 95 µs on SQLite, 41 µs on PostgreSQL and 49 µs in its own processes. When it is delivered at the same time, the same thread sends the request and stores the result.',
  async measure(run) {
    const receiver = await run.stage.receiver();
    const accounts = (database: Database) => (database === 'PostgreSQL' ? ACCOUNTS : 1);
    return measured(
      run,
      async (database) => [
        await ours(run, database, {
          name: `${WAITING}, on ${database}`,
          accounts: accounts(database),
          // Nobody listens at port 9 of this machine.
          target: (turn) => `http://127.0.0.1:9/${turn}`,
        }),
        toTheEnd(
          await ours(run, database, {
            name: `${TOLD}, on ${database}`,
            accounts: accounts(database),
            target: (turn) => `${receiver.url}/count/${database}/${turn}`,
          }),
          receiver,
        ),
      ],
      (database) =>
        [WAITING, TOLD].map((hooked) => ({
          says: `on ${database}, ${hooked}`,
          of: seriesOf(`${hooked}, on ${database}`, '/s'),
          to: seriesOf(floorOf(database), '/s'),
          atLeast: 0.5,
        })),
    );
  },
};
