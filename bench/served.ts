import type { AccountCredentials } from './accounts.ts';
import type { ComparisonSide } from './bench.ts';
import { fetchEventRequest, listEventsRequest, type RequestSpec } from './load/load-generator.ts';

/** A server that stores events, and the requests that it understands. Days have the form `20260601`. */
export type EventServer = {
  readonly name: string;
  readonly side: ComparisonSide;
  readonly url: string;
  readonly pid: number | undefined;
  create(day: string): RequestSpec;
  /** Returns the request that fetches an event, given the response body of its creation. */
  fetch(created: string): RequestSpec;
  /** Returns the request for the first hundred events of a month, with their total. */
  list(month: MonthRange): RequestSpec;
  /** Returns the number of events in the response body of a list. */
  countListed(body: string): number;
};

export type MonthRange = { readonly first: string; readonly last: string };

type ServerAddress = Pick<EventServer, 'url' | 'pid'>;

const NAME = 'Release';

export function carillonServer(name: string, found: ServerAddress, account: AccountCredentials): EventServer {
  const { domain, key } = account;
  return {
    name,
    side: 'ours',
    ...found,
    create: (day) => postRequest('/v2/events', eventOf(day), { domain, key }),
    fetch: (created) => fetchEventRequest(account, JSON.parse(created).data.event_id),
    list: ({ first, last }) => listEventsRequest(account, `start_from=${first}&start_to=${last}&limit=100`),
    countListed: (body) => JSON.parse(body).data.length,
  };
}

export function parsePlatformServer(name: string, found: ServerAddress): EventServer {
  const known = { 'x-parse-application-id': 'bench' };
  const events = '/parse/classes/Event';
  return {
    name,
    side: 'peer',
    ...found,
    create: (day) => postRequest(events, eventOf(day), known),
    fetch: (created) => getRequest(`${events}/${JSON.parse(created).objectId}`, known),
    list({ first, last }) {
      const where = encodeURIComponent(JSON.stringify({ start_date: { $gte: first, $lte: last } }));
      return getRequest(`${events}?limit=100&count=1&where=${where}`, known);
    },
    countListed: (body) => JSON.parse(body).results.length,
  };
}

const eventOf = (day: string) => ({ event_name: NAME, start_date: day, due_date: day });

function postRequest(path: string, body: object, headers: Readonly<Record<string, string>> = {}): RequestSpec {
  const json = { 'content-type': 'application/json' };
  return { method: 'POST', path, headers: { ...json, ...headers }, body: JSON.stringify(body), status: 201 };
}

function getRequest(path: string, headers: Readonly<Record<string, string>> = {}): RequestSpec {
  return { method: 'GET', path, headers, status: 200 };
}
