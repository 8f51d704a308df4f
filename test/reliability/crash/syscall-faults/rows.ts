import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { within } from '../../../kit/cleanup.ts';
import type { SeededChance } from '../../../kit/random.ts';
import { temporaryFolder } from '../../../kit/service.ts';
import type { Started } from '../../../kit/start-service.ts';
import { type Found, KILLED, type Lives, startLives } from '../crash-loop.ts';
import { filesOf, type Injection, inject, injectingFromTheStart, timesHappened } from './strace.ts';

/** What of a life the calls are counted in. */
const phases = {
  'the first start': ['pwrite64', 'fsync', 'openat', 'ftruncate', 'unlink'],
  'a start': ['pwrite64', 'fsync', 'openat', 'ftruncate', 'unlink'],
  'at work': ['pwrite64', 'fsync'],
  'a checkpoint': ['pwrite64', 'fsync'],
  'a stop': ['pwrite64', 'fsync', 'ftruncate', 'unlink'],
} as const;
type Phase = keyof typeof phases;

/** What happens to a call, at which k at most, and to how many calls in a row: a disk stays full for a while. */
const effects = [
  { effect: 'signal=SIGKILL', called: 'killed at a call', most: 300, inARow: 1 },
  { effect: 'error=EIO', called: 'calls that failed with EIO', most: 200, inARow: 1 },
  { effect: 'error=ENOSPC', called: 'places with ENOSPC', most: 200, inARow: 5 },
] as const;

/** Requests acknowledged after which a call that has not come does not come any more. */
const ENOUGH = 2_500;
/** How long the same is waited for at most, and what comes after an error that a service has outlived. */
const MAX_RUN_MS = 60_000;
const GOES_ON = 5;
const POLL_MS = 10;

/** So many places, or so many calls, then a new database: what is compared stays small. */
const PLACES_PER_RUN = 50;
const CALLS_PER_RUN = 20_000;

export type Row = {
  readonly phase: Phase;
  readonly call: string;
  readonly how: (typeof effects)[number];
  readonly most: number;
};

/** Every kind of call of every phase, with everything that may happen to it, up to its k-th. */
export function rows(count: number): Row[] {
  return effects.flatMap((how) =>
    (Object.keys(phases) as Phase[]).flatMap((phase) =>
      phases[phase].map((call) => ({ phase, call, how, most: Math.min(count, how.most) })),
    ),
  );
}

export const sayRow = ({ phase, call, how }: Row): string => `${phase}, ${call}, ${how.effect}`;

/** Goes through one row: from its first call to the last that there is. */
export async function through(row: Row, random: SeededChance): Promise<Found[]> {
  const found: Found[] = [];
  // A first start has a database of its own.
  const stretch = row.phase === 'the first start' ? 1 : PLACES_PER_RUN;
  for (let k = 1, more = true; more && k <= row.most; ) {
    const first = k;
    const last = Math.min(row.most, first + stretch - 1);
    await within(async (context) => {
      const database = join(temporaryFolder(context), 'carillon.db');
      const lives = await startLives(context, { database: `sqlite:${database}`, random: random.fork() });
      const stage: Stage = { row, lives, database, service: undefined, struck: 0, outlived: 0 };
      const one = await lives.all(async () => {
        if (row.phase !== 'the first start') await alive(stage);
        for (; more && k <= last && lives.witnesses.calls.length < CALLS_PER_RUN; k += 1) {
          more = await strikes[row.phase](stage, k);
        }
        await alive(stage);
      });
      const counts = { [row.how.called]: stage.struck, 'of the failed calls, outlived': stage.outlived, ...one.counts };
      found.push({ counts, broken: one.broken.map((line) => `${sayRow(row)}, k = ${first} to ${k - 1}: ${line}`) });
    });
  }
  return found;
}

type Stage = {
  readonly row: Row;
  readonly lives: Lives;
  readonly database: string;
  /** While it lives. */
  service: Started | undefined;
  struck: number;
  outlived: number;
};

async function alive(stage: Stage): Promise<Started> {
  stage.service ??= await stage.lives.begin();
  return stage.service;
}

const hasEnded = ({ process }: Started): boolean => process.exitCode !== null || process.signalCode !== null;

