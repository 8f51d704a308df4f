import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/clock.ts';
import { type Moved, type MovePorts, moveIn, type Opening } from '../../src/import-from-api/move.ts';
import { createSource } from '../../src/import-from-api/source.ts';
import { Work } from '../../src/import-from-api/work.ts';
import { openStore } from '../../src/store/open.ts';
import type { Progress } from '../../src/transfer/progress.ts';
import { openingOf } from './database.ts';
import { unseen } from './export-import.ts';

/** The source, credentials and database of an import, and options that differ from the defaults. */
export type Move = {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly database: string;
  /** The work file. The report and the id map are written next to it. */
  readonly work: string;
  readonly progress?: Progress;
} & Partial<Pick<MovePorts, 'domain' | 'ownerEmail' | 'readings' | 'isStrict' | 'say'>>;

/** Imports an account through the API in this process, as the command line does. */
export async function move({ base, headers, database, work: path, progress = unseen, ...given }: Move): Promise<Moved> {
  const opening =
    (as: 'service' | 'command'): Opening =>
    async (job) => {
      const store = await openStore({ ...openingOf(database), as });
      return job(store).finally(() => store.close());
    };
  const say = given.say ?? (() => undefined);
  const work = new Work(path);
  try {
    return await moveIn({
      domain: 'acme.test',
      ownerEmail: undefined,
      readings: 3,
      isStrict: false,
      ...given,
      source: createSource({ base, headers, clock: systemClock, rate: 1_000, say }),
      work,
      withStore: opening('command'),
      withExclusiveStore: opening('service'),
      clock: systemClock,
      progress,
      say,
      paths: { report: `${path}.report`, idMap: `${path}.ids` },
    });
  } finally {
    work.close();
  }
}

/**
 * Runs the import in a child process that kills itself with SIGKILL after `rows` rows of a stage. Returns the
 * signal.
 */
export async function moveKilled(given: Omit<Move, 'progress' | 'say'>, stage: string, rows: number) {
  const script = fileURLToPath(new URL('./import-from-api-killed.ts', import.meta.url));
  const args = [script, JSON.stringify(given), stage, String(rows)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [, signal] = await once(child, 'exit');
  return signal;
}
