import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type SeededRandom, seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { type Cleanup, withCleanup } from '../../kit/cleanup.ts';
import { copySource, mutations, withMutation } from '../mutations.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import type { LoopResult } from './crash-loop.ts';
import { losesUnflushedData, makeDisk, missingDiskRequirement } from './power-loss-disk.ts';
import { type PowerCutRun, runPowerCuts } from './power-loss-run.ts';

export const powerLoss: ReliabilityTest = {
  id: 'R2',
  name: 'power',
  title: 'the disk loses power while the service is under load',
  promise:
    'no acknowledged change is lost, every pending delivery is delivered, the database is sound; a control run without fsync loses data, so the test can detect losses',
  unit: 'power cuts on each database',
  quick: undefined,
  full: 300,
  lacks: missingDiskRequirement,
  execute,
};

/** Number of power cuts before a new disk is created, so that the final comparison stays small. */
const POWER_CUTS_PER_DISK = 50;

/** The control run has one cut for every 20 cuts of the run. */
const CONTROL_ONE_IN = 20;
/** Minimum number of cuts in the control run. */
const MIN_CONTROL_CUTS = 5;

/**
 * The change that keeps the control run from flushing commits: a seeded bug in a copy of the source, or a setting
 * of the server.
 */
const unflushedSetting = { SQLite: 'synchronous=NORMAL', PostgreSQL: 'synchronous_commit=off' } as const;
const CONTROL_BUG = 'a commit is not flushed to the disk';

type DatabaseName = PowerCutRun['name'];

async function execute({ count, seed, stores, log }: RunParameters): Promise<RunResult> {
  await withCleanup(verifyCutLosesWrites);
  const random = seededRandom(seed);
  const counts: Record<string, number | string> = {};
  const broken: string[] = [];
  for (const { name } of stores) {
    const found = await runInShards(name, count, random, (line) => log(`${name}: ${line}`));
    for (const [what, number] of Object.entries(found.counts)) counts[`${name}: ${what}`] = number;
    broken.push(...found.broken.map((line) => `${name}: ${line}`));
    // A run that already fails needs no control run.
    if (found.broken.length > 0) continue;
    const lost = await countLossesWithoutFlush(
      name,
      Math.max(MIN_CONTROL_CUTS, Math.ceil(count / CONTROL_ONE_IN)),
      random,
    );
    counts[`${name}: acknowledged and lost in the control run, ${unflushedSetting[name]}`] = lost;
    if (lost === 0) broken.push(`${name}: ${unflushedSetting[name]} loses nothing, so the run proves nothing`);
  }
  counts['what a power cut loses'] =
    'all that ext4 had in memory, files and journal; nothing that a drive has in a cache of its own';
  return { counts, broken };
}

async function verifyCutLosesWrites(context: Cleanup): Promise<void> {
  if (await losesUnflushedData(makeDisk(context))) return;
  throw new Error('what was never flushed outlives a cut here, so that a cut shows nothing');
}

async function runInShards(
  name: DatabaseName,
  all: number,
  random: SeededRandom,
  log: RunParameters['log'],
): Promise<LoopResult> {
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  for (let left = all; left > 0 && broken.length === 0; left -= POWER_CUTS_PER_DISK) {
    const cuts = Math.min(left, POWER_CUTS_PER_DISK);
    const found = await withCleanup((context) => runPowerCuts(context, { name, cuts, random: random.fork() }));
    for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
    broken.push(...found.broken);
    log(`${all - left + cuts} of ${all}, ${broken.length} faults`);
  }
  return { counts, broken };
}

/** Returns the number of acknowledged records that the same run loses if commits are not flushed. */
async function countLossesWithoutFlush(name: DatabaseName, cuts: number, random: SeededRandom): Promise<number> {
  const lost = async (more: Pick<PowerCutRun, 'settings' | 'loop'>) => {
    const { counts } = await withCleanup((context) =>
      runPowerCuts(context, { name, cuts, random: random.fork(), ...more }),
    );
    return counts['acknowledged and lost'] ?? 0;
  };
  if (name === 'PostgreSQL') {
    return lost({ settings: [unflushedSetting[name]], loop: { environment: { CARILLON_DURABILITY: 'any' } } });
  }
  const controlBug = mutations.find(({ description }) => description === CONTROL_BUG);
  if (controlBug === undefined) throw new Error(`nobody makes the mistake that ${CONTROL_BUG}`);
  const copy = copySource();
  try {
    return await withMutation(controlBug, copy, async () => {
      const started = pathToFileURL(join(copy.folder, 'test/kit/service/service-process.ts')).href;
      const { startProcess } = (await import(started)) as typeof import('../../kit/service/service-process.ts');
      return lost({ loop: { startProcess } });
    });
  } finally {
    copy.remove();
  }
}
