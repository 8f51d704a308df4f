import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { atEnd, type Cleanup } from '../../../kit/cleanup.ts';
import { type PostgresServer, startPostgres } from '../../../kit/postgres.ts';
import type { SeededChance } from '../../../kit/random.ts';
import type { TestStore } from '../../../kit/stores.ts';
import { type CrashLoop, type CrashLoopOptions, type LoopResult, startCrashLoop } from '../crash-loop.ts';
import { type Disk, makeDisk } from './disk.ts';

/** Records that clients are answered 201 for before a cut, and how long a service loop at most if they were. */
const MIN_PER_RUN = 5;
const MAX_RUN_MS = 400;

/** What was acknowledged so shortly before a cut is what a cut is for: later on it might be on the disk by itself. */
const FRESH_MS = 10;

/** One life in so many goes on until something is being told: on PostgreSQL, until the lanes of the last one are taken up. */
const BUSY_CUT_ONE_IN = 3;

/** One cut in so many comes while the service starts, at any moment of that. */
const EARLY_ONE_IN = 8;
const STARTING_MS = 500;

export type PowerCutRun = {
  readonly name: TestStore['name'];
  readonly cuts: number;
  readonly random: SeededChance;
  /** Of the PostgreSQL. */
  readonly settings?: readonly string[];
  readonly loop?: Pick<CrashLoopOptions, 'startProcess' | 'environment'>;
};

type Fixture = {
  readonly loop: CrashLoop;
  readonly disk: Disk;
  readonly server: PostgresServer | undefined;
  readonly random: SeededChance;
};

/** A service with its database on a disk of its own, whose power is cut so often; then the history are compared. */
export async function runPowerCuts(
  context: Cleanup,
  { name, cuts, random, settings = [], loop: how }: PowerCutRun,
): Promise<LoopResult> {
  const disk = makeDisk(context);
  const folder = join(disk.folder, 'data');
  const server = name === 'PostgreSQL' ? await startPostgres({ folder, settings }) : undefined;
  if (server !== undefined) atEnd(context, () => server.crash('SIGKILL'));
  const database = server?.address ?? `sqlite:${folder}/carillon.db`;
  const loop = await startCrashLoop(context, { database, random: random.fork(), ...how });
  const fixture = { loop, disk, server, random };
  let [made, early, fresh] = [0, 0, 0];
  const found = await loop.runAndCheck(async () => {
    // What is there before the first cut is on the disk, also in a control run.
    await (await loop.start()).stop('SIGTERM');
    while (made < cuts) {
      const isEarly = random.below(EARLY_ONE_IN) === 0;
      const cutAt = await (isEarly ? cutDuringStart : cutUnderLoad)(fixture);
      await disk.remount();
      await server?.restart();
      made += 1;
      early += Number(isEarly);
      fresh += Number(loop.observers.calls.some(({ answeredAt = 0 }) => answeredAt > cutAt - FRESH_MS));
      await loop.recordCrash(`after cut ${made}`);
    }
    await loop.start();
  });
  const counts = {
    'power cuts': made,
    'of these, during the start': early,
    [`of these, within ${FRESH_MS} ms of an acknowledgement`]: fresh,
  };
  return { ...found, counts: { ...counts, ...found.counts } };
}

/** Answers when it was cut. */
async function cutUnderLoad({ loop, disk, server, random }: Fixture): Promise<number> {
  const service = await loop.start();
  await wait(random.below(MAX_RUN_MS));
  await loop.observers.untilAcknowledged(MIN_PER_RUN);
  if (random.below(BUSY_CUT_ONE_IN) === 0) await loop.observers.whenBusy();
  await loop.observers.untilAcknowledged(1);
  const cutAt = performance.now();
  disk.cut();
  await Promise.all([service.stop('SIGKILL'), server?.crash('SIGKILL')]);
  return cutAt;
}

async function cutDuringStart({ loop, disk, server, random }: Fixture): Promise<number> {
  // Whether it comes up nevertheless, or says that it cannot: it has to end.
  const ended = loop.start({}).then(
    (service) => service.stop('SIGKILL'),
    () => undefined,
  );
  await wait(random.below(STARTING_MS));
  const cutAt = performance.now();
  disk.cut();
  await Promise.all([ended, server?.crash('SIGKILL')]);
  return cutAt;
}
