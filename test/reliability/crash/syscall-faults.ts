import { availableParallelism } from 'node:os';
import { seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import type { LoopResult } from './crash-loop.ts';
import { faultRows, formatRow, killAtCommits, runRow } from './fault-points.ts';
import { missingInjectionRequirement } from './strace.ts';

/**
 * Number of commits in the quick run, at which the service kills itself without any tool. Larger counts use strace
 * as well.
 */
const QUICK_COUNT = 10;

/** Maximum number of commits at which a service kills itself. Later commits repeat what has already been tested. */
const MAX_COMMITS = 200;

/** Maximum faults printed per kind of system call while the test runs. */
const MAX_REPORTED = 5;

export const syscallFaults: ReliabilityTest = {
  id: 'R3',
  name: 'injection',
  title: 'C20 on SQLite, one system call of the service fails, or the service is killed at this call',
  promise: 'no acknowledged change is lost, every pending delivery is delivered, every restart succeeds',
  unit: 'system calls',
  quick: QUICK_COUNT,
  full: 300,
  lacks: missingInjectionRequirement,
  execute,
};

async function execute({ count, seed, log }: RunParameters): Promise<RunResult> {
  const random = seededRandom(seed);
  const atCommits = await killAtCommits(Math.min(count, MAX_COMMITS), random.fork());
  if (count <= QUICK_COUNT) return atCommits;
  const counts: Record<string, number> = {};
  const places: Record<string, string> = {};
  const broken: string[] = [];
  const add = (found: LoopResult) => {
    for (const [what, number] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + number;
    broken.push(...found.broken);
  };
  add(atCommits);
  const left = faultRows(count).map((row) => ({ row, rng: random.fork() }));
  const runRows = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { row, rng } = next;
      const all = await runRow(row, rng);
      for (const found of all) add(found);
      const injectedCount = all.reduce((sum, { counts: own }) => sum + (own[row.injected.called] ?? 0), 0);
      const faults = all.flatMap((found) => found.broken).length;
      const kind = `${row.phase}, ${row.injected.called}`;
      places[kind] = [...(places[kind] === undefined ? [] : [places[kind]]), `${row.call} ${injectedCount}`].join(', ');
      log(`${formatRow(row)}: ${injectedCount} places, ${faults} faults; ${left.length} kinds left`);
      for (const line of all.flatMap((found) => found.broken).slice(0, MAX_REPORTED)) log(`  ${line}`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, runRows));
  return { counts: { ...counts, ...sortByKind(places) }, broken };
}

/** Sorts the results by kind, because the rows run concurrently and end in any order. */
function sortByKind(places: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(places).sort(([a], [b]) => a.localeCompare(b)));
}
