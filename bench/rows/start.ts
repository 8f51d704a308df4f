import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Bench, PerformanceClaim } from '../bench.ts';
import { type BenchEnvironment, cpuSecondsOf, type DatabaseKind, databaseKinds, residentMib } from '../environment.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';

/**
 * Time between a start and the measurement of idle use. The garbage of a start is collected within about twenty
 * seconds.
 */
const SETTLE_MS = 20_000;
const IDLE_MS = 10_000;

const nameOf = (database: DatabaseKind) => `Carillon on ${database}`;

/**
 * Builds the package and returns the path of its entry point. Running the source instead would keep the compiler
 * in memory.
 */
function buildPackage(): string {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  return join(root, 'dist/main.js');
}

/**
 * Returns a contender that starts a service on an existing database. The start that creates the database is not
 * measured.
 */
async function createContender(stage: BenchEnvironment, database: DatabaseKind, main: string): Promise<Contender> {
  const where = await stage.newDatabase(database);
  await (await stage.startService(where, {}, main)).stop('SIGTERM');
  return {
    name: nameOf(database),
    async measure() {
      const startedAt = performance.now();
      const { baseUrl, process, stop } = await stage.startService(where, {}, main);
      const listening = performance.now() - startedAt;
      const response = await fetch(`${baseUrl}/readyz`);
      const ready = performance.now() - startedAt;
      if (response.status !== 200) throw new Error(`/readyz returned ${response.status}`);
      await response.body?.cancel();
      await wait(SETTLE_MS);
      const before = cpuSecondsOf(process.pid);
      await wait(IDLE_MS);
      const idle = ((cpuSecondsOf(process.pid) - before) * 1_000) / IDLE_MS;
      const memory = residentMib(process.pid);
      await stop('SIGTERM');
      return {
        'ms to listening': listening,
        'ms to ready': ready,
        'MiB when idle': memory,
        '% of a CPU when idle': idle * 100,
      };
    },
  };
}

export const start: Bench = {
  id: 'P10',
  roundDescription: `a start and ${IDLE_MS / 1_000} s of idling on each database`,
  name: 'start',
  title: 'start of the package, then idle',
  target: 'ready ≤ 250 ms; idle ≤ 90 MiB and ≤ 1% CPU',
  heldBack: 'Most of the start loads and compiles modules. Node alone takes 41 MiB.',
  async measure({ stage, rounds, say }) {
    const contenders: Contender[] = [];
    const main = buildPackage();
    for (const database of databaseKinds) contenders.push(await createContender(stage, database, main));
    const claims = databaseKinds.flatMap((database): PerformanceClaim[] => [
      { description: `ready on ${database}, ms`, of: seriesName(nameOf(database), 'ms to ready'), atMost: 250 },
      { description: `idle memory on ${database}, MiB`, of: seriesName(nameOf(database), 'MiB when idle'), atMost: 90 },
      {
        description: `idle CPU on ${database}, %`,
        of: seriesName(nameOf(database), '% of a CPU when idle'),
        atMost: 1,
      },
    ]);
    return { series: await measureInRounds(contenders, rounds, say), claims };
  },
};
