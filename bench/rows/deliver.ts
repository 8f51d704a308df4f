import { once } from 'node:events';
import type { Bench, PerformanceClaim } from '../bench.ts';
import { type LoadShape, populateDatabase, startDeliveryServices } from '../delivery-services.ts';
import { type BenchEnvironment, cpuSecondsOf, type DatabaseKind, databaseKinds } from '../environment.ts';
import { commitAtRate } from '../load/delivery-load.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';
import { median } from '../statistics.ts';

/** Number of connections of baseline F3, which is also the number of its concurrent requests. */
const POSTING_CONNECTIONS = 64;

/**
 * Each event is delivered to every hook. With 1,000 hooks, fewer writers commit events, so that the backlog does
 * not outgrow the deliveries. `atLeast` is the minimum ratio to F3.
 */
export const loadShapes = [
  { accounts: 1, hooksEach: 1, writers: 64, atLeast: 0.11 },
  { accounts: 1, hooksEach: 1_000, writers: 8, atLeast: 0.28 },
] as const satisfies readonly (LoadShape & { readonly atLeast: number })[];

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

export const nameOf = (hooks: number, database: DatabaseKind) =>
  `${hooks === 1 ? 'one hook' : `${hooks.toLocaleString('en')} hooks`} on ${database}`;

async function createFloorContender(stage: BenchEnvironment, receiver: Receiver, roundMs: number): Promise<Contender> {
  const { process } = await stage.startProgram('./baselines/posting.ts');
  return {
    name: FLOOR,
    side: 'floor',
    async measure() {
      const before = cpuSecondsOf(process.pid);
      const response = once(process, 'message');
      process.send({ target: `${receiver.url}/count/floor`, connections: POSTING_CONNECTIONS, forMs: roundMs });
      const [{ perSecond }] = (await response) as [{ perSecond: number }];
      await receiver.report();
      const seconds = cpuSecondsOf(process.pid) - before;
      return { '/s': perSecond, 'µs of CPU per delivery': (seconds * 1e9) / (perSecond * roundMs) };
    },
  };
}

/** The contenders of one service: one delivers at full speed, the other for a minute at the pace of the target. */
type DeliverContenders = {
  readonly crowd: (typeof loadShapes)[number];
  readonly fullSpeed: Contender;
  readonly minuteRun: (perSecond: number, floorPerSecond: number) => Contender;
};

async function createDeliverContenders(
  stage: BenchEnvironment,
  receiver: Receiver,
  database: DatabaseKind,
  crowd: (typeof loadShapes)[number],
  roundMs: number,
): Promise<DeliverContenders> {
  const { hooksEach: each, writers } = crowd;
  const { measureDeliveries } = await startDeliveryServices(
    stage,
    await populateDatabase(stage, receiver, database, crowd),
  );
  const name = nameOf(each, database);
  return {
    crowd,
    fullSpeed: {
      name,
      async measure() {
        const { perSecond, micros } = await measureDeliveries(roundMs);
        return { '/s': perSecond, 'µs of CPU per delivery': micros.services ?? Number.NaN };
      },
    },
    minuteRun: (perSecond, floorPerSecond) => ({
      name,
      async measure() {
        const counted = await measureDeliveries(MINUTE_MS, (write) =>
          commitAtRate(write, { perSecond, each, writers }),
        );
        return {
          [OF_FLOOR]: counted.perSecond / floorPerSecond,
          [BACKLOG]: counted.backlog / counted.perSecond,
        };
      },
    }),
  };
}

export const deliver: Bench = {
  id: 'P5',
  name: 'deliver',
  title: 'webhooks delivered per second, also over a minute',
  target: '≥ 0.11 of F3 with one hook, ≥ 0.28 with 1,000; backlog ≤ 1 s',
  heldBack: 'With one hook, the same thread creates an event for each delivery.',
  roundDescription: '5 s, and a minute once for each,',
  async measure({ stage, rounds, roundMs, isQuick, say }) {
    const chosen = isQuick ? loadShapes.slice(0, 1) : loadShapes;
    const receiver = await stage.startReceiver();
    const delivering: DeliverContenders[] = [];
    for (const database of databaseKinds) {
      for (const crowd of chosen)
        delivering.push(await createDeliverContenders(stage, receiver, database, crowd, roundMs));
    }
    const contenders = [
      await createFloorContender(stage, receiver, roundMs),
      ...delivering.map(({ fullSpeed }) => fullSpeed),
    ];
    await measureInRounds(contenders, 1, () => undefined);
    const series = await measureInRounds(contenders, rounds, say);
    const asFastClaim = ({ fullSpeed: { name }, crowd: { atLeast } }: DeliverContenders): PerformanceClaim => ({
      description: name,
      of: seriesName(name, '/s'),
      to: seriesName(FLOOR, '/s'),
      atLeast,
    });
    if (isQuick) return { series, claims: delivering.map(asFastClaim) };
    const perSecondOf = (name: string) =>
      median(series.find((one) => one.name === seriesName(name, '/s'))?.rounds ?? []);
    const floorPerSecond = perSecondOf(FLOOR);
    const minutes = delivering.map(({ crowd, fullSpeed, minuteRun }) =>
      minuteRun(
        Math.min(floorPerSecond * crowd.atLeast * PACE_OF_TARGET, perSecondOf(fullSpeed.name) * PACE_OF_MAXIMUM),
        floorPerSecond,
      ),
    );
    const minuteSeries = await measureInRounds(minutes, 1, say);
    const claims = delivering.flatMap((one): PerformanceClaim[] => {
      const { name } = one.fullSpeed;
      return [
        asFastClaim(one),
        { description: `${name} for a minute`, of: seriesName(name, OF_FLOOR), atLeast: one.crowd.atLeast },
        { description: `${name}, s of backlog`, of: seriesName(name, BACKLOG), atMost: MAX_BACKLOG_S },
      ];
    });
    return { series: [...series, ...minuteSeries], claims };
  },
};
