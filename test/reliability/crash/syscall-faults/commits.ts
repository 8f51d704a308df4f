import { within } from '../../../kit/cleanup.ts';
import { eventually } from '../../../kit/eventually.ts';
import type { SeededChance } from '../../../kit/random.ts';
import { temporaryFolder } from '../../../kit/service.ts';
import { KILLED, type LoopResult, startCrashLoop } from '../crash-loop.ts';

const dying = new URL('dying.ts', import.meta.url).href;

/** How long a service that is written to takes at most until it has made so many commits. */
const MAX_RUN_MS = 30_000;

/** One service after the other on one database, from the very first start: each kills itself at one commit more. */
export function killedAtCommits(count: number, random: SeededChance): Promise<LoopResult> {
  return within(async (context) => {
    const database = `sqlite:${temporaryFolder(context)}/carillon.db`;
    const loop = await startCrashLoop(context, { database, random: random.fork() });
    let killed = 0;
    const found = await loop.runAndCheck(async () => {
      for (let commit = 1; commit <= count; commit += 1) {
        const DIES = `${random.one(['before', 'after'])} ${commit}`;
        const environment = { NODE_OPTIONS: `--import=${dying}`, DIES };
        // Its first commits are made before it is ready: then it does not come up.
        const service = await loop.start({ environment }).catch((error: Error) => {
          if (error.message !== KILLED) throw error;
          return undefined;
        });
        if (service !== undefined) await eventually(() => service.process.signalCode, Boolean, MAX_RUN_MS);
        killed += 1;
        await loop.recordCrash(`killed ${DIES} commits`);
      }
      await loop.start();
    });
    return { ...found, counts: { 'killed before or after a commit': killed, ...found.counts } };
  });
}
