import { setTimeout as wait } from 'node:timers/promises';
import { makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Run } from '../bench.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, wired } from '../load/connection.ts';
import { atRate } from '../load/open-loop.ts';
import { quantile } from '../measured.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases } from '../stage.ts';

const ACCOUNTS = 20;
const HOOKS_EACH = 50;

/** Each event is owed to all hooks of its account. */
const EVENTS_A_SECOND = 10;

/** So many of a hundred targets are no good, and this is what they do. */
const shares = [10, 50, 90] as const;
const manners = ['hang', 'drip', 'refuse'] as const;

type Badness = { readonly share: number; readonly manner: (typeof manners)[number] };

const all: readonly Badness[] = [
  { share: 0, manner: 'hang' },
  ...manners.flatMap((manner) => shares.map((share) => ({ share, manner }))),
];

const nameOf = ({ share, manner }: Badness, database: Database) =>
  `${share === 0 ? 'all healthy' : `${share} % ${manner}`} on ${database}`;

/**
 * From the request until the notification is at a healthy receiver, in a service of its own each time: what is no good is
 * no good from the first event on, and for as long as is measured.
 */
async function healthyWaits(
  run: Run,
  receiver: Receiver,
  database: Database,
  { share, manner }: Badness,
  turn: number,
) {
  const where = await run.stage.newDatabase(database);
  const accounts = await makeAccounts(where, ACCOUNTS);
  const service = await run.stage.service(where);
  const slug = `${database}/${turn}`;
  const isHealthy = (hook: number) => hook % 100 >= share;
  let healthy = 0;
  for (let hook = 0; hook < ACCOUNTS * HOOKS_EACH; hook += 1) {
    // So that of every account as many are no good.
    const place = Math.floor(hook / ACCOUNTS) * (100 / HOOKS_EACH);
    const account = accounts[hook % ACCOUNTS];
    if (account === undefined) throw new Error('there are accounts');
    const bad = manner === 'refuse' ? 'http://127.0.0.1:9' : `${receiver.url}/${manner}`;
    const target = isHealthy(place) ? `${receiver.url}/ok` : bad;
    if (isHealthy(place)) healthy += 1;
    await ask(service.baseUrl, subscribe(account, `${target}/${slug}/${hook}`));
  }
  const calls = accounts.map((account) => wired(service.baseUrl, createEvent(account)));
  const [first] = calls;
  if (first === undefined) throw new Error('there are accounts');
  await receiver.report();
  const asked = await atRate(service.baseUrl, (event) => calls[event % ACCOUNTS] ?? first, {
    perSecond: EVENTS_A_SECOND,
    forMs: run.roundMs,
  });
  const idOf = (body: string | undefined) => {
    if (body === undefined) throw new Error('refused at this rate, nothing can be said of those who wait');
    return String(JSON.parse(body).data.event_id);
  };
  const dueAt = new Map(asked.map((one) => [idOf(one.body), one.dueAt]));
  const waits: number[] = [];
  for (const wanted = (asked.length * healthy) / ACCOUNTS; waits.length < wanted; await wait(20)) {
    const { arrivals } = await receiver.report();
    for (const [path, record, at] of arrivals) {
      const since = dueAt.get(record);
      if (since !== undefined && path.startsWith(`/ok/${slug}/`)) waits.push(at - since);
    }
  }
  await service.stop('SIGKILL');
  return { 'ms at p50': quantile(waits, 0.5), 'ms at p95': quantile(waits, 0.95), 'ms at p99': quantile(waits, 0.99) };
}

export const isolate: Bench = {
  id: 'P7',
  name: 'isolate',
  title: 'how long healthy targets wait while others hang, drip a byte a second, or refuse',
  target: 'at most 1.5 times as long at p95, with 10, 50 and 90 % of all targets hanging',
  async measure(run) {
    const receiver = await run.stage.receiver();
    let turn = 0;
    const contenders = databases.flatMap((database) =>
      all.map(
        (badness): Contender => ({
          name: nameOf(badness, database),
          measure() {
            turn += 1;
            return healthyWaits(run, receiver, database, badness, turn);
          },
        }),
      ),
    );
    const claims = databases.flatMap((database) =>
      all.slice(1).map(
        (badness): Claim => ({
          says: nameOf(badness, database),
          of: seriesOf(nameOf(badness, database), 'ms at p95'),
          to: seriesOf(nameOf({ share: 0, manner: 'hang' }, database), 'ms at p95'),
          atMost: 1.5,
        }),
      ),
    );
    return { series: await inRounds(contenders, run.rounds, run.say), claims };
  },
};
