import { within } from '../../../kit/cleanup.ts';
import { eventually } from '../../../kit/eventually.ts';
import type { SeededChance } from '../../../kit/random.ts';
import { temporaryFolder } from '../../../kit/service/service.ts';
import { KILLED, type LoopResult, startCrashLoop } from '../crash-loop.ts';

const killerModule = new URL('dying.ts', import.meta.url).href;

/** Maximum time until a service under load has made its k-th commit. */
const COMMIT_RUN_MS = 30_000;

/** Starts one service after the other on one database; the k-th kills itself at its k-th commit. */
export function killedAtCommits(count: number, random: SeededChance): Promise<LoopResult> {
  return within(async (context) => {
    const database = `sqlite:${temporaryFolder(context)}/carillon.db`;
    const loop = await startCrashLoop(context, { database, random: random.fork() });
    let killed = 0;
    const found = await loop.runAndCheck(async () => {
      for (let commit = 1; commit <= count; commit += 1) {
        const DIES = `${random.one(['before', 'after'])} ${commit}`;
        const environment = { NODE_OPTIONS: `--import=${killerModule}`, DIES };
        // The first commits are made before the service is ready, so it does not start.
        const service = await loop.start({ environment }).catch((error: Error) => {
          if (error.message !== KILLED) throw error;
          return undefined;
        });
        if (service !== undefined) await eventually(() => service.process.signalCode, Boolean, COMMIT_RUN_MS);
        killed += 1;
        await loop.recordCrash(`killed ${DIES} commits`);
      }
      await loop.start();
    });
    return { ...found, counts: { 'killed before or after a commit': killed, ...found.counts } };
  });
}
