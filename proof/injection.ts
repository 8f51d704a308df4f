import { availableParallelism } from 'node:os';
import { chanceFrom } from './chance.ts';
import { killedAtCommits } from './injection/commits.ts';
import { rows, sayRow, through } from './injection/rows.ts';
import { injectionLacks } from './injection/strace.ts';
import type { Found } from './lives.ts';
import type { Figure, Proof, Run } from './proof.ts';

/** In the quick form the service kills itself at its commits, which takes no tool; beyond it, strace does more. */
const QUICK = 20;

export const injection: Proof = {
  id: 'R3',
  name: 'injection',
  title:
    'C20 killed at its k-th commit and its k-th system call, or that call fails: as it starts, works, checkpoints, stops',
  promise:
    'nothing acknowledged is lost, all that is owed is told, the database is sound, and every next start succeeds',
  unit: 'places, k = 1 and so on, in each kind of call',
  quick: QUICK,
  long: 300,
  lacks: injectionLacks,
  prove,
};

async function prove({ count, seed, say }: Run): Promise<Figure> {
  const chance = chanceFrom(seed);
  const atCommits = await killedAtCommits(Math.min(count, QUICK), chance.fork());
  if (count <= QUICK) return atCommits;
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const take = (found: Found) => {
    for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
    broken.push(...found.broken);
  };
  take(atCommits);
  const left = rows(count).map((row) => ({ row, dice: chance.fork() }));
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const faults = broken.length;
      for (const found of await through(next.row, next.dice)) take(found);
      say(`${sayRow(next.row)}: ${broken.length - faults} faults; ${left.length} kinds left`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return { counts, broken };
}
