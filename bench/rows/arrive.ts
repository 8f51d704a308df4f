import { setTimeout as wait } from 'node:timers/promises';
import { makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Curve } from '../bench.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, wired } from '../load/connection.ts';
import { atRate, LONGEST_ANSWER_MS } from '../load/open-loop.ts';
import { quantile } from '../measured.ts';
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

const nameOf = (perSecond: number, database: Database) => `${perSecond.toLocaleString('en')}/s on ${database}`;

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

export const arrive: Bench = {
  id: 'P6',
  name: 'arrive',
  title: 'from the request until its notification is at the receiver, asked at a fixed rate',
  target: 'at 50/s and 200/s at most 5 ms at p95 and 15 ms at p99; at 1,000/s at most 20 ms at p95',
  async measure({ stage, rounds, roundMs, say }) {
    const receiver = await stage.receiver();
    const contenders: Contender[] = [];
    for (const database of databases) contenders.push(...(await ours(stage, receiver, database, roundMs)));
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
