import { makeAccounts } from '../accounts.ts';
import type { Bench } from '../bench.ts';
import { busy } from '../load/busy.ts';
import { createEvent, fetchBare, fetchEvent } from '../load/calls.ts';
import { ask } from '../load/connection.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { databases } from '../stage.ts';

/** How many different events are asked for. */
const EVENTS = 200;

const FLOOR = 'F1 answers a GET';
const ours = (database: string) => `GET /v2/events/{id} on ${database}`;

/** From profiles; what was tried was measured beside what stands, in the same run. */
const HELD_BACK =
  `a fetch takes 38 to 42 µs of one thread, and F1 takes 12 to 14: what is ours may take 9. It is spread thin: collecting
  garbage 7, the read 3.5, the log line 3, the tag 1.5, the answer as text 1.5, the key, the metrics, what is under way and who
  fetched what below 1.5 each. On PostgreSQL, asking the database is 7 µs more, and the database works on the same two processors.
  Tried: 64 MiB of room for what is young (× 1.03, and 80 MiB more). An answer kept until its account changes would be fast here and
  nowhere else: whoever is notified fetches a record once. Next, with what each should bring: answers put together as text
  straight from the row (× 1.05), log lines written by another thread (× 1.05); both would make about 0.41.`.replaceAll(
    /\s+/g,
    ' ',
  );

export const fetchOne: Bench = {
  id: 'P3',
  name: 'fetch',
  title: 'an event fetched over 64 connections, each call with its key',
  target: 'at least 0.60 of F1: a bare Fastify that answers a fixed body',
  heldBack: HELD_BACK,
  async measure({ stage, rounds, roundMs, say }) {
    const floor = await stage.program('./floors/bare.ts');
    const contenders: Contender[] = [
      busy(FLOOR, { url: floor.url, pid: floor.process.pid }, [fetchBare], roundMs, 'floor'),
    ];
    for (const database of databases) {
      const where = await stage.newDatabase(database);
      const [account] = await makeAccounts(where, 1);
      if (account === undefined) throw new Error('there is an account');
      const { baseUrl, process } = await stage.service(where);
      const ids: string[] = [];
      while (ids.length < EVENTS) ids.push(JSON.parse(await ask(baseUrl, createEvent(account))).data.event_id);
      const [first = '', ...others] = ids;
      const calls = [fetchEvent(account, first), ...others.map((id) => fetchEvent(account, id))] as const;
      contenders.push(busy(ours(database), { url: baseUrl, pid: process.pid }, calls, roundMs));
    }
    await inRounds(contenders, 1, () => undefined);
    return {
      series: await inRounds(contenders, rounds, say),
      claims: databases.map((database) => ({
        says: `on ${database}`,
        of: seriesOf(ours(database), '/s'),
        to: seriesOf(FLOOR, '/s'),
        atLeast: 0.6,
      })),
    };
  },
};
