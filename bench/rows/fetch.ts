import { makeAccounts } from '../accounts.ts';
import type { Bench } from '../bench.ts';
import { databases } from '../environment.ts';
import { ask, busy, createEvent, fetchBare, fetchEvent } from '../load/load-generator.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';

/** Number of distinct events that are fetched. */
const EVENTS = 200;

const FLOOR = 'F1';
const ours = (database: string) => `GET /v2/events/{id} on ${database}`;

export const fetchOne: Bench = {
  id: 'P3',
  name: 'fetch',
  title: 'events fetched',
  target: '≥ 0.32 of F1',
  heldBack: 'A read on PostgreSQL is a round trip.',
  async measure({ stage, rounds, roundMs, say }) {
    const floor = await stage.program('./baselines/bare.ts');
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
        description: `on ${database}`,
        of: seriesOf(ours(database), '/s'),
        to: seriesOf(FLOOR, '/s'),
        atLeast: 0.32,
      })),
    };
  },
};
