import { setTimeout as wait } from 'node:timers/promises';
import { type AccountCredentials, createAccounts } from '../accounts.ts';
import type { Bench, PerformanceClaim, RowMeasurements, RowSettings } from '../bench.ts';
import { type BenchEnvironment, type DatabaseKind, databaseKinds } from '../environment.ts';
import { untilIdle } from '../load/delivery-load.ts';
import {
  bareCreateRequest,
  closedLoopContender,
  createEventRequest,
  sendOnce,
  subscribeRequest,
} from '../load/load-generator.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';

/** One account for each connection. Each account has its own pages in every index. */
const ACCOUNTS = 64;

/** Time until the first attempt of a hook has been refused. From then on the hook waits for its retry. */
const FIRST_REFUSAL_MS = 500;

const floorName = (database: DatabaseKind) => `F2 on ${database}`;

async function createFloorContender(
  stage: BenchEnvironment,
  database: DatabaseKind,
  roundMs: number,
): Promise<Contender> {
  const { url, process } =
    database === 'SQLite'
      ? await stage.startProgram('./baselines/durable.ts', stage.newFilePath())
      : await stage.startProgram('./baselines/durable-postgres.ts', await stage.newDatabase(database));
  return closedLoopContender(floorName(database), { url, pid: process.pid }, [bareCreateRequest], roundMs, 'floor');
}

/**
 * Returns a contender that creates events in the accounts of a service in turn. Each account has a hook if
 * `target` is given.
 */
async function createOurContender(
  { stage, roundMs }: RowSettings,
  database: DatabaseKind,
  { name, accounts, target }: { name: string; accounts: number; target?: (turn: number) => string },
): Promise<Contender> {
  const where = await stage.newDatabase(database);
  const [first, ...others] = await createAccounts(where, accounts);
  if (first === undefined) throw new Error('there are accounts');
  const { baseUrl, process } = await stage.startService(where, { CARILLON_RETRY_WAITS: '2h,2h' });
  if (target !== undefined) {
    const subscribeAndCreate = async (account: AccountCredentials, turn: number) => {
      await sendOnce(baseUrl, subscribeRequest(account, target(turn)));
      await sendOnce(baseUrl, createEventRequest(account));
    };
    await Promise.all([first, ...others].map(subscribeAndCreate));
    await wait(FIRST_REFUSAL_MS);
  }
  return closedLoopContender(
    name,
    { url: baseUrl, pid: process.pid },
    [createEventRequest(first), ...others.map(createEventRequest)],
    roundMs,
  );
}

/** Makes each measurement wait until everything is delivered, so that the next contender runs alone. */
function waitingForDeliveries(contender: Contender, receiver: Receiver): Contender {
  return {
    ...contender,
    async measure() {
      const result = await contender.measure();
      await untilIdle(receiver);
      return result;
    },
  };
}

async function measureRow(
  run: RowSettings,
  of: (database: DatabaseKind) => Promise<Contender[]>,
  claims: (database: DatabaseKind) => PerformanceClaim[],
): Promise<RowMeasurements> {
  const contenders: Contender[] = [];
  for (const database of databaseKinds) {
    contenders.push(await createFloorContender(run.stage, database, run.roundMs), ...(await of(database)));
  }
  // Warm-up round: code is compiled and caches are filled.
  await measureInRounds(contenders, 1, () => undefined);
  return { series: await measureInRounds(contenders, run.rounds, run.say), claims: databaseKinds.flatMap(claims) };
}

const accountCounts = [1, ACCOUNTS] as const;

const conditionsOf = (accounts: number, database: DatabaseKind) =>
  `on ${database}, in ${accounts === 1 ? 'one account' : `${accounts} accounts`}`;

const nameOf = (accounts: number, database: DatabaseKind) => `POST /v2/events ${conditionsOf(accounts, database)}`;

export const create: Bench = {
  id: 'P1',
  name: 'create',
  title: 'events created per second, without hooks',
  target: '≥ 0.22 of F2',
  heldBack: 'Each account has its own index pages. PostgreSQL shares the two cores.',
  measure: (run) =>
    measureRow(
      run,
      async (database) => {
        const contenders: Contender[] = [];
        for (const accounts of accountCounts) {
          contenders.push(await createOurContender(run, database, { name: nameOf(accounts, database), accounts }));
        }
        return contenders;
      },
      (database) =>
        accountCounts.map((accounts) => ({
          description: conditionsOf(accounts, database),
          of: seriesName(nameOf(accounts, database), '/s'),
          to: seriesName(floorName(database), '/s'),
          atLeast: 0.22,
        })),
    ),
};

/** The minimum ratio to F2 for accounts with a hook: while the deliveries stay pending, and while they are sent. */
const hookedCases = [
  { how: 'deliveries pending', atLeast: 0.23 },
  { how: 'delivered', atLeast: 0.16 },
] as const;
const [PENDING, DELIVERED] = [hookedCases[0].how, hookedCases[1].how];

export const createHooked: Bench = {
  id: 'P2',
  name: 'create-hooked',
  title: 'events created per second, with one hook',
  target: '≥ 0.23 of F2 with deliveries pending, ≥ 0.16 delivered',
  heldBack: 'PostgreSQL shares the two cores.',
  async measure(run) {
    const receiver = await run.stage.startReceiver();
    const accounts = (database: DatabaseKind) => (database === 'PostgreSQL' ? ACCOUNTS : 1);
    return measureRow(
      run,
      async (database) => [
        await createOurContender(run, database, {
          name: `${PENDING}, on ${database}`,
          accounts: accounts(database),
          // Port 9 has no listener: every attempt is refused.
          target: (turn) => `http://127.0.0.1:9/${turn}`,
        }),
        waitingForDeliveries(
          await createOurContender(run, database, {
            name: `${DELIVERED}, on ${database}`,
            accounts: accounts(database),
            target: (turn) => `${receiver.url}/count/${database}/${turn}`,
          }),
          receiver,
        ),
      ],
      (database) =>
        hookedCases.map(({ how, atLeast }) => ({
          description: `on ${database}, ${how}`,
          of: seriesName(`${how}, on ${database}`, '/s'),
          to: seriesName(floorName(database), '/s'),
          atLeast,
        })),
    );
  },
};
