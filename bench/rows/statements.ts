import { setTimeout as wait } from 'node:timers/promises';
import { startTestService } from '../../test/kit/service/service.ts';
import type { Bench, Claim } from '../bench.ts';
import { type Database, databases, type Stage } from '../environment.ts';
import { ask, Connection, createEvent, subscribe, wired } from '../load/load-generator.ts';
import { type Contender, inRounds, seriesOf } from '../rounds.ts';
import { countingSqlite, countPostgres, isFrame, type Statements } from '../statement-counter.ts';

const IDLE_EVENTS = 20;
const BUSY_EVENTS = 2_000;
const BUSY_CONNECTIONS = 64;
/** Time until the result of a single delivery is stored. */
const QUIET_MS = 60;
const TIMEOUT_MS = 60_000;

const nameOf = (how: string, database: Database) => `${how}, on ${database}`;

/** Returns two contenders that count all statements of a service in this process: when idle, and under load. */
async function ours(stage: Stage, database: Database): Promise<Contender[]> {
  const counted: Statements = new Map();
  const where = await stage.newDatabase(database);
  const context = stage.context;
  if (database === 'PostgreSQL') context.after(countPostgres(counted));
  const service = await startTestService(context, where, {
    ports: database === 'SQLite' ? { sqlite: countingSqlite(counted) } : {},
  });
  const receiver = await stage.receiver();
  const accounts = { hooked: await service.account('hooked.test'), plain: await service.account('plain.test') };
  const path = `/count/${database}`;
  const { domain, key } = accounts.hooked;
  await ask(service.baseUrl, subscribe({ domain, key, user_id: 1 }, receiver.url + path));
  const callOf = (who: keyof typeof accounts) =>
    wired(service.baseUrl, createEvent({ domain: accounts[who].domain, key: accounts[who].key, user_id: 1 }));

  /** Returns the number of statements that run while events are created and, in the account with a hook, delivered. */
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
    const expected = who === 'hooked' ? Math.ceil(events / connections) * connections : 0;
    let delivered = 0;
    for (const deadline = performance.now() + TIMEOUT_MS; delivered < expected; await wait(10)) {
      delivered += (await receiver.report()).counts[path] ?? 0;
      if (performance.now() > deadline) throw new Error(`of ${expected}, ${delivered} were delivered`);
    }
    await wait(QUIET_MS);
    return [...counted].filter(([sql]) => !isFrame(sql)).reduce((sum, [, count]) => sum + count, 0);
  }

  const each = async (events: number, connections: number, restMs: number) => {
    const made = Math.ceil(events / connections) * connections;
    const without = await run('plain', events, connections, restMs);
    const all = await run('hooked', events, connections, restMs);
    return { 'statements per delivery': (all - without) / made, 'statements per event': without / made };
  };
  return [
    { name: nameOf('idle', database), measure: () => each(IDLE_EVENTS, 1, QUIET_MS) },
    { name: nameOf('under load', database), measure: () => each(BUSY_EVENTS, BUSY_CONNECTIONS, 0) },
  ];
}

export const statements: Bench = {
  id: 'P8',
  aRound: `${IDLE_EVENTS} events one at a time and ${BUSY_EVENTS.toLocaleString('en')} under load, on each database`,
  name: 'statements',
  title: 'SQL statements per delivery',
  target: '≤ 4 idle, ≤ 1 under load',
  async measure({ stage, rounds, say }) {
    const contenders: Contender[] = [];
    for (const database of databases) contenders.push(...(await ours(stage, database)));
    await inRounds(contenders, 1, () => undefined);
    const claims = databases.flatMap((database): Claim[] => [
      {
        description: nameOf('idle', database),
        of: seriesOf(nameOf('idle', database), 'statements per delivery'),
        atMost: 4,
      },
      {
        description: nameOf('under load', database),
        of: seriesOf(nameOf('under load', database), 'statements per delivery'),
        atMost: 1,
      },
    ]);
    return { series: await inRounds(contenders, rounds, say), claims };
  },
};
