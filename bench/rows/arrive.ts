import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { within } from '../../test/harness/cleanup.ts';
import { makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Curve } from '../bench.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, wired } from '../load/connection.ts';
import { atRate, LONGEST_ANSWER_MS } from '../load/open-loop.ts';
import { untilSilent } from '../load/telling.ts';
import { quantile } from '../measured.ts';
import { nameOf as peerNameOf, startTelling } from '../peers.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';

/** How often something is created, and what must show then, milliseconds; what must not, is there to be seen. */
const rates = [
  { perSecond: 50, p95: 5, p99: 15 },
  { perSecond: 200, p95: 5, p99: 15 },
  { perSecond: 500, p95: undefined, p99: undefined },
  { perSecond: 1_000, p95: 20, p99: undefined },
  { perSecond: 1_500, p95: undefined, p99: undefined },
] as const;

/** A queue of others, to whose database a job is added at these rates; no request is sent and nobody is asked for a key. */
const PEER = 'graphile-worker';
const PEER_RATES = [50, 200, 1_000] as const;

const shares = [0.5, 0.95, 0.99] as const;

const nameOf = (perSecond: number, database: Database) => `${perSecond.toLocaleString('en')}/s on ${database}`;

const peerAt = (perSecond: number) => `${peerNameOf(PEER)}, ${perSecond.toLocaleString('en')}/s`;

/** When each record was heard of at a path; waits until so many were. */
export async function arrivalsOf(receiver: Receiver, path: string, count: number): Promise<Map<string, number>> {
  const heard = new Map<string, number>();
  for (const giveUpAt = performance.now() + LONGEST_ANSWER_MS; heard.size < count; await wait(10)) {
    const { arrivals } = await receiver.report();
    for (const [at, record, when] of arrivals) if (at === path && !heard.has(record)) heard.set(record, when);
    if (performance.now() > giveUpAt) throw new Error(`of ${count}, ${heard.size} arrived at ${path}`);
  }
  return heard;
}

/** From the request until the notification is at the receiver, at some rates, by one service with one hook. */
async function ours(stage: Stage, receiver: Receiver, database: Database, roundMs: number): Promise<Contender[]> {
  const where = await stage.newDatabase(database);
  const [account] = await makeAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  const { baseUrl } = await stage.service(where);
  const path = `/ok/${database}`;
  await ask(baseUrl, subscribe(account, receiver.url + path));
  const call = wired(baseUrl, createEvent(account));
  return rates.map(({ perSecond }) => ({
    name: nameOf(perSecond, database),
    async measure() {
      await receiver.report();
      const asked = await atRate(baseUrl, () => call, { perSecond, forMs: roundMs });
      const heard = await arrivalsOf(receiver, path, asked.filter(({ body }) => body !== undefined).length);
      const arrivedAt = (body: string) => heard.get(JSON.parse(body).data.event_id) ?? Number.NaN;
      const waited = asked.map(({ dueAt, answeredAt, body }) => (body ? arrivedAt(body) : answeredAt) - dueAt);
      const late = asked.map(({ dueAt, sentAt }) => sentAt - dueAt);
      return {
        'ms at p50': quantile(waited, 0.5),
        'ms at p95': quantile(waited, 0.95),
        'ms at p99': quantile(waited, 0.99),
        'ms at p95 until the 201': quantile(
          asked.map(({ dueAt, answeredAt }) => answeredAt - dueAt),
          0.95,
        ),
        'ms at p99 that the asking was late': quantile(late, 0.99),
        '% refused': (100 * asked.filter(({ body }) => body === undefined).length) / asked.length,
      };
    },
  }));
}

/** From the addition of a job until its post is at the receiver, by one process that does nothing else. */
async function others(
  stage: Stage,
  receiver: Receiver,
  perSecond: (typeof PEER_RATES)[number],
  roundMs: number,
): Promise<Contender> {
  const address = await stage.newDatabase('PostgreSQL');
  const path = `/ok/${PEER}/${perSecond}`;
  return {
    name: peerAt(perSecond),
    side: 'peer',
    measure: () =>
      within(async (context) => {
        const { process } = await startTelling(context, PEER, { address, target: receiver.url + path, mostBehind: 0 });
        const add = async () => {
          const answered = once(process, 'message');
          process.send({ perSecond, forMs: roundMs });
          const [{ due }] = (await answered) as [{ due: readonly (readonly [number: string, dueAt: number])[] }];
          const heard = await arrivalsOf(receiver, path, due.length);
          return due.map(([number, dueAt]) => (heard.get(number) ?? Number.NaN) - dueAt);
        };
        // As long as ours goes on uncounted; one that stands idle between its rounds is many times slower in them.
        await add();
        await untilSilent(receiver);
        const waited = await add();
        return Object.fromEntries(shares.map((share) => [`ms at p${share * 100}`, quantile(waited, share)]));
      }),
  };
}

export const arrive: Bench = {
  id: 'P6',
  name: 'arrive',
  title: 'from when a request was due until its notification is at the receiver, asked at a fixed rate',
  target:
    'at 50/s and 200/s at most 5 ms at p95 and 15 ms at p99; at 1,000/s at most 20 ms at p95; on PostgreSQL no more than graphile-worker needs from the addition of a job to its post',
  heldBack:
    'a notification on PostgreSQL needs two round trips before the commit and one request after it. graphile-worker is not asked over HTTP, checks no key and commits one row.',
  async measure({ stage, rounds, roundMs, say }) {
    const receiver = await stage.receiver();
    const contenders: Contender[] = [];
    for (const database of databases) contenders.push(...(await ours(stage, receiver, database, roundMs)));
    for (const perSecond of PEER_RATES) contenders.push(await others(stage, receiver, perSecond, roundMs));
    // Once without being counted: code is compiled, connections are opened.
    await inRounds(contenders, 1, () => undefined);
    const claims = databases.flatMap((database) =>
      rates.flatMap(({ perSecond, p95, p99 }): Claim[] => {
        const name = nameOf(perSecond, database);
        return [
          ...(p95 === undefined ? [] : [{ says: `${name}, p95`, of: seriesOf(name, 'ms at p95'), atMost: p95 }]),
          ...(p99 === undefined ? [] : [{ says: `${name}, p99`, of: seriesOf(name, 'ms at p99'), atMost: p99 }]),
        ];
      }),
    );
    for (const perSecond of PEER_RATES) {
      const own = nameOf(perSecond, 'PostgreSQL');
      claims.push({
        says: `${own}, p95, beside ${peerNameOf(PEER)}`,
        of: seriesOf(own, 'ms at p95'),
        to: seriesOf(peerAt(perSecond), 'ms at p95'),
        atMost: 1,
      });
    }
    const curves = databases.map(
      (database): Curve => ({
        title: `P6, latency against load, on ${database}`,
        along: 'created each second',
        unit: 'ms',
        lines: ['p50', 'p95', 'p99'].map((share) => ({
          name: share,
          points: rates.map(
            ({ perSecond }) => [perSecond, seriesOf(nameOf(perSecond, database), `ms at ${share}`)] as const,
          ),
        })),
      }),
    );
    return { series: await inRounds(contenders, rounds, say), claims, curves };
  },
};
