import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { within } from '../../test/harness/cleanup.ts';
import { openAt } from '../../test/harness/database.ts';
import { freePort } from '../../test/harness/port.ts';
import { type Account, makeAccounts } from '../accounts.ts';
import type { Bench, Claim } from '../bench.ts';
import { collectGarbage, inspectedAt } from '../inspected.ts';
import { createEvent, fetchEvent, subscribe } from '../load/calls.ts';
import { ask, wired } from '../load/connection.ts';
import { atRate } from '../load/open-loop.ts';
import { quantile } from '../measured.ts';
import { memoryMib } from '../processor.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';

/**
 * How much is pending, and to how many hooks, each of whose targets answers just before it is given up: attempts go on all the
 * time, and hardly any of it is told.
 */
const OWED = 1_000_000;
const HOOKS = 1_000;
const ANSWERED_AFTER_MS = 14_000;
const PER_SECOND = 100;

/** One statement with all of it may take longer than a database is waited for. */
const PIECES = 10;

/**
 * Memory rises until the heap is collected as a whole, which is every minute or every ten, and falls by half: what stays is
 * what it weighs right after a collection. It is looked at once, when the service is warm and so much later.
 */
const WARM_MS = 60_000;
const LATER_MS = 300_000;
const LOOK_MS = 500;

const STAYS = 'MiB that stay when the garbage is collected';
const GROWN = 'MiB more of it five minutes later';
const MOST = 'MiB at most, all the time';

const nameOf = (pending: number, database: Database) => `${pending.toLocaleString('en')} pending, on ${database}`;

/** What a busy service is pending for others, put there a piece at a time: as commits would have. */
function owe(database: string): Promise<void> {
  return within(async (context) => {
    const store = await openAt(context, database);
    const ofEach = OWED / HOOKS;
    for (let first = 1; first <= ofEach; first += ofEach / PIECES) {
      const last = first + ofEach / PIECES - 1;
      const numbers =
        store.sessions === undefined
          ? sql`with recursive numbers (n) as (select ${first} union all select n + 1 from numbers where n < ${last}) select n from numbers`
          : sql`select n from generate_series(${first}::int, ${last}::int) as n`;
      await store.write(async ({ queries }) => {
        await sql`insert into pending_deliveries (account_id, user_id, hook_id, position, kind, record_id, created_at)
          select hooks.account_id, hooks.user_id, hooks.hook_id, 1000000 + n, 'new_client', n, 0
          from hooks, (${numbers}) as numbered where hooks.kind = 'new_client'`.execute(queries);
      });
    }
  });
}

async function hooksOf(baseUrl: string, account: Account, receiver: Receiver, database: Database): Promise<void> {
  for (let hook = 0; hook < HOOKS; hook += 1) {
    const call = subscribe(account, `${receiver.url}/slow/${ANSWERED_AFTER_MS}/${database}/${hook}`);
    await ask(baseUrl, { ...call, body: String(call.body).replace('new_event', 'new_client') });
  }
}

/** How a service answers, and what it weighs while it goes on answering. */
type Pending = { readonly inRounds: Contender; readonly weigh: () => Promise<Contender> };

/** A service, quiet or with very much to tell: how it answers, what it weighs, and how soon it tells after a start. */
async function ours(
  stage: Stage,
  receiver: Receiver,
  database: Database,
  pending: number,
  roundMs: number,
): Promise<Pending> {
  const where = await stage.newDatabase(database);
  const [account, other] = await makeAccounts(where, 2);
  if (account === undefined || other === undefined) throw new Error('there are accounts');
  const first = await stage.service(where);
  await ask(first.baseUrl, subscribe(other, `${receiver.url}/ok/${database}/${pending}`));
  const { event_id: id } = JSON.parse(await ask(first.baseUrl, createEvent(account))).data;
  if (pending > 0) await hooksOf(first.baseUrl, account, receiver, database);
  await first.stop('SIGTERM');
  if (pending > 0) await owe(where);
  const asking = (baseUrl: string, forMs: number) => {
    const [write, read] = [wired(baseUrl, createEvent(other)), wired(baseUrl, fetchEvent(account, id))];
    return atRate(baseUrl, (turn) => (turn % 2 === 0 ? write : read), { perSecond: PER_SECOND, forMs });
  };
  const name = nameOf(pending, database);
  return {
    inRounds: {
      name,
      async measure() {
        const begun = performance.now();
        const service = await stage.service(where);
        await receiver.report();
        // Of another account, and so of another hook: it is told beside all that.
        await ask(service.baseUrl, createEvent(other));
        for (;;) {
          const { counts } = await receiver.report();
          if (counts[`/ok/${database}/${pending}`]) break;
          await wait(5);
        }
        const toldMs = performance.now() - begun;
        await wait(2_000);
        const asked = await asking(service.baseUrl, 2 * roundMs);
        const all = memoryMib(service.process.pid);
        await service.stop('SIGKILL');
        const times = asked.map(({ dueAt, answeredAt }) => answeredAt - dueAt);
        return {
          'ms at p50': quantile(times, 0.5),
          'ms at p99': quantile(times, 0.99),
          'ms from the start to the first one told': toldMs,
          'MiB in all': all,
        };
      },
    },
    async weigh() {
      const port = await freePort();
      const { baseUrl, process, stop } = await stage.service(where, inspectedAt(port));
      const asked = asking(baseUrl, WARM_MS + LATER_MS);
      let most = 0;
      const looking = setInterval(() => {
        most = Math.max(most, memoryMib(process.pid));
      }, LOOK_MS);
      const whatStays = async () => {
        await collectGarbage(port);
        return memoryMib(process.pid);
      };
      await wait(WARM_MS);
      const stays = await whatStays();
      await wait(LATER_MS);
      const later = await whatStays();
      clearInterval(looking);
      await asked;
      await stop('SIGKILL');
      const figures = { [STAYS]: stays, [GROWN]: later - stays, [MOST]: most };
      return { name, measure: async () => figures };
    },
  };
}

export const pending: Bench = {
  id: 'P9',
  name: 'pending',
  title:
    'calls, memory and a start while a million notifications are pending for a thousand hooks that answer after fourteen seconds each',
  target:
    'calls at p99 at most twice as long as with nothing pending; memory flat; the first one told, a new event of another account, within 3 s of a start after a kill: on PostgreSQL what the killed process held is free once its beat has stood still for 1.1 s',
  aRound: '10 s, and memory once for 360 s,',
  async measure({ stage, rounds, roundMs, say }) {
    const receiver = await stage.receiver();
    const all: Pending[] = [];
    for (const database of databases) {
      for (const pending of [0, OWED]) all.push(await ours(stage, receiver, database, pending, roundMs));
    }
    const claims = databases.flatMap((database): Claim[] => {
      const full = nameOf(OWED, database);
      return [
        {
          says: `calls on ${database}, p99`,
          of: seriesOf(full, 'ms at p99'),
          to: seriesOf(nameOf(0, database), 'ms at p99'),
          atMost: 2,
        },
        {
          says: `told after a start on ${database}, ms`,
          of: seriesOf(full, 'ms from the start to the first one told'),
          atMost: 3_000,
        },
        {
          says: `grown in five minutes on ${database}, garbage collected, MiB`,
          of: seriesOf(full, GROWN),
          atMost: 16,
        },
      ];
    });
    const answering = all.map((one) => one.inRounds);
    const series = await inRounds(answering, rounds, say);
    // At the same time: what they weigh is no matter of how fast they are.
    const weighing = await Promise.all(all.map(({ weigh }) => weigh()));
    return { series: [...series, ...(await inRounds(weighing, 1, say))], claims };
  },
};
