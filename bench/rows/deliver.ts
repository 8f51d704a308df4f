import { once } from 'node:events';
import { type Account, makeAccounts } from '../accounts.ts';
import type { Bench, Claim } from '../bench.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, Connection, wired } from '../load/connection.ts';
import { asFastAsTold, atPace, type Committing, toldPerSecond } from '../load/telling.ts';
import { median } from '../measured.ts';
import { processorSeconds } from '../processor.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';

/** As many posts at once as F3 has connections. */
const POSTING_CONNECTIONS = 64;

/**
 * Hooks that are all told of each event, and who commits them: as many as have a connection in any other closed loop, and
 * fewer of those who make a thousand owed each time, so that what is owed does not outgrow what is told.
 */
const crowds = [
  { hooks: 1, writers: 64 },
  { hooks: 1_000, writers: 8 },
] as const;

type Crowd = (typeof crowds)[number];

/** What has to be told of what the floor posts; a minute long, a little more than that is committed. */
const LEAST = 0.35;
const A_LITTLE_MORE = 1.02;
const MINUTE_MS = 60_000;

/** Where that is more than can be told at all: so much of what can be. */
const OF_ITS_BEST = 0.9;

/** What is owed after a minute, in seconds of what is told: were it only 2 % more that is committed than told, it would be more. */
const MOST_BEHIND_S = 1;

const FLOOR = 'F3';
const OF_FLOOR = 'of F3 for a minute';
const BEHIND = 's of what is told that are owed after a minute';

const nameOf = (hooks: number, database: Database) =>
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
  { hooks, writers }: Crowd,
  roundMs: number,
): Promise<Telling> {
  const where = await stage.newDatabase(database);
  const [account] = await makeAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  const { baseUrl, process } = await stage.service(where);
  await subscribeAll(baseUrl, account, hooks, (turn) => `${receiver.url}/count/${database}/${hooks}/${turn}`);
  const call = wired(baseUrl, createEvent(account));
  const tell = async (forMs: number, committing: (write: (writer: number) => Promise<number>) => Committing) => {
    const connections = await Promise.all(Array.from({ length: writers }, () => Connection.open(baseUrl)));
    const write = async (writer: number) => {
      await connections[writer]?.ask(call);
      return hooks;
    };
    const counted = await toldPerSecond(receiver, forMs, committing(write));
    for (const connection of connections) connection.close();
    return counted;
  };
  const name = nameOf(hooks, database);
  return {
    asFast: {
      name,
      async measure() {
        const before = processorSeconds(process.pid);
        const { perSecond, told } = await tell(roundMs, (write) => asFastAsTold(write, writers));
        const seconds = processorSeconds(process.pid) - before;
        return { '/s': perSecond, 'µs of processor each': (seconds * 1e6) / told };
      },
    },
    forAMinute: (perSecond, floorPerSecond) => ({
      name,
      async measure() {
        const counted = await tell(MINUTE_MS, (write) => atPace(write, { perSecond, each: hooks, writers }));
        return {
          [OF_FLOOR]: counted.perSecond / floorPerSecond,
          [BEHIND]: counted.behind / counted.perSecond,
        };
      },
    }),
  };
}

async function subscribeAll(baseUrl: string, account: Account, hooks: number, target: (turn: number) => string) {
  for (let turn = 1; turn <= hooks; turn += 1) await ask(baseUrl, subscribe(account, target(turn)));
}

export const deliver: Bench = {
  id: 'P5',
  name: 'deliver',
  title: 'told each second, from the commit to the 200 of the receiver, one hook and 1,000 hooks',
  target:
    'at least 0.35 of F3: undici posting the same body to the same receiver over kept connections; committed at that pace for a minute, or nearly at its own where that is less, what is owed does not grow',
  heldBack:
    'F3 posts and does nothing else; 0.35 of it leaves not quite two posts for everything else that a notification takes. With one hook every notification has an event of its own, which is created over HTTP and committed before: by a profile of source 070b119, as fast as it goes on SQLite, 20 % of the service is statements, 19 the commits, 7 handing posts to sockets, 4 collecting garbage, and what else there is lies at 3 or below each; P1 says what holds back the creation. On PostgreSQL a notification of 1,000 hooks takes 84 to 98 µs of the service, which at 8,000 to 10,000 a second leaves one of two processors to the database, the receiver and the callers; by a profile of source 0497914 a third of it is handing posts and queries to sockets and what undici does, 8 % collecting garbage. Next, with what each should bring: the fixed part of a log line made once for its hook (× 1.02), what is owed to many hooks read by one statement (× 1.01); together they would not reach 0.35. One hook on PostgreSQL, asked for 0.9 of its best for the minute, was told 0.82 of that, and 9 s of it were owed at the end; in runs of twelve seconds it was told all (decision 133), and no profile of the minute says what is different. Who is asked for more than can be told falls behind, and is then told more slowly on SQLite: asked for 1.3 of its best for half a minute, 1,000 hooks were told 0.44 to 0.49 of it, and the 350,000 to 440,000 owed by then in some 40 s. By the bytes that the process writes, it is the disk: 3.6 KiB for each at its best, and 24 with 350,000 owed, since what is written down together does not lie together any more; commits go from 8 to 17 and 19 % of the service, statements from 19 to 26. One index less of what is owed writes 5 % less, and is told no faster. Next: lanes that begin in the order of their hooks, so that one batch touches neighbours; a quarter of the pages by reckoning, which should bring back half of what is lost. On PostgreSQL, asked for 1.3, 0.91 was told. A thread of its own for the attempts brought × 1.12 to 1,000 hooks on SQLite and took from one hook (decision 117).',
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
    const names = databases.flatMap((database) => chosen.map(({ hooks }) => nameOf(hooks, database)));
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
      { says: `${name}, s owed after it`, of: seriesOf(name, BEHIND), atMost: MOST_BEHIND_S },
    ]);
    return { series: [...series, ...kept], claims };
  },
};
