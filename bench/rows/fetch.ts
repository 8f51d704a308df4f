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
  heldBack:
    'the floor takes 15 µs of CPU for each request and Carillon 48 µs: checks of the key, one read, a log line and an ETag, none of them above 8 µs.',
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
