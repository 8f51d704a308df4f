import { makeAccounts } from './accounts.ts';
import { CONNECTIONS } from './load/busy.ts';
import { createEvent, fetchEvent, listEvents, subscribe } from './load/calls.ts';
import { ask, type Call } from './load/connection.ts';
import type { Database, Stage } from './stage.ts';

/** What nearly all calls are: creations in one account, in as many as there are connections, and in as many that owe them to a hook. */
export const hotCalls = ['fetch', 'list', 'create', 'create-apart', 'create-owed'] as const;

export type HotCall = (typeof hotCalls)[number];

/** A service that is called, and what each call of the hot path looks like there. */
export type Called = {
  readonly url: string;
  readonly pid: number | undefined;
  readonly calls: Readonly<Record<HotCall, readonly [Call, ...Call[]]>>;
  stop(): Promise<unknown>;
};

/** How many events there are before anything is measured. */
const EVENTS = 200;

/**
 * A service whose hot path can be called: events are there, and half of the accounts have a hook that waits for its next
 * try, so that what is created there is owed and not told.
 *
 * @param main what is started in place of this source
 */
export async function calledService(
  stage: Stage,
  database: Database,
  { options = {}, main }: { options?: Readonly<Record<string, string>>; main?: string } = {},
): Promise<Called> {
  const where = await stage.newDatabase(database);
  const [reader, plain, ...others] = await makeAccounts(where, 2 * CONNECTIONS);
  const { baseUrl, process, stop } = await stage.service(where, { CARILLON_RETRY_WAITS: '2h,2h', ...options }, main);
  const [first, ...more] = others.slice(0, CONNECTIONS);
  if (reader === undefined || plain === undefined || first === undefined) throw new Error('there are accounts');
  const created = Array.from({ length: EVENTS }, () => ask(baseUrl, createEvent(reader)));
  const [one = '', ...ids] = (await Promise.all(created)).map((body): string => JSON.parse(body).data.event_id);
  // Nobody listens at port 9 of this machine.
  for (const [turn, owed] of [first, ...more].entries()) {
    await ask(baseUrl, subscribe(owed, `http://127.0.0.1:9/${turn}`));
    await ask(baseUrl, createEvent(owed));
  }
  return {
    url: baseUrl,
    pid: process.pid,
    stop: () => stop('SIGTERM'),
    calls: {
      fetch: [fetchEvent(reader, one), ...ids.map((id) => fetchEvent(reader, id))],
      list: [listEvents(reader, 'start_from=20270101&start_to=20270131&limit=100')],
      create: [createEvent(plain)],
      'create-apart': [createEvent(plain), ...others.slice(CONNECTIONS).map(createEvent)],
      'create-owed': [createEvent(first), ...more.map(createEvent)],
    },
  };
}
