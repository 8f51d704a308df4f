import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Bench, Claim } from '../bench.ts';
import { memoryMib, processorSeconds } from '../processor.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';

/** What is idle is looked at for so long, once what the start has left is collected: that goes on for some twenty seconds. */
const CALM_MS = 20_000;
const IDLE_MS = 10_000;

const nameOf = (database: Database) => `a service on ${database}`;

/** The service as it is published: a checkout runs its source, and keeps what reads that in memory. */
function published(): string {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  return join(root, 'dist/main.js');
}

/** A second start: what a first one has to make is made. */
async function ours(stage: Stage, database: Database, main: string): Promise<Contender> {
  const where = await stage.newDatabase(database);
  await (await stage.service(where, {}, main)).stop('SIGTERM');
  return {
    name: nameOf(database),
    async measure() {
      const begun = performance.now();
      const { baseUrl, process, stop } = await stage.service(where, {}, main);
      const said = performance.now() - begun;
      const answer = await fetch(`${baseUrl}/readyz`);
      const ready = performance.now() - begun;
      if (answer.status !== 200) throw new Error(`/readyz answers ${answer.status}`);
      await answer.body?.cancel();
      await wait(CALM_MS);
      const before = processorSeconds(process.pid);
      await wait(IDLE_MS);
      const idle = ((processorSeconds(process.pid) - before) * 1_000) / IDLE_MS;
      const memory = (memoryMib(process.pid) * 2 ** 20) / 1e6;
      await stop('SIGTERM');
      return {
        'ms to where it is': said,
        'ms to ready': ready,
        'MB when idle': memory,
        '% of a processor when idle': idle * 100,
      };
    },
  };
}

export const start: Bench = {
  id: 'P10',
  aRound: `a start and ${IDLE_MS / 1_000} s of idling on each database`,
  name: 'start',
  title:
    'a start of the published package until /readyz answers 200, and from twenty seconds after that what it needs while nobody asks for anything',
  target: 'ready within 1 s; at most 120 MB; as good as no processor',
  async measure({ stage, rounds, say }) {
    const contenders: Contender[] = [];
    const main = published();
    for (const database of databases) contenders.push(await ours(stage, database, main));
    const claims = databases.flatMap((database): Claim[] => [
      { says: `ready, ms, on ${database}`, of: seriesOf(nameOf(database), 'ms to ready'), atMost: 1_000 },
      { says: `memory, MB, on ${database}`, of: seriesOf(nameOf(database), 'MB when idle'), atMost: 120 },
      { says: `processor, %, on ${database}`, of: seriesOf(nameOf(database), '% of a processor when idle'), atMost: 1 },
    ]);
    return { series: await inRounds(contenders, rounds, say), claims };
  },
};