/** Each strikes at the k-th call; answers whether there was one. */
const strikes: Readonly<Record<Phase, (stage: Stage, k: number) => Promise<boolean>>> = {
  'the first start': starting,
  'a start': starting,
  'at work': working,
  'a checkpoint': working,
  'a stop': stopping,
};

function injectionAt({ row, database }: Stage, k: number): Injection {
  const { call, how, phase } = row;
  return {
    call,
    effect: how.effect,
    from: k,
    to: k + how.inARow - 1,
    // Nothing but a checkpoint writes into the file itself.
    files: phase === 'a checkpoint' ? [database] : filesOf(database),
    log: `${database}.strace`,
  };
}

async function starting(stage: Stage, k: number): Promise<boolean> {
  const { lives, row } = stage;
  if (stage.service !== undefined) await ended(stage, 'killed to start anew');
  const injection = injectionAt(stage, k);
  const runBy = injectingFromTheStart(injection);
  const service = await lives.begin({ runBy }).catch((error: Error) => {
    mustBeAnEnd(stage, injection, error.message);
    return undefined;
  });
  stage.service = service;
  const happened = service === undefined || timesHappened(injection) > 0;
  if (happened) stage.struck += 1;
  if (happened && service !== undefined) stage.outlived += 1;
  await ended(stage, `${row.call} ${k} of a start`);
  await alive(stage);
  await lives.witnesses.untilAcknowledged(1);
  return happened;
}

/** It did not come up: since its call failed, and it said so in a line, or since it was killed, and said nothing. */
function mustBeAnEnd({ row }: Stage, injection: Injection, said: string): void {
  const isError = row.how.effect !== 'signal=SIGKILL';
  const isMeant = isError ? timesHappened(injection) > 0 : said === KILLED;
  if (!isMeant || said.includes('\n')) throw new Error(`it ended otherwise than it was made to: ${said}`);
}

async function working(stage: Stage, k: number): Promise<boolean> {
  const { lives, row } = stage;
  const service = await alive(stage);
  const injection = injectionAt(stage, k);
  const release = await inject(service.process, injection);
  const { tally } = lives.witnesses;
  const [enough, giveUpAt] = [tally.acknowledged + ENOUGH, performance.now() + MAX_RUN_MS];
  const isOver = () => hasEnded(service) || timesHappened(injection) >= row.how.inARow || tally.acknowledged > enough;
  while (!isOver() && performance.now() < giveUpAt) await wait(POLL_MS);
  // It has seen an error, and goes on, or ends by itself. It is let go of when that is known: not in the middle of its end.
  const goesOn = lives.witnesses.untilAcknowledged(GOES_ON);
  const known = new AbortController();
  const ends = once(service.process, 'exit', { signal: known.signal });
  for (const one of [goesOn, ends]) one.catch(() => undefined);
  if (!hasEnded(service)) await Promise.race([goesOn, ends]);
  known.abort();
  await release();
  const happened = service.process.signalCode === 'SIGKILL' || timesHappened(injection) > 0;
  if (happened) stage.struck += 1;
  if (!hasEnded(service)) {
    stage.outlived += Number(happened);
    return happened;
  }
  if (!happened) throw new Error(`the service ended by itself, before ${row.call} ${k}`);
  await ended(stage, `${row.call} ${k}`);
  return true;
}

async function stopping(stage: Stage, k: number): Promise<boolean> {
  const { lives, row } = stage;
  const service = await alive(stage);
  await lives.witnesses.untilAcknowledged(GOES_ON);
  const injection = injectionAt(stage, k);
  const release = await inject(service.process, injection);
  const code = await service.stop('SIGTERM');
  await release();
  const happened = code === null || timesHappened(injection) > 0;
  if (happened) stage.struck += 1;
  else if (code !== 0) throw new Error(`exit code ${code} before ${row.call} ${k}`);
  if (happened && code === 0) stage.outlived += 1;
  await ended(stage, `${row.call} ${k} of a stop`);
  return happened;
}

/** It has died, or does now. */
async function ended(stage: Stage, when: string): Promise<void> {
  await stage.service?.stop('SIGKILL');
  stage.service = undefined;
  await stage.lives.died(when);
}
