import type { Account } from './accounts.ts';
import type { Side } from './bench.ts';
import { type Call, fetchEvent, listEvents } from './load/load-generator.ts';

/** A server that stores events, and the requests that it understands. Days have the form `20260601`. */
export type Served = {
  readonly name: string;
  readonly side: Side;
  readonly url: string;
  readonly pid: number | undefined;
  create(day: string): Call;
  /** Returns the request that fetches an event, given the response body of its creation. */
  fetch(created: string): Call;
  /** Returns the request for the first hundred events of a month, with their total. */
  list(month: Month): Call;
  /** Returns the number of events in the response body of a list. */
  listed(body: string): number;
};

export type Month = { readonly first: string; readonly last: string };

type Found = Pick<Served, 'url' | 'pid'>;

const NAME = 'Release';

export function ours(name: string, found: Found, account: Account): Served {
  const { domain, key } = account;
  return {
    name,
    side: 'ours',
    ...found,
    create: (day) => posted('/v2/events', eventOf(day), { domain, key }),
    fetch: (created) => fetchEvent(account, JSON.parse(created).data.event_id),
    list: ({ first, last }) => listEvents(account, `start_from=${first}&start_to=${last}&limit=100`),
    listed: (body) => JSON.parse(body).data.length,
  };
}

export function parseServer(name: string, found: Found): Served {
  const known = { 'x-parse-application-id': 'bench' };
  const events = '/parse/classes/Event';
  return {
    name,
    side: 'peer',
    ...found,
    create: (day) => posted(events, eventOf(day), known),
    fetch: (created) => read(`${events}/${JSON.parse(created).objectId}`, known),
    list({ first, last }) {
      const where = encodeURIComponent(JSON.stringify({ start_date: { $gte: first, $lte: last } }));
      return read(`${events}?limit=100&count=1&where=${where}`, known);
    },
    listed: (body) => JSON.parse(body).results.length,
  };
}

const eventOf = (day: string) => ({ event_name: NAME, start_date: day, due_date: day });

function posted(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Call {
  const json = { 'content-type': 'application/json' };
  return { method: 'POST', path, headers: { ...json, ...headers }, body: JSON.stringify(body), status: 201 };
}

function read(path: string, headers: Readonly<Record<string, string>> = {}): Call {
  return { method: 'GET', path, headers, status: 200 };
}
