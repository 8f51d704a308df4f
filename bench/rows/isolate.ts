import { setTimeout as wait } from 'node:timers/promises';
import { makeAccounts } from '../accounts.ts';
import type { Bench, Claim, Run } from '../bench.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, wired } from '../load/connection.ts';
import { type Asked, atRate, LONGEST_ANSWER_MS } from '../load/open-loop.ts';
import { quantile } from '../measured.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases } from '../stage.ts';

const ACCOUNTS = 20;
const HOOKS_EACH = 50;

/**
 * More targets that hang than a service has attempts in flight, all at once, each account's at a host of their own; and the
 * healthy ones beside them, as many with them as without. They are measured past the deadline of an attempt.
 */
const CROWD = { accounts: 5, hooksEach: 500, healthy: 5, healthyEach: 20, forMs: 20_000 } as const;

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
  const waits = await waitsOf(asked, (events) => arrivalsAt(receiver, `/ok/${slug}/`, (events * healthy) / ACCOUNTS));
  await service.stop('SIGKILL');
  return inShares(waits);
}

/** What arrives at the paths that begin so: each record, and when. */
async function arrivalsAt(receiver: Receiver, prefix: string, wanted: number) {
  const arrived: (readonly [record: string, at: number])[] = [];
  for (const giveUpAt = performance.now() + LONGEST_ANSWER_MS; arrived.length < wanted; await wait(20)) {
    const { arrivals } = await receiver.report();
    for (const [path, record, at] of arrivals) if (path.startsWith(prefix)) arrived.push([record, at]);
    if (performance.now() > giveUpAt) throw new Error(`of ${wanted}, ${arrived.length} arrived at ${prefix}`);
  }
  return arrived;
}

/** How long each of them was on its way, from when its request was due. */
async function waitsOf(asked: readonly Asked[], arrive: (events: number) => ReturnType<typeof arrivalsAt>) {
  const idOf = (body: string | undefined) => {
    if (body === undefined) throw new Error('refused at this rate, nothing can be said of those who wait');
    return String(JSON.parse(body).data.event_id);
  };
  const dueAt = new Map(asked.map((one) => [idOf(one.body), one.dueAt]));
  return (await arrive(asked.length)).map(([record, at]) => at - (dueAt.get(record) ?? Number.NaN));
}

function inShares(waits: readonly number[]) {
  return { 'ms at p50': quantile(waits, 0.5), 'ms at p95': quantile(waits, 0.95), 'ms at p99': quantile(waits, 0.99) };
}

const crowdOn = (database: Database, hanging: number) =>
  `beside ${hanging.toLocaleString('en')} that hang, on ${database}`;

/** From the request until the notification is at a healthy receiver that has answered before, while a crowd of others hangs. */
async function besideACrowd(
  run: Run,
  receiver: Receiver,
  hosts: readonly Receiver[],
  { database, turn }: { readonly database: Database; readonly turn: number },
) {
  const where = await run.stage.newDatabase(database);
  const accounts = await makeAccounts(where, CROWD.healthy + hosts.length);
  const service = await run.stage.service(where);
  const slug = `${database}/crowd-${turn}`;
  for (const [place, account] of accounts.entries()) {
    const hangs = hosts[place - CROWD.healthy];
    const target = hangs === undefined ? `${receiver.url}/ok` : `${hangs.url}/hang`;
    const hooks = hangs === undefined ? CROWD.healthyEach : CROWD.hooksEach;
    for (let hook = 0; hook < hooks; hook += 1)
      await ask(service.baseUrl, subscribe(account, `${target}/${slug}/${place}/${hook}`));
  }
  const healthy = accounts.slice(0, CROWD.healthy);
  const calls = healthy.map((account) => wired(service.baseUrl, createEvent(account)));
  const [first] = calls;
  if (first === undefined) throw new Error('there are accounts');
  const told = (wanted: number) => arrivalsAt(receiver, `/ok/${slug}/`, wanted);
  await receiver.report();
  for (const account of healthy) await ask(service.baseUrl, createEvent(account));
  await told(CROWD.healthy * CROWD.healthyEach);
  for (const account of accounts.slice(CROWD.healthy)) await ask(service.baseUrl, createEvent(account));
  const waits = await waitsOf(
    await atRate(service.baseUrl, (event) => calls[event % CROWD.healthy] ?? first, {
      perSecond: EVENTS_A_SECOND,
      forMs: CROWD.forMs,
    }),
    (events) => told(events * CROWD.healthyEach),
  );
  await service.stop('SIGKILL');
  return inShares(waits);
}

export const isolate: Bench = {
  id: 'P7',
  name: 'isolate',
  title: 'how long healthy targets wait while others hang, drip a byte a second, or refuse',
  target:
    'at most 1.5 times as long at p95, with 10, 50 and 90 % of all targets hanging, and beside more that hang than there are attempts in flight',
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
    const crowd = CROWD.accounts * CROWD.hooksEach;
    const hosts: Receiver[] = [];
    while (hosts.length < CROWD.accounts) hosts.push(await run.stage.receiver());
    for (const database of databases) {
      for (const hanging of [0, crowd]) {
        contenders.push({
          name: crowdOn(database, hanging),
          measure() {
            turn += 1;
            return besideACrowd(run, receiver, hanging > 0 ? hosts : [], { database, turn });
          },
        });
      }
    }
    const p95 = (name: string) => seriesOf(name, 'ms at p95');
    const claims = databases.flatMap((database): Claim[] => [
      ...all.slice(1).map((badness) => ({
        says: nameOf(badness, database),
        of: p95(nameOf(badness, database)),
        to: p95(nameOf({ share: 0, manner: 'hang' }, database)),
        atMost: 1.5,
      })),
      {
        says: crowdOn(database, crowd),
        of: p95(crowdOn(database, crowd)),
        to: p95(crowdOn(database, 0)),
        atMost: 1.5,
      },
    ]);
    return { series: await inRounds(contenders, run.rounds, run.say), claims };
  },
};
