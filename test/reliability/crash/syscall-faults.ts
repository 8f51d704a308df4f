import { availableParallelism } from 'node:os';
import { chanceFrom } from '../../kit/random.ts';
import type { Figure, Proof, Run } from '../reliability-test.ts';
import type { Found } from './crash-loop.ts';
import { killedAtCommits } from './syscall-faults/commits.ts';
import { rows, sayRow, through } from './syscall-faults/rows.ts';
import { injectionLacks } from './syscall-faults/strace.ts';

/** In the quick form the service kills itself at its commits, which takes no tool; beyond it, strace does more. */
const QUICK = 20;

/** Beyond so many commits, nothing happens that has not happened before. */
const MAX_COMMITS = 200;

/** What does not hold is said at once, where it does not: that much of each kind of call. */
const MAX_REPORTED = 5;

export const injection: Proof = {
  id: 'R3',
  name: 'injection',
  title: 'C20 SQLite: the process is killed, or the call fails, at the k-th system call',
  promise: 'nothing acknowledged is lost, everything pending is delivered, every restart succeeds',
  unit: 'system calls',
  quick: QUICK,
  long: 300,
  lacks: injectionLacks,
  prove,
};

async function prove({ count, seed, say }: Run): Promise<Figure> {
  const random = chanceFrom(seed);
  const atCommits = await killedAtCommits(Math.min(count, MAX_COMMITS), random.fork());
  if (count <= QUICK) return atCommits;
  const counts: Record<string, number> = {};
  const places: Record<string, string> = {};
  const broken: string[] = [];
  const take = (found: Found) => {
    for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
    broken.push(...found.broken);
  };
  take(atCommits);
  const left = rows(count).map((row) => ({ row, dice: random.fork() }));
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { row, dice } = next;
      const all = await through(row, dice);
      for (const found of all) take(found);
      const struck = all.reduce((sum, { counts: own }) => sum + (own[row.how.called] ?? 0), 0);
      const faults = all.flatMap((found) => found.broken).length;
      const kind = `${row.phase}, ${row.how.called}`;
      places[kind] = [...(places[kind] === undefined ? [] : [places[kind]]), `${row.call} ${struck}`].join(', ');
      say(`${sayRow(row)}: ${struck} places, ${faults} faults; ${left.length} kinds left`);
      for (const line of all.flatMap((found) => found.broken).slice(0, MAX_REPORTED)) say(`  ${line}`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return { counts: { ...counts, ...inOrder(places) }, broken };
}

/** Two rows at a time end in any order. */
function inOrder(places: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(places).sort(([a], [b]) => a.localeCompare(b)));
}
