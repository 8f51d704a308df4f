import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { withCleanup } from '../../test/kit/cleanup.ts';
import { openStoreAt } from '../../test/kit/database/database.ts';
import { findFreePort } from '../../test/kit/network/port.ts';
import { type AccountCredentials, createAccounts } from '../accounts.ts';
import type { Bench, PerformanceClaim } from '../bench.ts';
import { type BenchEnvironment, type DatabaseKind, databaseKinds, residentMib } from '../environment.ts';
import {
  createEventRequest,
  fetchEventRequest,
  sendAtRate,
  sendOnce,
  serializeRequest,
  subscribeRequest,
} from '../load/load-generator.ts';
import type { Receiver } from '../receiver.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';
import { quantile } from '../statistics.ts';

/** Number of pending deliveries. */
const PENDING = 1_000_000;
/** Number of hooks to which the pending deliveries belong. */
const HOOKS = 1_000;
/** Targets respond just before the timeout, so that attempts are always in flight and few deliveries end. */
const ANSWERED_AFTER_MS = 14_000;
/** Rate of the API requests whose latency is measured. */
const PER_SECOND = 100;

/** Number of statements that insert the pending deliveries. A single statement might exceed the statement timeout. */
const INSERT_BATCHES = 10;

/**
 * Time until memory is first read, when the service is warm. Memory rises until a full garbage collection halves
 * it, every one to ten minutes. It is therefore read right after a forced collection.
 */
const FIRST_READING_MS = 60_000;
/** Time between the first and the second reading of memory. */
const SECOND_READING_MS = 300_000;
const SAMPLE_INTERVAL_MS = 500;

const AFTER_GC = 'MiB after garbage collection';
const GROWTH = 'MiB of growth in five minutes';
const PEAK = 'MiB at peak';

const nameOf = (pending: number, database: DatabaseKind) => `${pending.toLocaleString('en')} pending, on ${database}`;

/** Inserts the pending deliveries in batches, with the same rows that commits would have written. */
function insertPending(database: string): Promise<void> {
  return withCleanup(async (context) => {
    const store = await openStoreAt(context, database);
    const ofEach = PENDING / HOOKS;
    for (let first = 1; first <= ofEach; first += ofEach / INSERT_BATCHES) {
      const last = first + ofEach / INSERT_BATCHES - 1;
      const numbers =
        store.clusterSession === undefined
          ? sql`with recursive numbers (n) as (select ${first} union all select n + 1 from numbers where n < ${last}) select n from numbers`
          : sql`select n from generate_series(${first}::int, ${last}::int) as n`;
      await store.write(async ({ queries }) => {
        await sql`insert into pending_deliveries (account_id, user_id, hook_id, position, kind, record_id, created_at)
          select hooks.account_id, hooks.user_id, hooks.hook_id, 1000000 + n, 'new_client', n, 0
          from hooks, (${numbers}) as numbered where hooks.events = 'new_client'`.execute(queries);
      });
    }
  });
}

async function subscribeHooks(
  baseUrl: string,
  account: AccountCredentials,
  receiver: Receiver,
  database: DatabaseKind,
): Promise<void> {
  for (let hook = 0; hook < HOOKS; hook += 1) {
    const call = subscribeRequest(account, `${receiver.url}/slow/${ANSWERED_AFTER_MS}/${database}/${hook}`);
    await sendOnce(baseUrl, { ...call, body: String(call.body).replace('new_event', 'new_client') });
  }
}

/** The contenders of one service: its latency and start in each round, and its memory under a steady load. */
type ServiceContenders = { readonly inRounds: Contender; readonly measureMemory: () => Promise<Contender> };

