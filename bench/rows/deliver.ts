import { once } from 'node:events';
import type { Bench, Claim } from '../bench.ts';
import { atPace } from '../load/telling.ts';
import { median } from '../measured.ts';
import { processorSeconds } from '../processor.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';
import { type Crowd, crowded, startTellers } from '../tellers.ts';

/** As many posts at once as F3 has connections. */
const POSTING_CONNECTIONS = 64;

/**
 * Hooks that are all told of each event, and who commits them: as many as have a connection in any other closed loop, and
 * fewer of those who make a thousand pending each time, so that what is pending does not outgrow what is told.
 */
export const crowds = [
  { accounts: 1, hooksEach: 1, writers: 64 },
  { accounts: 1, hooksEach: 1_000, writers: 8 },
] as const satisfies readonly Crowd[];

/** What has to be told of what the floor posts; a minute long, a little more than that is committed. */
const LEAST = 0.35;
const A_LITTLE_MORE = 1.02;
const MINUTE_MS = 60_000;

/** Where that is more than can be told at all: so much of what can be. */
const OF_ITS_BEST = 0.9;

/** What is pending after a minute, in seconds of what is told: were it only 2 % more that is committed than told, it would be more. */
const MOST_BEHIND_S = 1;

const FLOOR = 'F3';
const OF_FLOOR = 'of F3 for a minute';
const BEHIND = 's of what is told that are pending after a minute';

export const nameOf = (hooks: number, database: Database) =>
  `${hooks === 1 ? 'one hook' : `${hooks.toLocaleString('en')} hooks`} on ${database}`;

async function floor(stage: Stage, receiver: Receiver, roundMs: number): Promise<Contender> {
  const { process } = await stage.program('./floors/posting.ts');
  return {
    name: FLOOR,
    side: 'floor',
    async measure() {
      const before = processorSeconds(process.pid);
      const answered = once(process, 'message');
      process.send({ target: `${receiver.url}/count/floor`, connections: POSTING_CONNECTIONS, forMs: roundMs });
      const [{ perSecond }] = (await answered) as [{ perSecond: number }];
      await receiver.report();
      const seconds = processorSeconds(process.pid) - before;
      return { '/s': perSecond, 'µs of processor each': (seconds * 1e9) / (perSecond * roundMs) };
    },
  };
}

/** A service with so many hooks on each event: told as fast as it can, or for a minute at the pace that it has to keep up with. */
type Telling = {
  readonly asFast: Contender;
  readonly forAMinute: (perSecond: number, floorPerSecond: number) => Contender;
};

async function ours(
  stage: Stage,
  receiver: Receiver,
  database: Database,
  crowd: Crowd,
  roundMs: number,
): Promise<Telling> {
  const { hooksEach: each, writers } = crowd;
  const { tell } = await startTellers(stage, await crowded(stage, receiver, database, crowd));
  const name = nameOf(each, database);
  return {
    asFast: {
      name,
      async measure() {
        const { perSecond, micros } = await tell(roundMs);
        return { '/s': perSecond, 'µs of processor each': micros.services ?? Number.NaN };
      },
    },
    forAMinute: (perSecond, floorPerSecond) => ({
      name,
      async measure() {
        const counted = await tell(MINUTE_MS, (write) => atPace(write, { perSecond, each, writers }));
        return {
          [OF_FLOOR]: counted.perSecond / floorPerSecond,
          [BEHIND]: counted.behind / counted.perSecond,
        };
      },
    }),
  };
}

export const deliver: Bench = {
  id: 'P5',
  name: 'deliver',
  title:
    'told each second, from the commit to the 200 of the receiver, of events that 64 connections create for one hook, and 8 for 1,000 hooks',
  target:
    'at least 0.35 of F3: undici posting the same body to the same receiver over kept connections; committed at that pace for a minute, or nearly at its own where that is less, what is pending does not grow',
  heldBack:
    'the floor sends requests and does nothing else. With one hook, each notification has its own event, created and committed over HTTP on the same thread.',
  aRound: '5 s, and a minute once for each,',
  async measure({ stage, rounds, roundMs, isQuick, say }) {
    const chosen = isQuick ? crowds.slice(0, 1) : crowds;
    const receiver = await stage.receiver();
    const telling: Telling[] = [];
    for (const database of databases) {
      for (const crowd of chosen) telling.push(await ours(stage, receiver, database, crowd, roundMs));
    }
    const contenders = [await floor(stage, receiver, roundMs), ...telling.map(({ asFast }) => asFast)];
    await inRounds(contenders, 1, () => undefined);
    const series = await inRounds(contenders, rounds, say);
    const asFast = (name: string): Claim => ({
      says: name,
      of: seriesOf(name, '/s'),
      to: seriesOf(FLOOR, '/s'),
      atLeast: LEAST,
    });
    const names = databases.flatMap((database) => chosen.map(({ hooksEach }) => nameOf(hooksEach, database)));
    if (isQuick) return { series, claims: names.map(asFast) };
    const perSecondOf = (name: string) => median(series.find((one) => one.name === seriesOf(name, '/s'))?.rounds ?? []);
    const floorPerSecond = perSecondOf(FLOOR);
    const minutes = telling.map(({ asFast, forAMinute }) =>
      forAMinute(
        Math.min(floorPerSecond * LEAST * A_LITTLE_MORE, perSecondOf(asFast.name) * OF_ITS_BEST),
        floorPerSecond,
      ),
    );
    const kept = await inRounds(minutes, 1, say);
    const claims = names.flatMap((name): Claim[] => [
      asFast(name),
      { says: `${name}, of F3 for a minute`, of: seriesOf(name, OF_FLOOR), atLeast: LEAST },
      { says: `${name}, s pending after it`, of: seriesOf(name, BEHIND), atMost: MOST_BEHIND_S },
    ]);
    return { series: [...series, ...kept], claims };
  },
};
