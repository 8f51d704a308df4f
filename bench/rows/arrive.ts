import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { withCleanup } from '../../test/kit/cleanup.ts';
import { createAccounts } from '../accounts.ts';
import type { Bench, PerformanceClaim } from '../bench.ts';
import { type BenchEnvironment, type DatabaseKind, databaseKinds } from '../environment.ts';
import { untilIdle } from '../load/delivery-load.ts';
import {
  createEventRequest,
  RESPONSE_TIMEOUT_MS,
  sendAtRate,
  sendOnce,
  serializeRequest,
  subscribeRequest,
} from '../load/load-generator.ts';
import { nameOf as peerNameOf, startTelling } from '../peers.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';
import { quantile } from '../statistics.ts';

/** Events created per second, with the limits in milliseconds; a rate without limits is only recorded. */
const rates = [
  { perSecond: 50, p95: 5, p99: 15 },
  { perSecond: 200, p95: 5, p99: 15 },
  { perSecond: 500, p95: undefined, p99: undefined },
  { perSecond: 1_000, p95: 20, p99: 30 },
  { perSecond: 1_500, p95: undefined, p99: undefined },
] as const;

/**
 * The job queue that Carillon is compared with. Its jobs are added directly to its database, without an HTTP
 * request or authentication.
 */
const PEER = 'graphile-worker';
const PEER_RATES = [50, 200, 1_000] as const;

const quantiles = [0.5, 0.95, 0.99] as const;

const nameOf = (perSecond: number, database: DatabaseKind) => `${perSecond.toLocaleString('en')}/s on ${database}`;

const peerSeriesName = (perSecond: number) => `${peerNameOf(PEER)}, ${perSecond.toLocaleString('en')}/s`;

/** Waits until `count` records have arrived at a path. Returns the arrival time of each record. */
export async function waitForArrivals(receiver: Receiver, path: string, count: number): Promise<Map<string, number>> {
  const arrivedAtByRecord = new Map<string, number>();
  for (const deadline = performance.now() + RESPONSE_TIMEOUT_MS; arrivedAtByRecord.size < count; await wait(10)) {
    const { arrivals } = await receiver.report();
    for (const [at, record, when] of arrivals)
      if (at === path && !arrivedAtByRecord.has(record)) arrivedAtByRecord.set(record, when);
    if (performance.now() > deadline) throw new Error(`of ${count}, ${arrivedAtByRecord.size} arrived at ${path}`);
  }
  return arrivedAtByRecord;
}

/** Measures the time from a request to the arrival of its notification, at each rate, with one hook. */
async function createOurContenders(
  stage: BenchEnvironment,
  receiver: Receiver,
  database: DatabaseKind,
  roundMs: number,
): Promise<Contender[]> {
  const where = await stage.newDatabase(database);
  const [account] = await createAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  const { baseUrl } = await stage.startService(where);
  const path = `/ok/${database}`;
  await sendOnce(baseUrl, subscribeRequest(account, receiver.url + path));
  const call = serializeRequest(baseUrl, createEventRequest(account));
  return rates.map(({ perSecond }) => ({
    name: nameOf(perSecond, database),
    async measure() {
      await receiver.report();
      const requests = await sendAtRate(baseUrl, () => call, { perSecond, forMs: roundMs });
      const arrivedAtByRecord = await waitForArrivals(
        receiver,
        path,
        requests.filter(({ body }) => body !== undefined).length,
      );
      const arrivedAt = (body: string) => arrivedAtByRecord.get(JSON.parse(body).data.event_id) ?? Number.NaN;
      const latencies = requests.map(({ dueAt, answeredAt, body }) => (body ? arrivedAt(body) : answeredAt) - dueAt);
      const delays = requests.map(({ dueAt, sentAt }) => sentAt - dueAt);
      return {
        'ms at p50': quantile(latencies, 0.5),
        'ms at p95': quantile(latencies, 0.95),
        'ms at p99': quantile(latencies, 0.99),
        'ms at p95 until the 201': quantile(
          requests.map(({ dueAt, answeredAt }) => answeredAt - dueAt),
          0.95,
        ),
        'ms at p99 of generator delay': quantile(delays, 0.99),
        '% rejected': (100 * requests.filter(({ body }) => body === undefined).length) / requests.length,
      };
    },
  }));
}

/** Measures the time from adding a job to the arrival of its request. The job queue runs in a process of its own. */
async function createPeerContender(
  stage: BenchEnvironment,
  receiver: Receiver,
  perSecond: (typeof PEER_RATES)[number],
  roundMs: number,
): Promise<Contender> {
  const address = await stage.newDatabase('PostgreSQL');
  const path = `/ok/${PEER}/${perSecond}`;
  return {
    name: peerSeriesName(perSecond),
    side: 'peer',
    measure: () =>
      withCleanup(async (context) => {
        const { process } = await startTelling(context, PEER, { address, target: receiver.url + path, mostBehind: 0 });
        const add = async () => {
          const answered = once(process, 'message');
          process.send({ perSecond, forMs: roundMs });
          const [{ due }] = (await answered) as [{ due: readonly (readonly [number: string, dueAt: number])[] }];
          const arrivedAtByRecord = await waitForArrivals(receiver, path, due.length);
          return due.map(([number, dueAt]) => (arrivedAtByRecord.get(number) ?? Number.NaN) - dueAt);
        };
        // The warm-up is as long as Carillon's. A process that was idle between rounds is many times slower at first.
        await add();
        await untilIdle(receiver);
        const latencies = await add();
        return Object.fromEntries(quantiles.map((share) => [`ms at p${share * 100}`, quantile(latencies, share)]));
      }),
  };
}

export const arrive: Bench = {
  id: 'P6',
  name: 'arrive',
  title: 'time from request to receiver',
  target: '50/s and 200/s: p95 ≤ 5 ms, p99 ≤ 15 ms; 1,000/s: p95 ≤ 20 ms, p99 ≤ 30 ms; p95 ≤ graphile-worker',
  heldBack: 'PostgreSQL needs two round trips before the commit.',
  async measure({ stage, rounds, roundMs, say }) {
    const receiver = await stage.startReceiver();
    const contenders: Contender[] = [];
    for (const database of databaseKinds)
      contenders.push(...(await createOurContenders(stage, receiver, database, roundMs)));
    for (const perSecond of PEER_RATES) contenders.push(await createPeerContender(stage, receiver, perSecond, roundMs));
    // Warm-up round: code is compiled and connections are opened.
    await measureInRounds(contenders, 1, () => undefined);
    const claims = databaseKinds.flatMap((database) =>
      rates.flatMap(({ perSecond, p95, p99 }): PerformanceClaim[] => {
        const name = nameOf(perSecond, database);
        return [
          ...(p95 === undefined
            ? []
            : [{ description: `${name}, p95`, of: seriesName(name, 'ms at p95'), atMost: p95 }]),
          ...(p99 === undefined
            ? []
            : [{ description: `${name}, p99`, of: seriesName(name, 'ms at p99'), atMost: p99 }]),
        ];
      }),
    );
    for (const perSecond of PEER_RATES) {
      const own = nameOf(perSecond, 'PostgreSQL');
      claims.push({
        description: `${own}, p95, compared with ${peerNameOf(PEER)}`,
        of: seriesName(own, 'ms at p95'),
        to: seriesName(peerSeriesName(perSecond), 'ms at p95'),
        atMost: 1,
      });
    }
    return { series: await measureInRounds(contenders, rounds, say), claims };
  },
};
