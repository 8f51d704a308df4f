import { setTimeout as wait } from 'node:timers/promises';
import { startTestService } from '../../test/kit/service/service.ts';
import type { Bench, PerformanceClaim } from '../bench.ts';
import { type BenchEnvironment, type DatabaseKind, databaseKinds } from '../environment.ts';
import {
  Connection,
  createEventRequest,
  sendOnce,
  serializeRequest,
  subscribeRequest,
} from '../load/load-generator.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';
import {
  countPostgresStatements,
  createCountingSqlite,
  isControlStatement,
  type StatementCounts,
} from '../statement-counter.ts';

const IDLE_EVENTS = 20;
const BUSY_EVENTS = 2_000;
const BUSY_CONNECTIONS = 64;
/** Time until the result of a single delivery is stored. */
const QUIET_MS = 60;
const TIMEOUT_MS = 60_000;

const nameOf = (how: string, database: DatabaseKind) => `${how}, on ${database}`;

/** Returns two contenders that count all statements of a service in this process: when idle, and under load. */
async function createContenders(stage: BenchEnvironment, database: DatabaseKind): Promise<Contender[]> {
  const counted: StatementCounts = new Map();
  const where = await stage.newDatabase(database);
  const context = stage.context;
  if (database === 'PostgreSQL') context.after(countPostgresStatements(counted));
  const service = await startTestService(context, where, {
    deps: database === 'SQLite' ? { sqlite: createCountingSqlite(counted) } : {},
  });
  const receiver = await stage.startReceiver();
  const accounts = {
    hooked: await service.createAccount('hooked.test'),
    plain: await service.createAccount('plain.test'),
  };
  const path = `/count/${database}`;
  const { domain, key } = accounts.hooked;
  await sendOnce(service.baseUrl, subscribeRequest({ domain, key, user_id: 1 }, receiver.url + path));
  const createEventFor = (who: keyof typeof accounts) =>
    serializeRequest(
      service.baseUrl,
      createEventRequest({ domain: accounts[who].domain, key: accounts[who].key, user_id: 1 }),
    );

  /** Returns the number of statements that run while events are created and, in the account with a hook, delivered. */
  async function run(who: keyof typeof accounts, events: number, connections: number, restMs: number): Promise<number> {
    counted.clear();
    await receiver.report();
    const call = createEventFor(who);
    const createEvents = async () => {
      const connection = await Connection.open(service.baseUrl);
      for (let made = 0; made < events / connections; made += 1) {
        await connection.send(call);
        if (restMs > 0) await wait(restMs);
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: connections }, createEvents));
    const expected = who === 'hooked' ? Math.ceil(events / connections) * connections : 0;
    let delivered = 0;
    for (const deadline = performance.now() + TIMEOUT_MS; delivered < expected; await wait(10)) {
      delivered += (await receiver.report()).counts[path] ?? 0;
      if (performance.now() > deadline) throw new Error(`of ${expected}, ${delivered} were delivered`);
    }
    await wait(QUIET_MS);
    return [...counted].filter(([sql]) => !isControlStatement(sql)).reduce((sum, [, count]) => sum + count, 0);
  }

  const measureStatements = async (events: number, connections: number, restMs: number) => {
    const eventCount = Math.ceil(events / connections) * connections;
    const without = await run('plain', events, connections, restMs);
    const all = await run('hooked', events, connections, restMs);
    return { 'statements per delivery': (all - without) / eventCount, 'statements per event': without / eventCount };
  };
  return [
    { name: nameOf('idle', database), measure: () => measureStatements(IDLE_EVENTS, 1, QUIET_MS) },
    { name: nameOf('under load', database), measure: () => measureStatements(BUSY_EVENTS, BUSY_CONNECTIONS, 0) },
  ];
}

export const statements: Bench = {
  id: 'P8',
  roundDescription: `${IDLE_EVENTS} events one at a time and ${BUSY_EVENTS.toLocaleString('en')} under load, on each database`,
  name: 'statements',
  title: 'SQL statements per delivery',
  target: '≤ 4 when idle, ≤ 1 under load',
  async measure({ stage, rounds, say }) {
    const contenders: Contender[] = [];
    for (const database of databaseKinds) contenders.push(...(await createContenders(stage, database)));
    await measureInRounds(contenders, 1, () => undefined);
    const claims = databaseKinds.flatMap((database): PerformanceClaim[] => [
      {
        description: nameOf('idle', database),
        of: seriesName(nameOf('idle', database), 'statements per delivery'),
        atMost: 4,
      },
      {
        description: nameOf('under load', database),
        of: seriesName(nameOf('under load', database), 'statements per delivery'),
        atMost: 1,
      },
    ]);
    return { series: await measureInRounds(contenders, rounds, say), claims };
  },
};
