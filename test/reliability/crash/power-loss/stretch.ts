import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { atEnd, type Cleanup } from '../../../kit/cleanup.ts';
import { type PostgresServer, startPostgres } from '../../../kit/postgres.ts';
import type { SeededChance } from '../../../kit/random.ts';
import type { TestStore } from '../../../kit/stores.ts';
import { type Found, type Lives, type LivesOptions, startLives } from '../crash-loop.ts';
import { type Disk, makeDisk } from './disk.ts';

/** Records that clients are answered 201 for before a cut, and how long a service lives at most if they were. */
const MIN_PER_RUN = 5;
const MAX_RUN_MS = 400;

/** What was acknowledged so shortly before a cut is what a cut is for: later on it might be on the disk by itself. */
const FRESH_MS = 10;

/** One life in so many goes on until something is being told: on PostgreSQL, until the lanes of the last one are taken up. */
const TELLS_ONE_IN = 3;

/** One cut in so many comes while the service starts, at any moment of that. */
const EARLY_ONE_IN = 8;
const STARTING_MS = 500;

export type Stretch = {
  readonly name: TestStore['name'];
  readonly cuts: number;
  readonly random: SeededChance;
  /** Of the PostgreSQL. */
  readonly settings?: readonly string[];
  readonly lives?: Pick<LivesOptions, 'startProcess' | 'environment'>;
};

type Stage = {
  readonly lives: Lives;
  readonly disk: Disk;
  readonly server: PostgresServer | undefined;
  readonly random: SeededChance;
};

/** A service with its database on a disk of its own, whose power is cut so often; then the ledgers are compared. */
export async function stretch(
  context: Cleanup,
  { name, cuts, random, settings = [], lives: how }: Stretch,
): Promise<Found> {
  const disk = makeDisk(context);
  const folder = join(disk.folder, 'data');
  const server = name === 'PostgreSQL' ? await startPostgres({ folder, settings }) : undefined;
  if (server !== undefined) atEnd(context, () => server.crash('SIGKILL'));
  const database = server?.address ?? `sqlite:${folder}/carillon.db`;
  const lives = await startLives(context, { database, random: random.fork(), ...how });
  const stage = { lives, disk, server, random };
  let [made, early, fresh] = [0, 0, 0];
  const found = await lives.all(async () => {
    // What is there before the first cut is on the disk, also in a control run.
    await (await lives.begin()).stop('SIGTERM');
    while (made < cuts) {
      const isEarly = random.below(EARLY_ONE_IN) === 0;
      const cutAt = await (isEarly ? cutEarly : cutAtWork)(stage);
      await disk.putBack();
      await server?.restart();
      made += 1;
      early += Number(isEarly);
      fresh += Number(lives.witnesses.calls.some(({ answeredAt = 0 }) => answeredAt > cutAt - FRESH_MS));
      await lives.died(`after cut ${made}`);
    }
    await lives.begin();
  });
  const counts = {
    'power cuts': made,
    'of them while it started': early,
    [`of them within ${FRESH_MS} ms of something acknowledged`]: fresh,
  };
  return { ...found, counts: { ...counts, ...found.counts } };
}

/** Answers when it was cut. */
async function cutAtWork({ lives, disk, server, random }: Stage): Promise<number> {
  const service = await lives.begin();
  await wait(random.below(MAX_RUN_MS));
  await lives.witnesses.untilAcknowledged(MIN_PER_RUN);
  if (random.below(TELLS_ONE_IN) === 0) await lives.witnesses.whenBusy();
  await lives.witnesses.untilAcknowledged(1);
  const cutAt = performance.now();
  disk.cut();
  await Promise.all([service.stop('SIGKILL'), server?.crash('SIGKILL')]);
  return cutAt;
}

async function cutEarly({ lives, disk, server, random }: Stage): Promise<number> {
  // Whether it comes up nevertheless, or says that it cannot: it has to end.
  const ended = lives.begin({}).then(
    (service) => service.stop('SIGKILL'),
    () => undefined,
  );
  await wait(random.below(STARTING_MS));
  const cutAt = performance.now();
  disk.cut();
  await Promise.all([ended, server?.crash('SIGKILL')]);
  return cutAt;
}
