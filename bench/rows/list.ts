import { copyFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { type AccountCredentials, createAccounts } from '../accounts.ts';
import type { Bench, PerformanceClaim } from '../bench.ts';
import { type BenchEnvironment, type DatabaseKind, databaseKinds } from '../environment.ts';
import { fillWithEvents } from '../events.ts';
import {
  Connection,
  createEventRequest,
  fetchEventRequest,
  listEventsRequest,
  type SerializedRequest,
  serializeRequest,
} from '../load/load-generator.ts';
import { type Contender, measureInRounds, seriesName } from '../rounds.ts';
import { quantile } from '../statistics.ts';

/**
 * Numbers of events, and the years over which the events are spread. In each size, a month holds more than one
 * page.
 */
export const sizes = [
  { events: 1_000, years: 0.5 },
  { events: 10_000, years: 5 },
  { events: 100_000, years: 50 },
  { events: 1_000_000, years: 50 },
] as const;
const [SMALL, LARGE] = [sizes[0], sizes[3]];

type Size = (typeof sizes)[number];

export const LIST = 'a month, first page';
export const DEEP = 'a month, last page';
const ALL_EVENTS = 'all events, first page';
const LAST_BY_LINK = 'all events, last page by Link';
const ALL = [LIST, DEEP, ALL_EVENTS, LAST_BY_LINK];

/** Changes per second while a list with concurrent changes is measured. */
const CHANGES_PER_SECOND = 50;
/** A list without a target: the first page after a start, which counts all events. */
const FIRST_AFTER_START = 'all events, first page after a start';
/** A list without a target: the page at a deep offset. */
const DEEP_OFFSET = 'all events, last page by offset';
/** A list without a target: the first page during concurrent changes. */
const DURING_CHANGES = `all events, first page with ${CHANGES_PER_SECOND} changes per second`;

export const pageName = (what: string, { events }: Size, database: DatabaseKind) =>
  `${what}, of ${events.toLocaleString('en')} on ${database}`;

/** Returns the query of the last page, from the `Link` header of the page before the last one. */
async function lastPageQuery(baseUrl: string, account: AccountCredentials, { events }: Size): Promise<string> {
  const { path, headers } = listEventsRequest(account, `limit=100&offset=${events - 200}`);
  const response = await fetch(baseUrl + path, { headers });
  const [, query] = /\?(.*)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  if (query === undefined) throw new Error('a Link leads to the last page');
  return query;
}

async function createContenders(
  stage: BenchEnvironment,
  database: DatabaseKind,
  size: Size,
  roundMs: number,
): Promise<Contender[]> {
  const where = await stage.newDatabase(database);
  const [account] = await createAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  const { from, to, inMonth } = await fillWithEvents(where, size);
  const after = copyIfSqlite(stage, where);
  const { baseUrl } = await stage.startService(where);
  const month = `start_from=${from}&start_to=${to}&limit=100`;
  const lists = [
    { what: LIST, query: month, total: inMonth },
    { what: DEEP, query: `${month}&offset=${Math.max(0, inMonth - 100)}`, total: inMonth },
    { what: ALL_EVENTS, query: 'limit=100', total: size.events },
    { what: LAST_BY_LINK, query: await lastPageQuery(baseUrl, account, size), total: size.events },
  ];
  const measurePages = async (query: string, totals: readonly number[]) => {
    const connection = await Connection.open(baseUrl);
    const call = serializeRequest(baseUrl, listEventsRequest(account, query));
    const times: number[] = [];
    for (const startedAt = performance.now(); performance.now() - startedAt < roundMs; )
      times.push(await pageMs(connection, call, totals));
    connection.close();
    return { 'ms at p50': quantile(times, 0.5), 'ms at p99': quantile(times, 0.99) };
  };
  const all = lists.map(({ what, query, total }) => ({
    name: pageName(what, size, database),
    measure: () => measurePages(query, [total]),
  }));
  const { events } = size;
  return [
    ...all,
    {
      name: pageName(DEEP_OFFSET, size, database),
      measure: () => measurePages(`limit=100&offset=${events - 100}`, [events]),
    },
    {
      name: pageName(DURING_CHANGES, size, database),
      async measure() {
        const stop = new AbortController();
        const changing = keepChanging(baseUrl, account, stop.signal);
        // The total may include the event that is just being created and deleted.
        const result = await measurePages('limit=100', [events, events + 1]);
        stop.abort();
        await changing;
        return result;
      },
    },
    {
      name: pageName(FIRST_AFTER_START, size, database),
      async measure() {
        const service = await stage.startService(after);
        const connection = await Connection.open(service.baseUrl);
        const call = serializeRequest(service.baseUrl, listEventsRequest(account, 'limit=100'));
        const times = [await pageMs(connection, call, [events])];
        connection.close();
        await service.stop('SIGTERM');
        return { 'ms at p50': quantile(times, 0.5) };
      },
    },
  ];
}

/** Returns the milliseconds that one page takes, and checks that its total is exact. */
async function pageMs(connection: Connection, call: SerializedRequest, totals: readonly number[]): Promise<number> {
  const startedAt = performance.now();
  const { paging } = JSON.parse(await connection.send(call));
  const ms = performance.now() - startedAt;
  if (!totals.includes(paging.total_records)) throw new Error(`${paging.total_records} in all, not ${totals}`);
  return ms;
}

/** Copies a SQLite database, because only one service can open the file. A PostgreSQL database is shared. */
function copyIfSqlite(stage: BenchEnvironment, where: string): string {
  const file = /^sqlite:(.*)/.exec(where)?.[1];
  if (file === undefined) return where;
  const copy = stage.newFilePath();
  copyFileSync(file, copy);
  return `sqlite:${copy}`;
}

/** Creates and deletes an event repeatedly until the signal aborts. */
async function keepChanging(baseUrl: string, account: AccountCredentials, signal: AbortSignal): Promise<void> {
  const connection = await Connection.open(baseUrl);
  const create = serializeRequest(baseUrl, createEventRequest(account));
  while (!signal.aborted) {
    const { event_id: id } = JSON.parse(await connection.send(create)).data;
    await wait(1_000 / CHANGES_PER_SECOND);
    await connection.send(serializeRequest(baseUrl, { ...fetchEventRequest(account, id), method: 'DELETE' }));
    await wait(1_000 / CHANGES_PER_SECOND);
  }
  connection.close();
}

export const list: Bench = {
  id: 'P4',
  name: 'list',
  title: 'time for a page of 100 of 1,000,000 events',
  target: '≤ 3 × the time with 1,000 events; exact total',
  async measure({ stage, rounds, roundMs, say }) {
    const contenders: Contender[] = [];
    for (const database of databaseKinds) {
      for (const size of sizes) contenders.push(...(await createContenders(stage, database, size, roundMs)));
    }
    await measureInRounds(contenders, 1, () => undefined);
    const claims = databaseKinds.flatMap((database) =>
      ALL.map(
        (what): PerformanceClaim => ({
          description: `${what}, on ${database}`,
          of: seriesName(pageName(what, LARGE, database), 'ms at p50'),
          to: seriesName(pageName(what, SMALL, database), 'ms at p50'),
          atMost: 3,
        }),
      ),
    );
    return { series: await measureInRounds(contenders, rounds, say), claims };
  },
};
