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

export const fetchOne: Bench = {
  id: 'P3',
  name: 'fetch',
  title: 'an event fetched over 64 connections, each call with its key',
  target: 'at least 0.60 of F1: a bare Fastify that answers a fixed body',
  heldBack: {
    says: 'a fetch on SQLite takes 48 µs of processor, and F1 takes 15, so that what is ours may take 10 and takes 33, spread thin: of 74 µs in the slower hour of the profile, 34 are Node’s HTTP and what it asks the system for, which F1 has as well, 10 collecting garbage, 8 what is ours around the call, 4 the log line, 4 the read, and all else 3 or less each. On PostgreSQL, the database works on the same two processors beside. Tried: 64 MiB of room for what is young (× 1.03, and 80 MiB more); compiled serialisers. An answer kept until its account changes would be fast here and nowhere else: whoever is notified fetches a record once. The faster the machine, the smaller the share: in an hour in which it did half as much, a run of source e29a55c had 0.41 and 0.35. What comes next would make about 0.36 on SQLite and 0.28 on PostgreSQL.',
    shownBy: databases.map((database) => `fetch on ${database}`),
    next: [{ idea: 'log lines written by another thread', gain: '× 1.05' }],
  },
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
