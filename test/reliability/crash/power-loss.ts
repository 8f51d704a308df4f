import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Cleanup, within } from '../../kit/cleanup.ts';
import { chanceFrom, type SeededChance } from '../../kit/random.ts';
import { copySource, mutations, withMutation } from '../mutations.ts';
import type { Figure, Proof, Run } from '../reliability-test.ts';
import type { Found } from './crash-loop.ts';
import { disksLack, losesWhatIsNotFlushed, makeDisk } from './power-loss/disk.ts';
import { type Stretch, stretch } from './power-loss/stretch.ts';

export const power: Proof = {
  id: 'R2',
  name: 'power',
  title: 'the power of the disk is cut under load',
  promise:
    'nothing acknowledged is lost, everything pending is delivered, the database is sound; a control run without fsync loses data',
  unit: 'power cuts on each database',
  quick: undefined,
  long: 300,
  lacks: disksLack,
  prove,
};

/** So many cuts, then a new disk: what is compared stays small. */
const POWER_CUTS_PER_RUN = 50;

/** The control run has one cut for so many, and at least these. */
const CONTROL_ONE_IN = 20;
const MIN_CONTROL_LOSSES = 5;

/** What the control run leaves out, by a mistake in a copy of the source or by a setting of the server. */
const leftOut = { SQLite: 'synchronous=NORMAL', PostgreSQL: 'synchronous_commit=off' } as const;
const MISTAKE = 'a commit is not flushed to the disk';

type Name = Stretch['name'];

async function prove({ count, seed, stores, say }: Run): Promise<Figure> {
  await within(mustLose);
  const random = chanceFrom(seed);
  const counts: Record<string, number | string> = {};
  const broken: string[] = [];
  for (const { name } of stores) {
    const found = await inStretches(name, count, random, (line) => say(`${name}: ${line}`));
    for (const [what, number] of Object.entries(found.counts)) counts[`${name}: ${what}`] = number;
    broken.push(...found.broken.map((line) => `${name}: ${line}`));
    // What fails as it is needs no control run to show that it can.
    if (found.broken.length > 0) continue;
    const lost = await lostWithout(name, Math.max(MIN_CONTROL_LOSSES, Math.ceil(count / CONTROL_ONE_IN)), random);
    counts[`${name}: acknowledged and lost in the control run, ${leftOut[name]}`] = lost;
    if (lost === 0) broken.push(`${name}: ${leftOut[name]} loses nothing, so that nothing is shown`);
  }
  counts['lost by a cut'] =
    'all that ext4 had in memory, files and journal; nothing that a drive has in a cache of its own';
  return { counts, broken };
}

async function mustLose(context: Cleanup): Promise<void> {
  if (await losesWhatIsNotFlushed(makeDisk(context))) return;
  throw new Error('what was never flushed outlives a cut here, so that a cut shows nothing');
}

async function inStretches(name: Name, all: number, random: SeededChance, say: Run['say']): Promise<Found> {
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  for (let left = all; left > 0 && broken.length === 0; left -= POWER_CUTS_PER_RUN) {
    const cuts = Math.min(left, POWER_CUTS_PER_RUN);
    const found = await within((context) => stretch(context, { name, cuts, random: random.fork() }));
    for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
    broken.push(...found.broken);
    say(`${all - left + cuts} of ${all}, ${broken.length} faults`);
  }
  return { counts, broken };
}

/** What the same finds where nothing is flushed before an answer. */
async function lostWithout(name: Name, cuts: number, random: SeededChance): Promise<number> {
  const lost = async (more: Pick<Stretch, 'settings' | 'lives'>) => {
    const { counts } = await within((context) => stretch(context, { name, cuts, random: random.fork(), ...more }));
    return counts['acknowledged and lost'] ?? 0;
  };
  if (name === 'PostgreSQL') {
    return lost({ settings: [leftOut[name]], lives: { environment: { CARILLON_DURABILITY: 'any' } } });
  }
  const mistake = mutations.find(({ says }) => says === MISTAKE);
  if (mistake === undefined) throw new Error(`nobody makes the mistake that ${MISTAKE}`);
  const copy = copySource();
  try {
    return await withMutation(mistake, copy, async () => {
      const started = pathToFileURL(join(copy.folder, 'test/kit/start-service.ts')).href;
      const { startProcess } = (await import(started)) as typeof import('../../kit/start-service.ts');
      return lost({ lives: { startProcess } });
    });
  } finally {
    copy.remove();
  }
}
