import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Cleanup, within } from '../../kit/cleanup.ts';
import { type SeededRandom, seededRandom } from '../../kit/random.ts';
import { copySource, mutations, withMutation } from '../mutations.ts';
import type { ReliabilityTest, Run, RunResult } from '../reliability-test.ts';
import type { LoopResult } from './crash-loop.ts';
import { disksLack, losesWhatIsNotFlushed, makeDisk } from './power-loss-disk.ts';
import { type PowerCutRun, runPowerCuts } from './power-loss-run.ts';

export const power: ReliabilityTest = {
  id: 'R2',
  name: 'power',
  title: 'the power of the disk is cut under load',
  promise:
    'nothing acknowledged is lost, everything pending is delivered, the database is sound; a control run without fsync loses data',
  unit: 'power cuts on each database',
  smoke: undefined,
  full: 300,
  lacks: disksLack,
  execute,
};

/** Number of power cuts before a new disk is created, so that the final comparison stays small. */
const POWER_CUTS_PER_RUN = 50;

/** The control run has one cut for every 20 cuts of the run. */
const CONTROL_ONE_IN = 20;
/** Minimum number of cuts in the control run. */
const MIN_CONTROL_LOSSES = 5;

/**
 * The change that keeps the control run from flushing commits: a seeded bug in a copy of the source, or a setting
 * of the server.
 */
const withoutFlush = { SQLite: 'synchronous=NORMAL', PostgreSQL: 'synchronous_commit=off' } as const;
const CONTROL_BUG = 'a commit is not flushed to the disk';

type Name = PowerCutRun['name'];

async function execute({ count, seed, stores, log }: Run): Promise<RunResult> {
  await within(verifyCutLosesWrites);
  const random = seededRandom(seed);
  const counts: Record<string, number | string> = {};
  const broken: string[] = [];
  for (const { name } of stores) {
    const found = await runInShards(name, count, random, (line) => log(`${name}: ${line}`));
    for (const [what, number] of Object.entries(found.counts)) counts[`${name}: ${what}`] = number;
    broken.push(...found.broken.map((line) => `${name}: ${line}`));
    // A run that already fails needs no control run.
    if (found.broken.length > 0) continue;
    const lost = await lossesWithoutFlush(
      name,
      Math.max(MIN_CONTROL_LOSSES, Math.ceil(count / CONTROL_ONE_IN)),
      random,
    );
    counts[`${name}: acknowledged and lost in the control run, ${withoutFlush[name]}`] = lost;
    if (lost === 0) broken.push(`${name}: ${withoutFlush[name]} loses nothing, so the run proves nothing`);
  }
  counts['what a power cut loses'] =
    'all that ext4 had in memory, files and journal; nothing that a drive has in a cache of its own';
  return { counts, broken };
}

async function verifyCutLosesWrites(context: Cleanup): Promise<void> {
  if (await losesWhatIsNotFlushed(makeDisk(context))) return;
  throw new Error('what was never flushed outlives a cut here, so that a cut shows nothing');
}

async function runInShards(name: Name, all: number, random: SeededRandom, log: Run['log']): Promise<LoopResult> {
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  for (let left = all; left > 0 && broken.length === 0; left -= POWER_CUTS_PER_RUN) {
    const cuts = Math.min(left, POWER_CUTS_PER_RUN);
    const found = await within((context) => runPowerCuts(context, { name, cuts, random: random.fork() }));
    for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
    broken.push(...found.broken);
    log(`${all - left + cuts} of ${all}, ${broken.length} faults`);
  }
  return { counts, broken };
}

/** Returns the number of acknowledged records that the same run loses if commits are not flushed. */
async function lossesWithoutFlush(name: Name, cuts: number, random: SeededRandom): Promise<number> {
  const lost = async (more: Pick<PowerCutRun, 'settings' | 'loop'>) => {
    const { counts } = await within((context) => runPowerCuts(context, { name, cuts, random: random.fork(), ...more }));
    return counts['acknowledged and lost'] ?? 0;
  };
  if (name === 'PostgreSQL') {
    return lost({ settings: [withoutFlush[name]], loop: { environment: { CARILLON_DURABILITY: 'any' } } });
  }
  const mistake = mutations.find(({ description }) => description === CONTROL_BUG);
  if (mistake === undefined) throw new Error(`nobody makes the mistake that ${CONTROL_BUG}`);
  const copy = copySource();
  try {
    return await withMutation(mistake, copy, async () => {
      const started = pathToFileURL(join(copy.folder, 'test/kit/service/service-process.ts')).href;
      const { startProcess } = (await import(started)) as typeof import('../../kit/service/service-process.ts');
      return lost({ loop: { startProcess } });
    });
  } finally {
    copy.remove();
  }
}