/** Returns the contenders of a service with or without pending deliveries. */
async function createContenders(
  stage: BenchEnvironment,
  receiver: Receiver,
  database: DatabaseKind,
  pendingCount: number,
  roundMs: number,
): Promise<ServiceContenders> {
  const where = await stage.newDatabase(database);
  const [account, other] = await createAccounts(where, 2);
  if (account === undefined || other === undefined) throw new Error('there are accounts');
  const first = await stage.startService(where);
  await sendOnce(first.baseUrl, subscribeRequest(other, `${receiver.url}/ok/${database}/${pendingCount}`));
  const { event_id: id } = JSON.parse(await sendOnce(first.baseUrl, createEventRequest(account))).data;
  if (pendingCount > 0) await subscribeHooks(first.baseUrl, account, receiver, database);
  await first.stop('SIGTERM');
  if (pendingCount > 0) await insertPending(where);
  const sendRequests = (baseUrl: string, forMs: number) => {
    const [write, read] = [
      serializeRequest(baseUrl, createEventRequest(other)),
      serializeRequest(baseUrl, fetchEventRequest(account, id)),
    ];
    return sendAtRate(baseUrl, (turn) => (turn % 2 === 0 ? write : read), { perSecond: PER_SECOND, forMs });
  };
  const name = nameOf(pendingCount, database);
  return {
    inRounds: {
      name,
      async measure() {
        const startedAt = performance.now();
        const service = await stage.startService(where);
        await receiver.report();
        // This event belongs to another account, whose hook has no backlog.
        await sendOnce(service.baseUrl, createEventRequest(other));
        for (;;) {
          const { counts } = await receiver.report();
          if (counts[`/ok/${database}/${pendingCount}`]) break;
          await wait(5);
        }
        const deliveredMs = performance.now() - startedAt;
        await wait(2_000);
        const requests = await sendRequests(service.baseUrl, 2 * roundMs);
        const all = residentMib(service.process.pid);
        await service.stop('SIGKILL');
        const times = requests.map(({ dueAt, answeredAt }) => answeredAt - dueAt);
        return {
          'ms at p50': quantile(times, 0.5),
          'ms at p99': quantile(times, 0.99),
          'ms from start to first delivery': deliveredMs,
          'MiB resident': all,
        };
      },
    },
    async measureMemory() {
      const port = await findFreePort();
      const { baseUrl, process, stop } = await stage.startService(where, inspectorEnvironment(port));
      const requests = sendRequests(baseUrl, FIRST_READING_MS + SECOND_READING_MS);
      let peak = 0;
      const sampling = setInterval(() => {
        peak = Math.max(peak, residentMib(process.pid));
      }, SAMPLE_INTERVAL_MS);
      const memoryAfterGc = async () => {
        await collectGarbage(port);
        return residentMib(process.pid);
      };
      await wait(FIRST_READING_MS);
      const before = await memoryAfterGc();
      await wait(SECOND_READING_MS);
      const later = await memoryAfterGc();
      clearInterval(sampling);
      await requests;
      await stop('SIGKILL');
      const results = { [AFTER_GC]: before, [GROWTH]: later - before, [PEAK]: peak };
      return { name, measure: async () => results };
    },
  };
}

export const pending: Bench = {
  id: 'P9',
  name: 'pending',
  title: 'effect of 1,000,000 deliveries pending to slow targets',
  target: 'API p99 ≤ 2 × without them; constant memory; first delivery ≤ 3 s after a restart',
  roundDescription: '10 s, and memory once for 360 s,',
  async measure({ stage, rounds, roundMs, say }) {
    const receiver = await stage.startReceiver();
    const all: ServiceContenders[] = [];
    for (const database of databaseKinds) {
      for (const count of [0, PENDING]) all.push(await createContenders(stage, receiver, database, count, roundMs));
    }
    const claims = databaseKinds.flatMap((database): PerformanceClaim[] => {
      const full = nameOf(PENDING, database);
      return [
        {
          description: `API p99 on ${database}`,
          of: seriesName(full, 'ms at p99'),
          to: seriesName(nameOf(0, database), 'ms at p99'),
          atMost: 2,
        },
        {
          description: `first delivery after a restart on ${database}, ms`,
          of: seriesName(full, 'ms from start to first delivery'),
          atMost: 3_000,
        },
        {
          description: `memory growth in five minutes on ${database}, MiB`,
          of: seriesName(full, GROWTH),
          atMost: 16,
        },
      ];
    });
    const latencyContenders = all.map((one) => one.inRounds);
    const series = await measureInRounds(latencyContenders, rounds, say);
    // The services run concurrently here, because their memory does not depend on their speed.
    const memoryContenders = await Promise.all(all.map(({ measureMemory }) => measureMemory()));
    return { series: [...series, ...(await measureInRounds(memoryContenders, 1, say))], claims };
  },
};

/** Returns environment variables that make a Node process listen for an inspector on a port. */
const inspectorEnvironment = (port: number) => ({ NODE_OPTIONS: `--inspect=127.0.0.1:${port}` });

/** Forces a full garbage collection in a process and waits for its end. */
async function collectGarbage(port: number): Promise<void> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as { webSocketDebuggerUrl: string }[];
  if (target === undefined) throw new Error(`nothing is inspected at port ${port}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, 'open');
  socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }));
  const [response] = (await once(socket, 'message')) as [MessageEvent];
  socket.close();
  const { error } = JSON.parse(String(response.data));
  if (error !== undefined) throw new Error(`no garbage collection: ${response.data}`);
}
