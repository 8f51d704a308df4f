import { setTimeout as wait } from 'node:timers/promises';
import { startTestService } from '../../test/harness/service.ts';
import type { Bench, Claim } from '../bench.ts';
import { countingSqlite, countPostgres, isFrame, type Statements } from '../counted.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, Connection, wired } from '../load/connection.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases, type Stage } from '../stage.ts';

const IDLE_EVENTS = 20;
const BUSY_EVENTS = 2_000;
const BUSY_CONNECTIONS = 64;
/** A delivery that nothing else goes on beside is written down by then. */
const QUIET_MS = 60;
const LONGEST_MS = 60_000;

const nameOf = (how: string, database: Database) => `${how}, on ${database}`;

/** A service in this process, all of whose statements are counted. */
async function ours(stage: Stage, database: Database): Promise<Contender[]> {
  const counted: Statements = new Map();
  const where = await stage.newDatabase(database);
  const context = stage.context;
  if (database === 'PostgreSQL') context.after(countPostgres(counted));
  const service = await startTestService(context, where, {
    ports: database === 'SQLite' ? { sqlite: countingSqlite(counted) } : {},
  });
  const receiver = await stage.receiver();
  const accounts = { told: await service.account('told.test'), untold: await service.account('untold.test') };
  const path = `/count/${database}`;
  const { domain, key } = accounts.told;
  await ask(service.baseUrl, subscribe({ domain, key, user_id: 1 }, receiver.url + path));
  const callOf = (who: keyof typeof accounts) =>
    wired(service.baseUrl, createEvent({ domain: accounts[who].domain, key: accounts[who].key, user_id: 1 }));

  /** All that is run while so many events are made, and told where somebody is. */
  async function run(who: keyof typeof accounts, events: number, connections: number, restMs: number): Promise<number> {
    counted.clear();
    await receiver.report();
    const call = callOf(who);
    const each = async () => {
      const connection = await Connection.open(service.baseUrl);
      for (let made = 0; made < events / connections; made += 1) {
        await connection.ask(call);
        if (restMs > 0) await wait(restMs);
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: connections }, each));
    const wanted = who === 'told' ? Math.ceil(events / connections) * connections : 0;
    let told = 0;
    for (const giveUpAt = performance.now() + LONGEST_MS; told < wanted; await wait(10)) {
      told += (await receiver.report()).counts[path] ?? 0;
      if (performance.now() > giveUpAt) throw new Error(`of ${wanted}, ${told} were told`);
    }
    await wait(QUIET_MS);
    return [...counted].filter(([sql]) => !isFrame(sql)).reduce((sum, [, count]) => sum + count, 0);
  }

  const each = async (events: number, connections: number, restMs: number) => {
    const made = Math.ceil(events / connections) * connections;
    const without = await run('untold', events, connections, restMs);
    const all = await run('told', events, connections, restMs);
    return { 'statements a delivery': (all - without) / made, 'statements an event': without / made };
  };
  return [
    { name: nameOf('one at a time', database), measure: () => each(IDLE_EVENTS, 1, QUIET_MS) },
    { name: nameOf('at load', database), measure: () => each(BUSY_EVENTS, BUSY_CONNECTIONS, 0) },
  ];
}

export const statements: Bench = {
  id: 'P8',
  aRound: `${IDLE_EVENTS} events one at a time and ${BUSY_EVENTS.toLocaleString('en')} at load, on each database`,
  name: 'statements',
  title:
    'statements that the database runs to take up, load and write down one delivery, but for what begins, bounds and ends a transaction',
  target:
    'at most 4 while nothing else goes on; at most 1 at load, where many share one; that a write on PostgreSQL makes at most three round trips is held by a test (test/stories/round-trips.test.ts)',
  async measure({ stage, rounds, say }) {
    const contenders: Contender[] = [];
    for (const database of databases) contenders.push(...(await ours(stage, database)));
    await inRounds(contenders, 1, () => undefined);
    const claims = databases.flatMap((database): Claim[] => [
      {
        says: nameOf('one at a time', database),
        of: seriesOf(nameOf('one at a time', database), 'statements a delivery'),
        atMost: 4,
      },
      {
        says: nameOf('at load', database),
        of: seriesOf(nameOf('at load', database), 'statements a delivery'),
        atMost: 1,
      },
    ]);
    return { series: await inRounds(contenders, rounds, say), claims };
  },
};
