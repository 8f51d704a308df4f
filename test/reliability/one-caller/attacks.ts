import {
  type AttackParameters,
  floodRequests,
  holdConnections,
  MAX_CONNECTIONS,
  rawRequest,
  requestWithoutBody,
} from './sockets.ts';

/**
 * Kinds of attackers: a caller without a key, a caller with the URL of a calendar, a member of the honest account,
 * and another account.
 */
export const attackers = ['no key', 'a calendar URL', 'a member', 'another account'] as const;
export type Attacker = (typeof attackers)[number];

/**
 * The target of an attack, and the credentials of the attacker: the headers of its key, and the path of its
 * calendar URL, if it has them.
 */
export type AttackTarget = AttackParameters & {
  readonly by: Attacker;
  readonly headers: Readonly<Record<string, string>>;
  /** Path of the URL of a large calendar. */
  readonly calendar: string;
  /** A task with many comments, in the account of the attacker; undefined for an attacker without a key. */
  readonly task: LargeTask | undefined;
};

/** The path of a task, and two projects to move it to. */
export type LargeTask = { readonly path: string; readonly projects: readonly string[] };

export type Attack = {
  readonly name: string;
  readonly by: readonly Attacker[];
  run(attacking: AttackTarget): Promise<void>;
};

const ALL_ATTACKERS = attackers;
const KEY_HOLDERS = ['a member', 'another account'] as const;

/** The list with the largest pages: comments with their replies. */
const COMMENTS_PATH = '/v2/comments';

const IMPORT_PATH = '/v2/events/import';
const IMPORT_BYTES = 8 * 1_000_000;
const SIGN_IN_PATH = '/console/session';

const CALL_CONCURRENCY = 32;

const json = { 'content-type': 'application/json' };
const closeConnection = { connection: 'close' };

export const attacks: readonly Attack[] = [
  {
    name: 'bodies that are announced and never sent',
    by: ALL_ATTACKERS,
    async run(aim) {
      const { by, headers, calendar } = aim;
      const paths = {
        'no key': ['POST /nothing', 'GET /', 'GET /healthz', `POST ${SIGN_IN_PATH}`, 'POST /v2/events'],
        'a calendar URL': [`GET ${calendar}`, `POST ${calendar}`],
        'a member': ['POST /v2/events', `POST ${IMPORT_PATH}`, 'GET /v2/user'],
        'another account': ['POST /v2/events', `POST ${IMPORT_PATH}`, 'GET /v2/user'],
      }[by];
      const each = Math.floor(MAX_CONNECTIONS / paths.length);
      const origin = { ...headers, origin: aim.origin };
      await Promise.all(
        paths.map((line) => {
          const [method = '', path = ''] = line.split(' ');
          return holdConnections(aim, each, { first: requestWithoutBody(method, path, { ...json, ...origin }, 9) });
        }),
      );
    },
  },
  {
    name: 'large bodies that arrive a byte at a time',
    by: ALL_ATTACKERS,
    async run(aim) {
      const { by, headers, calendar } = aim;
      const path = {
        'no key': SIGN_IN_PATH,
        'a calendar URL': calendar,
        'a member': IMPORT_PATH,
        'another account': IMPORT_PATH,
      }[by];
      const bytes = by === 'a member' || by === 'another account' ? IMPORT_BYTES : 60_000;
      const head = requestWithoutBody('POST', path, { ...json, ...headers, origin: aim.origin }, bytes);
      // The service holds 90 % of the body in memory immediately. The rest arrives too slowly to complete.
      const prefix = `{"ics":"${'x'.repeat(Math.floor(bytes * 0.9))}`;
      await holdConnections(aim, 300, { first: head + prefix, after: { text: 'x', everyMs: 1_000 } });
    },
  },
  {
    name: 'connections that say nothing, or a header a second',
    by: ['no key'],
    async run(aim) {
      await Promise.all([
        holdConnections(aim, MAX_CONNECTIONS / 2, { first: '' }),
        holdConnections(aim, MAX_CONNECTIONS / 2, {
          first: 'GET / HTTP/1.1\r\n',
          after: { text: 'x-slow: 1\r\n', everyMs: 1_000 },
        }),
      ]);
    },
  },
  {
    name: 'large responses that are never read',
    by: ALL_ATTACKERS,
    async run(aim) {
      const { by, headers, calendar } = aim;
      const path = {
        'no key': '/openapi.json',
        'a calendar URL': calendar,
        'a member': COMMENTS_PATH,
        'another account': COMMENTS_PATH,
      }[by];
      // These are more pipelined requests than any browser sends. Each response waits for the previous one.
      const first = rawRequest('GET', path, headers).repeat(20);
      await holdConnections(aim, 60, { first, unread: true });
    },
  },
  {
    name: 'the largest pages, again and again',
    by: ['a calendar URL', ...KEY_HOLDERS],
    async run(aim) {
      const path = aim.by === 'a calendar URL' ? aim.calendar : COMMENTS_PATH;
      await floodRequests(aim, CALL_CONCURRENCY, [rawRequest('GET', path, { ...aim.headers, ...closeConnection })]);
    },
  },
  {
    name: 'headers that are expensive to read',
    by: ALL_ATTACKERS,
    async run(aim) {
      const { by, headers, calendar, origin } = aim;
      const method = by === 'no key' ? 'POST' : 'GET';
      const path = {
        'no key': SIGN_IN_PATH,
        'a calendar URL': calendar,
        'a member': '/v2/user',
        'another account': '/v2/user',
      };
      const known = { ...headers, ...closeConnection, ...(by === 'no key' ? { origin, ...json } : {}) };
      const body = by === 'no key' ? '{}' : undefined;
      const requests = headerBombs.flatMap((bomb) =>
        parsedHeaders.map((name) => rawRequest(method, path[by], { ...known, [name]: bomb }, body)),
      );
      await floodRequests(aim, CALL_CONCURRENCY, requests);
    },
  },
  {
    name: 'JSON that is expensive to read',
    by: ['no key', ...KEY_HOLDERS],
    async run(aim) {
      const { by, headers, origin } = aim;
      const path = by === 'no key' ? SIGN_IN_PATH : IMPORT_PATH;
      const bodies = jsonBombs(by === 'no key' ? 60_000 : IMPORT_BYTES);
      const requests = bodies.map((body) =>
        rawRequest('POST', path, { ...json, ...headers, ...closeConnection, origin }, body),
      );
      await floodRequests(aim, 8, requests);
    },
  },
  {
    name: 'calendar files that repeat without end',
    by: KEY_HOLDERS,
    async run(aim) {
      const bodies = calendarBombs.map((ics) => JSON.stringify({ ics }));
      const requests = bodies.map((body) =>
        rawRequest('POST', IMPORT_PATH, { ...json, ...aim.headers, ...closeConnection }, body),
      );
      await floodRequests(aim, 10, requests);
    },
  },
  {
    name: 'changes of thousands of records',
    by: KEY_HOLDERS,
    async run(aim) {
      const { headers, task } = aim;
      if (task === undefined) throw new Error('the attacker has no task');
      const requests = task.projects.map((project_id) =>
        rawRequest('PUT', task.path, { ...json, ...headers, ...closeConnection }, JSON.stringify({ project_id })),
      );
      await floodRequests(aim, 8, requests);
    },
  },
  {
    name: 'sign-ins with a wrong passphrase',
    by: ['no key'],
    async run(aim) {
      const { origin } = aim;
      const requests = Array.from({ length: 500 }, (_, number) => {
        const body = { domain: 'honest.test', email: `person-${number}@honest.test`, passphrase: 'a wrong passphrase' };
        return rawRequest('POST', SIGN_IN_PATH, { ...json, ...closeConnection, origin }, JSON.stringify(body));
      });
      await floodRequests(aim, 60, requests);
    },
  },
];

