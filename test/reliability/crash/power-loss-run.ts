import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { type PostgresServer, startPostgres } from '../../kit/database/postgres.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import { type CrashLoop, type CrashLoopOptions, type LoopResult, startCrashLoop } from './crash-loop.ts';
import { makeDisk, type PowerLossDisk } from './power-loss-disk.ts';

/** Number of records that are acknowledged before each cut. */
const MIN_ACKNOWLEDGED = 5;
/** Maximum of the random uptime before the test waits for these records. */
const MAX_UPTIME_MS = 400;

/**
 * A cut within this time after an acknowledgement is counted separately. Later, the data may have reached the disk
 * without a flush.
 */
const FRESH_ACKNOWLEDGEMENT_MS = 10;

/**
 * One cut in 3 waits until a delivery is in flight. On PostgreSQL, the leases of the previous process must be
 * taken over first.
 */
const BUSY_CUT_ONE_IN = 3;

/** One cut in 8 hits the service during its start, at a random time. */
const START_CUT_ONE_IN = 8;
/** Maximum of the random time between the beginning of a start and a cut during that start. */
const MAX_START_CUT_DELAY_MS = 500;

export type PowerCutRun = {
  readonly name: TestStore['name'];
  readonly cuts: number;
  readonly random: SeededRandom;
  /** Settings of the PostgreSQL server. */
  readonly settings?: readonly string[];
  readonly loop?: Pick<CrashLoopOptions, 'startProcess' | 'environment'>;
};

type Fixture = {
  readonly loop: CrashLoop;
  readonly disk: PowerLossDisk;
  readonly server: PostgresServer | undefined;
  readonly random: SeededRandom;
};

/** Runs a service on a disk whose power is cut `cuts` times, then checks the history. */
export async function runPowerCuts(
  context: Cleanup,
  { name, cuts, random, settings = [], loop: how }: PowerCutRun,
): Promise<LoopResult> {
  const disk = makeDisk(context);
  const folder = join(disk.folder, 'data');
  const server = name === 'PostgreSQL' ? await startPostgres({ folder, settings }) : undefined;
  if (server !== undefined) atEnd(context, () => server.crash('SIGKILL'));
  const database = server?.url ?? `sqlite:${folder}/carillon.db`;
  const loop = await startCrashLoop(context, { database, random: random.fork(), ...how });
  const fixture = { loop, disk, server, random };
  let [made, duringStart, fresh] = [0, 0, 0];
  const found = await loop.runAndCheck(async () => {
    // The first database is flushed by a clean stop, also in a control run.
    await (await loop.start()).stop('SIGTERM');
    while (made < cuts) {
      const isDuringStart = random.integerBelow(START_CUT_ONE_IN) === 0;
      const cutAt = await (isDuringStart ? cutDuringStart : cutUnderLoad)(fixture);
      await disk.remount();
      await server?.restart();
      made += 1;
      duringStart += Number(isDuringStart);
      fresh += Number(loop.observers.calls.some(({ answeredAt = 0 }) => answeredAt > cutAt - FRESH_ACKNOWLEDGEMENT_MS));
      await loop.recordCrash(`after cut ${made}`);
    }
    await loop.start();
  });
  const counts = {
    'power cuts': made,
    'of these, during the start': duringStart,
    [`of these, within ${FRESH_ACKNOWLEDGEMENT_MS} ms of an acknowledgement`]: fresh,
  };
  return { ...found, counts: { ...counts, ...found.counts } };
}

/** Cuts the power of a service under load. Returns the time of the cut. */
async function cutUnderLoad({ loop, disk, server, random }: Fixture): Promise<number> {
  const service = await loop.start();
  await wait(random.integerBelow(MAX_UPTIME_MS));
  await loop.observers.untilAcknowledged(MIN_ACKNOWLEDGED);
  if (random.integerBelow(BUSY_CUT_ONE_IN) === 0) await loop.observers.whenBusy();
  await loop.observers.untilAcknowledged(1);
  const cutAt = performance.now();
  disk.cutPower();
  await Promise.all([service.stop('SIGKILL'), server?.crash('SIGKILL')]);
  return cutAt;
}

async function cutDuringStart({ loop, disk, server, random }: Fixture): Promise<number> {
  // The process must end, whether the start succeeds or fails.
  const ended = loop.start({}).then(
    (service) => service.stop('SIGKILL'),
    () => undefined,
  );
  await wait(random.integerBelow(MAX_START_CUT_DELAY_MS));
  const cutAt = performance.now();
  disk.cutPower();
  await Promise.all([ended, server?.crash('SIGKILL')]);
  return cutAt;
}
