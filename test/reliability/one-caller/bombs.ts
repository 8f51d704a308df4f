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

/** About the maximum size of the headers of a request. */
const BOMB_LENGTH = 7_000;

export const headerBombs: readonly string[] = PATTERN_BOMBS.map(([begin, repeats, end]) =>
  (begin + repeats.repeat(BOMB_LENGTH / repeats.length) + end).trim(),
);

/** Headers that the service, or one of its libraries, parses. */
export const headerNames: readonly string[] = [
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

/** JSON of about `bytes` bytes that is expensive for a careless parser. */
export function jsonBombs(bytes: number): readonly string[] {
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

/** Recurrence rules of some 100 bytes that produce too many dates, or search for one that never occurs. */
const RULE_BOMBS: readonly string[] = [
  'FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30',
  'FREQ=SECONDLY;INTERVAL=7;BYSECOND=61',
  'FREQ=MINUTELY;BYMONTH=4;BYMONTHDAY=31;BYHOUR=1',
  'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30',
  'FREQ=SECONDLY;COUNT=100000000',
  'FREQ=YEARLY;BYYEARDAY=366;BYDAY=MO;INTERVAL=9;BYSETPOS=366',
];

export const calendarBombs: readonly string[] = RULE_BOMBS.map((rule) =>
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