/**
 * Texts that cause catastrophic backtracking in a careless regular expression: a start, a repeated middle,
 * and a wrong end.
 */
const PATTERN_BOMBS: readonly (readonly [begin: string, repeats: string, end: string])[] = [
  ['"a"', ', ', 'x'],
  ['"a"', ' , ', '"'],
  ['W/"a"', ',', 'x'],
  ['', '"a",', '"'],
  ['', ' ', 'x'],
  ['', '\t', ','],
  ['a', 'a', '!'],
  ['', 'a/', '/'],
  ['', 'a;', '='],
  ['a=', 'a=', ';'],
  ['Mozilla/5.0 (', '(', ''],
  ['Mozilla/5.0 ', 'Version/1 ', 'Safari'],
  ['bytes=0-', ',0-', 'x'],
  ['', '0', '.'],
  ['', 'a.', '-'],
  ['', '%2', ''],
];

/** Length of an expensive header: about the maximum size of all headers of a request. */
const BOMB_LENGTH = 7_000;

const headerBombs: readonly string[] = PATTERN_BOMBS.map(([begin, repeats, end]) =>
  (begin + repeats.repeat(BOMB_LENGTH / repeats.length) + end).trim(),
);

/** Headers that the service, or one of its libraries, parses. */
export const parsedHeaders: readonly string[] = [
  'if-none-match',
  'if-match',
  'user-agent',
  'accept',
  'accept-encoding',
  'accept-language',
  'content-type',
  'cookie',
  'origin',
  'idempotency-key',
  'authorization',
  'range',
  'last-event-id',
  'x-forwarded-for',
];

/** Returns JSON texts of about `bytes` bytes that are expensive for a careless parser. */
function jsonBombs(bytes: number): readonly string[] {
  const fill = (begin: string, repeats: string, end: string) =>
    begin + repeats.repeat(Math.floor((bytes - begin.length - end.length) / repeats.length)) + end;
  return [
    fill('{"\\u005fa":1,"event_name":[', '[],', '[]]}'),
    fill('', '[', ''),
    fill('', '{"a":', ''),
    fill('{"event_name":"', '\\u005f', '"}'),
    fill('{"event_name":', '9', '}'),
    fill('{', '"\\u005f":1,', '"b":2}'),
  ];
}

/** Short recurrence rules that produce too many dates, or search for a date that never occurs. */
const RULE_BOMBS: readonly string[] = [
  'FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30',
  'FREQ=SECONDLY;INTERVAL=7;BYSECOND=61',
  'FREQ=MINUTELY;BYMONTH=4;BYMONTHDAY=31;BYHOUR=1',
  'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30',
  'FREQ=SECONDLY;COUNT=100000000',
  'FREQ=YEARLY;BYYEARDAY=366;BYDAY=MO;INTERVAL=9;BYSETPOS=366',
];

const calendarBombs: readonly string[] = RULE_BOMBS.map((rule) =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//one caller//EN',
    'BEGIN:VEVENT',
    'UID:bomb',
    'DTSTAMP:20260101T000000Z',
    'DTSTART:20260101T000000Z',
    `RRULE:${rule}`,
    'SUMMARY:Bomb',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n'),
);
