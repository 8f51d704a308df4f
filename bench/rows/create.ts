import { setTimeout as wait } from 'node:timers/promises';
import { type Account, makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Measured, Run } from '../bench.ts';
import { type Database, databases, type Stage } from '../environment.ts';
import { untilIdle } from '../load/delivery-load.ts';
import { ask, busy, createBare, createEvent, subscribe } from '../load/load-generator.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';

/** One account for each connection. Each account has its own pages in every index. */
const ACCOUNTS = 64;

/** Time until the first attempt of a hook has been refused. From then on the hook waits for its retry. */
const REFUSED_MS = 500;

const floorOf = (database: Database) => `F2 on ${database}`;

async function floor(stage: Stage, database: Database, roundMs: number): Promise<Contender> {
  const { url, process } =
    database === 'SQLite'
      ? await stage.program('./baselines/durable.ts', stage.newFile())
      : await stage.program('./baselines/durable-postgres.ts', await stage.newDatabase(database));
  return busy(floorOf(database), { url, pid: process.pid }, [createBare], roundMs, 'floor');
}

/**
 * Returns a contender that creates events in the accounts of a service in turn. Each account has a hook if
 * `target` is given.
 */
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

/** Makes each measurement wait until everything is delivered, so that the next contender runs alone. */
function untilDelivered(contender: Contender, receiver: Receiver): Contender {
  return {
    ...contender,
    async measure() {
      const result = await contender.measure();
      await untilIdle(receiver);
      return result;
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
  // Warm-up round: code is compiled and caches are filled.
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
  title: 'events created, no hook',
  target: '≥ 0.22 of F2',
  heldBack: 'Each account has its own index pages; PostgreSQL shares the cores.',
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
          description: whereOf(accounts, database),
          of: seriesOf(nameOf(accounts, database), '/s'),
          to: seriesOf(floorOf(database), '/s'),
          atLeast: 0.22,
        })),
    ),
};

/** The minimum ratio to F2 for accounts with a hook: while the deliveries stay pending, and while they are sent. */
const hooked = [
  { how: 'deliveries pending', atLeast: 0.23 },
  { how: 'delivered', atLeast: 0.16 },
] as const;
const [PENDING, DELIVERED] = [hooked[0].how, hooked[1].how];

export const createHooked: Bench = {
  id: 'P2',
  name: 'create-hooked',
  title: 'events created with a hook',
  target: '≥ 0.23 of F2 with deliveries pending, ≥ 0.16 delivered',
  heldBack: 'PostgreSQL shares the cores.',
  async measure(run) {
    const receiver = await run.stage.receiver();
    const accounts = (database: Database) => (database === 'PostgreSQL' ? ACCOUNTS : 1);
    return measured(
      run,
      async (database) => [
        await ours(run, database, {
          name: `${PENDING}, on ${database}`,
          accounts: accounts(database),
          // Port 9 has no listener: every attempt is refused.
          target: (turn) => `http://127.0.0.1:9/${turn}`,
        }),
        untilDelivered(
          await ours(run, database, {
            name: `${DELIVERED}, on ${database}`,
            accounts: accounts(database),
            target: (turn) => `${receiver.url}/count/${database}/${turn}`,
          }),
          receiver,
        ),
      ],
      (database) =>
        hooked.map(({ how, atLeast }) => ({
          description: `on ${database}, ${how}`,
          of: seriesOf(`${how}, on ${database}`, '/s'),
          to: seriesOf(floorOf(database), '/s'),
          atLeast,
        })),
    );
  },
};
