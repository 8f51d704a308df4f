import { once } from 'node:events';
import type { Bench, Claim } from '../bench.ts';
import { type Crowd, crowded, startTellers } from '../delivery-services.ts';
import { type Database, databases, processorSeconds, type Stage } from '../environment.ts';
import { atPace } from '../load/delivery-load.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { median } from '../statistics.ts';

/** Number of connections of baseline F3, which is also the number of its concurrent requests. */
const POSTING_CONNECTIONS = 64;

/**
 * Each event is delivered to every hook. With 1,000 hooks, fewer writers commit events, so that the backlog does
 * not outgrow the deliveries. `atLeast` is the minimum ratio to F3.
 */
export const crowds = [
  { accounts: 1, hooksEach: 1, writers: 64, atLeast: 0.11 },
  { accounts: 1, hooksEach: 1_000, writers: 8, atLeast: 0.28 },
] as const satisfies readonly (Crowd & { readonly atLeast: number })[];

/** The run of one minute commits this multiple of the target rate, which is slightly more than the target. */
const PACE_OF_TARGET = 1.02;
/** The run of one minute commits at most this fraction of the measured maximum rate. */
const PACE_OF_MAXIMUM = 0.9;
const MINUTE_MS = 60_000;

/** Maximum backlog after a minute, in seconds of deliveries. Committing 2 % more than is delivered would exceed it. */
const MAX_BACKLOG_S = 1;

const FLOOR = 'F3';
const OF_FLOOR = 'of F3 over a minute';
const BACKLOG = 's of backlog after a minute';

export const nameOf = (hooks: number, database: Database) =>
  `${hooks === 1 ? 'one hook' : `${hooks.toLocaleString('en')} hooks`} on ${database}`;

async function floor(stage: Stage, receiver: Receiver, roundMs: number): Promise<Contender> {
  const { process } = await stage.program('./baselines/posting.ts');
  return {
    name: FLOOR,
    side: 'floor',
    async measure() {
      const before = processorSeconds(process.pid);
      const response = once(process, 'message');
      process.send({ target: `${receiver.url}/count/floor`, connections: POSTING_CONNECTIONS, forMs: roundMs });
      const [{ perSecond }] = (await response) as [{ perSecond: number }];
      await receiver.report();
      const seconds = processorSeconds(process.pid) - before;
      return { '/s': perSecond, 'µs of CPU per delivery': (seconds * 1e9) / (perSecond * roundMs) };
    },
  };
}

/** The contenders of one service: one delivers at full speed, the other for a minute at the pace of the target. */
type Delivering = {
  readonly crowd: (typeof crowds)[number];
  readonly asFast: Contender;
  readonly forAMinute: (perSecond: number, floorPerSecond: number) => Contender;
};

async function ours(
  stage: Stage,
  receiver: Receiver,
  database: Database,
  crowd: (typeof crowds)[number],
  roundMs: number,
): Promise<Delivering> {
  const { hooksEach: each, writers } = crowd;
  const { tell } = await startTellers(stage, await crowded(stage, receiver, database, crowd));
  const name = nameOf(each, database);
  return {
    crowd,
    asFast: {
      name,
      async measure() {
        const { perSecond, micros } = await tell(roundMs);
        return { '/s': perSecond, 'µs of CPU per delivery': micros.services ?? Number.NaN };
      },
    },
    forAMinute: (perSecond, floorPerSecond) => ({
      name,
      async measure() {
        const counted = await tell(MINUTE_MS, (write) => atPace(write, { perSecond, each, writers }));
        return {
          [OF_FLOOR]: counted.perSecond / floorPerSecond,
          [BACKLOG]: counted.behind / counted.perSecond,
        };
      },
    }),
  };
}

export const deliver: Bench = {
  id: 'P5',
  name: 'deliver',
  title: 'delivered, also for a minute',
  target: '≥ 0.11 of F3 with one hook, ≥ 0.28 with 1,000; backlog ≤ 1 s',
  heldBack: 'With one hook, the same thread creates an event for each delivery.',
  aRound: '5 s, and a minute once for each,',
  async measure({ stage, rounds, roundMs, isQuick, say }) {
    const chosen = isQuick ? crowds.slice(0, 1) : crowds;
    const receiver = await stage.receiver();
    const delivering: Delivering[] = [];
    for (const database of databases) {
      for (const crowd of chosen) delivering.push(await ours(stage, receiver, database, crowd, roundMs));
    }
    const contenders = [await floor(stage, receiver, roundMs), ...delivering.map(({ asFast }) => asFast)];
    await inRounds(contenders, 1, () => undefined);
    const series = await inRounds(contenders, rounds, say);
    const asFastClaim = ({ asFast: { name }, crowd: { atLeast } }: Delivering): Claim => ({
      description: name,
      of: seriesOf(name, '/s'),
      to: seriesOf(FLOOR, '/s'),
      atLeast,
    });
    if (isQuick) return { series, claims: delivering.map(asFastClaim) };
    const perSecondOf = (name: string) => median(series.find((one) => one.name === seriesOf(name, '/s'))?.rounds ?? []);
    const floorPerSecond = perSecondOf(FLOOR);
    const minutes = delivering.map(({ crowd, asFast, forAMinute }) =>
      forAMinute(
        Math.min(floorPerSecond * crowd.atLeast * PACE_OF_TARGET, perSecondOf(asFast.name) * PACE_OF_MAXIMUM),
        floorPerSecond,
      ),
    );
    const minuteSeries = await inRounds(minutes, 1, say);
    const claims = delivering.flatMap((one): Claim[] => {
      const { name } = one.asFast;
      return [
        asFastClaim(one),
        { description: `${name} for a minute`, of: seriesOf(name, OF_FLOOR), atLeast: one.crowd.atLeast },
        { description: `${name}, s of backlog`, of: seriesOf(name, BACKLOG), atMost: MAX_BACKLOG_S },
      ];
    });
    return { series: [...series, ...minuteSeries], claims };
  },
};
