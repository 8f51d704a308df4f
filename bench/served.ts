import type { Account } from './accounts.ts';
import type { Side } from './bench.ts';
import { CONNECTIONS } from './load/busy.ts';
import { fetchEvent, listEvents } from './load/calls.ts';
import type { Call } from './load/connection.ts';

/** Whoever keeps events, and how they are asked: for what, by which calls. Days are `20260601`. */
export type Served = {
  readonly name: string;
  readonly side: Side;
  readonly url: string;
  readonly pid: number | undefined;
  /** Over how many connections it is asked, and whether one outlives an answer. */
  readonly over: { readonly connections: number; readonly keeps: boolean };
  create(turn: number, day: string): Call;
  /** One that was created, by the answer to that. */
  fetch(created: string, turn: number): Call;
  /** The first hundred of a month, and how many there are. */
  list(month: Month): Call;
  /** How many a list holds. */
  listed(body: string): number;
};

export type Month = { readonly first: string; readonly last: string };

const KEPT = { connections: CONNECTIONS, keeps: true };

type Found = Pick<Served, 'url' | 'pid'>;

const NAME = 'Release';

export function ours(name: string, found: Found, account: Account): Served {
  const { domain, key } = account;
  return {
    name,
    side: 'ours',
    ...found,
    over: KEPT,
    create: (_, day) => posted('/v2/events', eventOf(day), { domain, key }),
    fetch: (created) => fetchEvent(account, JSON.parse(created).data.event_id),
    list: ({ first, last }) => listEvents(account, `start_from=${first}&start_to=${last}&limit=100`),
    listed: (body) => JSON.parse(body).data.length,
  };
}

export function soulCli(name: string, found: Found): Served {
  const rows = '/api/tables/events/rows';
  return {
    name,
    side: 'peer',
    ...found,
    over: KEPT,
    create: (_, day) => posted(rows, { fields: eventOf(day) }),
    fetch: (created) => read(`${rows}/${JSON.parse(created).data.lastInsertRowid}`),
    list: ({ first, last }) => read(`${rows}?_limit=100&_filters=start_date__gte:${first},start_date__lte:${last}`),
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
    over: KEPT,
    create: (_, day) => posted(events, eventOf(day), known),
    fetch: (created) => read(`${events}/${JSON.parse(created).objectId}`, known),
    list({ first, last }) {
      const where = encodeURIComponent(JSON.stringify({ start_date: { $gte: first, $lte: last } }));
      return read(`${events}?limit=100&count=1&where=${where}`, known);
    },
    listed: (body) => JSON.parse(body).results.length,
  };
}

/** A calendar over CalDAV: a file for each event, in a folder that is there already. */
export function radicale(name: string, found: Found, folder: string): Served {
  const path = (turn: number) => `${folder}${turn}.ics`;
  return {
    name,
    side: 'peer',
    ...found,
    // As many as it takes at once, by default.
    over: { connections: 8, keeps: false },
    create: (turn, day) => ({
      method: 'PUT',
      path: path(turn),
      headers: { 'content-type': 'text/calendar' },
      body: calendarOf(turn, day),
      status: 201,
    }),
    fetch: (_, turn) => read(path(turn)),
    list: ({ first, last }) => ({
      method: 'REPORT',
      path: folder,
      headers: { 'content-type': 'application/xml', depth: '1' },
      body: `<?xml version="1.0"?><C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><D:getetag/><C:calendar-data/></D:prop><C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:time-range start="${first}T000000Z" end="${last}T235959Z"/></C:comp-filter></C:comp-filter></C:filter></C:calendar-query>`,
      status: 207,
    }),
    listed: (body) => body.split('BEGIN:VEVENT').length - 1,
  };
}

/** What makes the folders that its events are kept in. */
export function radicaleFolders(folder: string): Call[] {
  const parent = folder.replace(/[^/]+\/$/, '');
  const asked = (path: string, kind: string): Call => ({
    method: 'MKCOL',
    path,
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0"?><mkcol xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><set><prop><resourcetype><collection/>${kind}</resourcetype></prop></set></mkcol>`,
    status: 201,
  });
  return [asked(parent, ''), asked(folder, '<C:calendar/>')];
}

const eventOf = (day: string) => ({ event_name: NAME, start_date: day, due_date: day });

function posted(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Call {
  const json = { 'content-type': 'application/json' };
  return { method: 'POST', path, headers: { ...json, ...headers }, body: JSON.stringify(body), status: 201 };
}

function read(path: string, headers: Readonly<Record<string, string>> = {}): Call {
  return { method: 'GET', path, headers, status: 200 };
}

function calendarOf(turn: number, day: string): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//bench//EN',
    'BEGIN:VEVENT',
    `UID:${turn}`,
    `DTSTAMP:${day}T000000Z`,
    `DTSTART;VALUE=DATE:${day}`,
    `SUMMARY:${NAME}`,
    'END:VEVENT',
    'END:VCALENDAR',
  ];
  return `${lines.join('\r\n')}\r\n`;
}
