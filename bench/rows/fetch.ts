import { createAccounts } from '../accounts.ts';
import type { Bench } from '../bench.ts';
import { databaseKinds } from '../environment.ts';
import {
  bareFetchRequest,
  closedLoopContender,
  createEventRequest,
  fetchEventRequest,
  sendOnce,
} from '../load/load-generator.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';

/** Number of distinct events that are fetched. */
const EVENTS = 200;

const FLOOR = 'F1';
const contenderName = (database: string) => `GET /v2/events/{id} on ${database}`;

export const fetchOne: Bench = {
  id: 'P3',
  name: 'fetch',
  title: 'events fetched per second',
  target: '≥ 0.32 of F1',
  heldBack: 'A read on PostgreSQL is a round trip.',
  async measure({ stage, rounds, roundMs, say }) {
    const floor = await stage.startProgram('./baselines/bare.ts');
    const contenders: Contender[] = [
      closedLoopContender(FLOOR, { url: floor.url, pid: floor.process.pid }, [bareFetchRequest], roundMs, 'floor'),
    ];
    for (const database of databaseKinds) {
      const where = await stage.newDatabase(database);
      const [account] = await createAccounts(where, 1);
      if (account === undefined) throw new Error('there is an account');
      const { baseUrl, process } = await stage.startService(where);
      const ids: string[] = [];
      while (ids.length < EVENTS)
        ids.push(JSON.parse(await sendOnce(baseUrl, createEventRequest(account))).data.event_id);
      const [first = '', ...others] = ids;
      const calls = [fetchEventRequest(account, first), ...others.map((id) => fetchEventRequest(account, id))] as const;
      contenders.push(closedLoopContender(contenderName(database), { url: baseUrl, pid: process.pid }, calls, roundMs));
    }
    await measureInRounds(contenders, 1, () => undefined);
    return {
      series: await measureInRounds(contenders, rounds, say),
      claims: databaseKinds.map((database) => ({
        description: `on ${database}`,
        of: seriesName(contenderName(database), '/s'),
        to: seriesName(FLOOR, '/s'),
        atLeast: 0.32,
      })),
    };
  },
};
