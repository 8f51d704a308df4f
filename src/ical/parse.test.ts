import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { oddCalendars } from '../../test/corpus/calendars.ts';
import { createTemporaryFolder } from '../../test/kit/service/service.ts';
import { FairSemaphore } from '../async/fair-semaphore.ts';
import { CalendarError } from './line-reader.ts';
import { MAX_EVENTS, type ParsedCalendar, parseCalendar } from './parse.ts';
import { PARSER_LIMITS, type ParseTask, parseInChildProcess } from './parse-in-child-process.ts';
import type { ParseOptions } from './series.ts';
import type { SkippedItems } from './skipped.ts';

const OPTIONS: ParseOptions = { zone: undefined, domain: 'acme.test', from: '2026-01-01', to: '2028-12-31' };

function read(lines: readonly string[], given: Partial<ParseOptions> = {}): ParsedCalendar {
  return parseCalendar(lines.join('\r\n'), { ...OPTIONS, ...given }, () => undefined);
}

const calendar = (...lines: readonly string[]) => ['BEGIN:VCALENDAR', 'VERSION:2.0', ...lines, 'END:VCALENDAR'];
const event = (...lines: readonly string[]) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT'];
const spans = ({ events }: ParsedCalendar) => events.map(({ start_date, due_date }) => [start_date, due_date]);
const starts = ({ events }: ParsedCalendar) => events.map(({ start_date }) => start_date);
const reportRows = ({ skippedItems }: ParsedCalendar) =>
  skippedItems.map(({ reason, what, count }: SkippedItems) => [reason, what, count]);

/** A file as Google Calendar writes it. */
const GOOGLE = calendar(
  'PRODID:-//Google Inc//Google Calendar 70.9054//EN',
  'METHOD:PUBLISH',
  'X-WR-CALNAME:Bells',
  'X-WR-TIMEZONE:Europe/Zurich',
  ...event(
    ...['DTSTART:20270131T090000Z', 'DTEND:20270131T103000Z', 'DTSTAMP:20261120T080000Z', 'UID:a1@google.com'],
    ...[
      'CREATED:20261101T100000Z',
      'DESCRIPTION:The <b>plan</b>\\, in',
      '  two lines',
      'LAST-MODIFIED:20261101T100000Z',
    ],
    ...['LOCATION:', 'SEQUENCE:1', 'STATUS:CONFIRMED', 'SUMMARY:Casting\\, first try', 'TRANSP:OPAQUE'],
    ...[
      'BEGIN:VALARM',
      'ACTION:DISPLAY',
      'TRIGGER:-P0DT0H30M0S',
      'DESCRIPTION:This is an event reminder',
      'END:VALARM',
    ],
  ),
  ...event('DTSTART;VALUE=DATE:20270201', 'DTEND;VALUE=DATE:20270204', 'UID:a2@google.com', 'SUMMARY:Fair'),
);

/** A file as Outlook writes it. */
const OUTLOOK = calendar(
  'PRODID:-//Microsoft Corporation//Outlook 16.0 MIMEDIR//EN',
  ...['BEGIN:VTIMEZONE', 'TZID:W. Europe Standard Time'],
  ...['BEGIN:STANDARD', 'DTSTART:16011028T030000', 'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10'],
  ...['TZOFFSETFROM:+0200', 'TZOFFSETTO:+0100', 'END:STANDARD'],
  ...['BEGIN:DAYLIGHT', 'DTSTART:16010325T020000', 'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3'],
  ...['TZOFFSETFROM:+0100', 'TZOFFSETTO:+0200', 'END:DAYLIGHT', 'END:VTIMEZONE'],
  ...event(
    ...['CLASS:PUBLIC', 'UID:040000008200E00074C5B7101A82E008', 'SUMMARY;LANGUAGE=en-us:Weekly'],
    ...[
      'DTSTART;TZID="W. Europe Standard Time":20270318T090000',
      'DTEND;TZID="W. Europe Standard Time":20270318T093000',
    ],
    ...['RRULE:FREQ=WEEKLY;UNTIL=20270408T070000Z', 'EXDATE;TZID="W. Europe Standard Time":20270325T090000'],
    ...['X-MICROSOFT-CDO-BUSYSTATUS:BUSY', 'ORGANIZER;CN="Release Team":mailto:team@acme.test'],
  ),
  ...event(
    ...['UID:allday@outlook', 'SUMMARY:Closed', 'X-MICROSOFT-CDO-ALLDAYEVENT:TRUE'],
    ...['DTSTART;TZID=W. Europe Standard Time:20270401T000000', 'DTEND;TZID=W. Europe Standard Time:20270402T000000'],
  ),
);

/** A file as Apple Calendar writes it. */
const APPLE = calendar(
  'PRODID:-//Apple Inc.//macOS 15.0//EN',
  ...event('UID:B7A4', 'DTSTART;TZID=Europe/Zurich:20270131T140000', 'DURATION:PT45M', 'SUMMARY:Tuning'),
  ...event('UID:B7A5', 'DTSTART:20270131T230000', 'DTEND:20270201T000000', 'SUMMARY:Night'),
  ...event('UID:B7A6', 'DTSTART;VALUE=DATE:20270131', 'SUMMARY:A day without an end'),
  ...event('UID:B7A7', 'DTSTART;TZID=Europe/Zurich:20270131T090000', 'SUMMARY:Open'),
  ...['BEGIN:VTODO', 'UID:T1', 'SUMMARY:Buy bronze', 'END:VTODO'],
);

test('X9 files of Google, Outlook and Apple are parsed, in the zone of the file if the account has none', () => {
  const google = read(GOOGLE);
  assert.equal(google.zone, 'Europe/Zurich');
  assert.deepEqual(spans(google), [
    ['2027-01-31 10:00:00', '2027-01-31 11:30:00'],
    ['2027-02-01 00:00:00', '2027-02-03 00:00:00'],
  ]);
  assert.deepEqual(
    google.events.map(({ event_name }) => event_name),
    ['Casting, first try', 'Fair'],
  );
  assert.deepEqual(reportRows(google), [
    ['no_field', 'DESCRIPTION', 1],
    ['no_field', 'LOCATION', 1],
    ['no_field', 'TRANSP', 1],
    ['no_field', 'VALARM', 1],
    ['zone_of_file', 'TZID', 1],
  ]);
  assert.deepEqual(google.skippedItems[0]?.examples, ['line 7: Casting, first try']);

  assert.deepEqual(spans(read(OUTLOOK)), [
    ['2027-03-18 09:00:00', '2027-03-18 09:30:00'],
    // The last occurrence is in summer time. It is still at nine, and UNTIL, which is in UTC, includes it.
    ['2027-04-01 09:00:00', '2027-04-01 09:30:00'],
    ['2027-04-08 09:00:00', '2027-04-08 09:30:00'],
    ['2027-04-01 00:00:00', '2027-04-01 00:00:00'],
  ]);

  const apple = read(APPLE);
  assert.deepEqual(spans(apple), [
    ['2027-01-31 14:00:00', '2027-01-31 14:45:00'],
    ['2027-01-31 23:00:00', '2027-01-31 23:59:59'],
    ['2027-01-31 00:00:00', '2027-01-31 00:00:00'],
    ['2027-01-31 09:00:00', '2027-01-31 00:00:00'],
  ]);
  assert.deepEqual(reportRows(apple), [
    ['not_an_event', 'VTODO', 1],
    ['no_zone', 'TZID', 1],
  ]);
  assert.deepEqual(apple.skippedItems[0]?.examples, ['line 26: Buy bronze']);
});

test('X9 UTC times are converted to the requested zone, else to that of the file, else stay UTC', () => {
  const utc = event('UID:1', 'DTSTART:20270701T220000Z', 'DTEND:20270701T230000Z', 'SUMMARY:x');
  assert.deepEqual(starts(read(calendar(...utc))), ['2027-07-01 22:00:00']);
  assert.deepEqual(starts(read(calendar('X-WR-TIMEZONE:America/New_York', ...utc))), ['2027-07-01 18:00:00']);
  const asked = read(calendar('X-WR-TIMEZONE:America/New_York', ...utc), { zone: 'Europe/Zurich' });
  assert.deepEqual(spans(asked), [['2027-07-02 00:00:00', '2027-07-02 01:00:00']]);
  // A time that is ambiguous, or that clocks skip, stays as it is written.
  const twice = event('UID:2', 'DTSTART;TZID=Europe/Zurich:20271031T023000', 'SUMMARY:x');
  const never = event('UID:3', 'DTSTART;TZID=Europe/Zurich:20270328T023000', 'SUMMARY:x');
  assert.deepEqual(starts(read(calendar(...twice, ...never))), ['2027-10-31 02:30:00', '2027-03-28 02:30:00']);
  // The flight starts in one zone and ends in another. Its end is converted to the zone of its start.
  const flight = event(
    ...[
      'UID:4',
      'SUMMARY:x',
      'DTSTART;TZID=Europe/Zurich:20270131T100000',
      'DTEND;TZID=America/New_York:20270131T130000',
    ],
  );
  assert.deepEqual(spans(read(calendar(...flight))), [['2027-01-31 10:00:00', '2027-01-31 19:00:00']]);
});

test('X9 a series has every time within the horizon, with overrides applied, each identified by its day', () => {
  const weekly = event(
    'UID:w',
    'DTSTART;TZID=Europe/Zurich:20270104T090000',
    'DURATION:PT1H',
    'SUMMARY:Weekly',
    'RRULE:FREQ=WEEKLY;COUNT=5',
    'EXDATE:20270111T080000Z',
    'RDATE;TZID=Europe/Zurich:20270106T150000',
  );
  const moved = event(
    'UID:w',
    'RECURRENCE-ID;TZID=Europe/Zurich:20270118T090000',
    'DTSTART;TZID=Europe/Zurich:20270119T140000',
    'DURATION:PT2H',
    'SUMMARY:Moved',
  );
  const off = event(
    'UID:w',
    'RECURRENCE-ID;TZID=Europe/Zurich:20270125T090000',
    'DTSTART;TZID=Europe/Zurich:20270125T090000',
    'STATUS:CANCELLED',
    'SUMMARY:Off',
  );
  const found = read(calendar(...moved, ...weekly, ...off), { zone: 'Europe/Zurich' });
  assert.deepEqual(
    found.events.map(({ event_name, start_date, due_date }) => [event_name, start_date, due_date]),
    [
      ['Weekly', '2027-01-04 09:00:00', '2027-01-04 10:00:00'],
      ['Weekly', '2027-01-06 15:00:00', '2027-01-06 16:00:00'],
      ['Moved', '2027-01-19 14:00:00', '2027-01-19 16:00:00'],
      ['Weekly', '2027-02-01 09:00:00', '2027-02-01 10:00:00'],
    ],
  );
  assert.deepEqual(reportRows(found), [['cancelled', 'VEVENT', 1]]);
  assert.equal(new Set(found.events.map(({ entryHash }) => entryHash)).size, 4);

  // An occurrence on the same day is the same entry, even if its time has changed.
  const later = read(
    calendar(...weekly.map((line) => line.replace('T090000', 'T100000').replace('T080000Z', 'T090000Z'))),
  );
  assert.equal(later.events[0]?.entryHash, found.events[0]?.entryHash);
  assert.notEqual(later.events[0]?.contentHash, found.events[0]?.contentHash);

  const onwards = event(
    'UID:f',
    'RECURRENCE-ID;RANGE=THISANDFUTURE:20270112T090000',
    'DTSTART:20270112T110000',
    'DTEND:20270112T113000',
    'SUMMARY:Later',
  );
  const daily = event(
    'UID:f',
    'DTSTART:20270111T090000',
    'DTEND:20270111T093000',
    'SUMMARY:Daily',
    'RRULE:FREQ=DAILY;COUNT=3',
  );
  assert.deepEqual(starts(read(calendar(...daily, ...onwards))), [
    '2027-01-11 09:00:00',
    '2027-01-12 11:00:00',
    '2027-01-13 11:00:00',
  ]);
});

test('X9 an override matches its time in any notation, and no file yields an event twice', () => {
  const zurich = 'TZID=Europe/Zurich';
  const weekly = event('UID:w', `DTSTART;${zurich}:20270104T090000`, 'SUMMARY:W', 'RRULE:FREQ=WEEKLY;COUNT=3');
  const moved = (id: string, name = 'Moved', ...more: readonly string[]) =>
    event('UID:w', `RECURRENCE-ID${id}`, `DTSTART;${zurich}:20270112T100000`, `SUMMARY:${name}`, ...more);
  const names = (...lines: readonly string[]) => {
    const { events } = read(calendar(...lines));
    assert.equal(new Set(events.map(({ entryHash }) => entryHash)).size, events.length, 'each is known by itself');
    return events.map(({ event_name }) => event_name);
  };
  const ids = [`;${zurich}:20270111T090000`, ':20270111T080000Z', ';TZID=America/New_York:20270111T030000'];
  for (const id of [...ids, ':20270111T090000', ';VALUE=DATE:20270111', ':20270111']) {
    assert.deepEqual(names(...weekly, ...moved(id)), ['W', 'Moved', 'W'], id);
    assert.deepEqual(names(...weekly.slice(0, -1), `EXDATE${id}`, 'END:VEVENT'), ['W', 'W'], id);
  }
  // An override of a time that the series does not have is an additional event. Of two versions of an override, the
  // newest is used.
  assert.deepEqual(names(...weekly, ...moved(`;${zurich}:20270111T100000`)), ['W', 'W', 'W', 'Moved']);
  assert.deepEqual(
    names(...weekly, ...moved(ids[0] ?? '', 'New', 'SEQUENCE:2'), ...moved(ids[1] ?? '', 'Old', 'SEQUENCE:1')),
    ['W', 'New', 'W'],
  );
  // An override without a series, or of an event that does not recur, is a separate event.
  assert.deepEqual(names(...moved(':20270111T100000Z', 'Second'), ...moved(':20270111T080000Z', 'First')), [
    'First',
    'Second',
  ]);
  const once = event('UID:w', 'DTSTART:20270104T090000', 'SUMMARY:Once');
  assert.deepEqual(names(...once, ...moved(':20270111T080000Z')), ['Once', 'Moved']);
  // If an event recurs only by RDATE, DTSTART is its first date. Duplicates are merged.
  const dates = ['DTSTART;VALUE=DATE:20270104', 'RDATE;VALUE=DATE:20270110', 'RDATE:20270110,20270112', 'SUMMARY:D'];
  assert.deepEqual(starts(read(calendar(...event('UID:d', ...dates)))), [
    '2027-01-04 00:00:00',
    '2027-01-10 00:00:00',
    '2027-01-12 00:00:00',
  ]);
});

test('X9 a series ends at the horizon or after eleven hundred times, and the report says so', () => {
  const rule = (uid: string, start: string, text: string) =>
    event(`UID:${uid}`, `DTSTART:${start}`, `RRULE:${text}`, `SUMMARY:${uid}`);
  const yearly = read(calendar(...rule('birthday', '20200229T090000', 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1')));
  assert.deepEqual(starts(yearly), ['2026-02-28 09:00:00', '2027-02-28 09:00:00', '2028-02-29 09:00:00']);
  assert.deepEqual(reportRows(yearly), [
    ['repeated_before', 'VEVENT', 1],
    ['repeated_after', 'VEVENT', 1],
  ]);
  const often = read(calendar(...rule('often', '20270101T000000', 'FREQ=SECONDLY')));
  assert.equal(often.events.length, 1_100);
  const daily = read(calendar(...rule('daily', '20200101T090000', 'FREQ=DAILY')));
  assert.deepEqual([starts(daily).length, starts(daily).at(-1)], [1_096, '2028-12-31 09:00:00']);
  assert.deepEqual(reportRows(often), [['repeated_too_often', 'VEVENT', 1]]);
  const long = Array.from({ length: 50_001 }, (_, index) => event(`UID:${index}`, 'DTSTART:20270101')).flat();
  assert.throws(() => read(['BEGIN:VCALENDAR'].concat(long, 'END:VCALENDAR')), {
    name: 'CalendarError',
    message: /beyond 50000 events/,
  });
});

test('X9 only what cannot be an event is left out, and reported with reason and line', () => {
  const long = `${'n'.repeat(300)}`;
  const found = read(
    calendar(
      ...event('UID:1', 'SUMMARY:No beginning'),
      ...event('UID:2', 'DTSTART:tomorrow', 'SUMMARY:No time'),
      ...event('UID:4', 'DTSTART:20270101T090000', 'STATUS:CANCELLED', 'SUMMARY:Cancelled'),
      ...event('UID:5', 'DTSTART:20270101T090000', 'SEQUENCE:2', 'SUMMARY:New'),
      ...event('UID:5', 'DTSTART:20270101T080000', 'SEQUENCE:1', 'SUMMARY:Old'),
      ...event('UID:event-7@acme.test', 'DTSTART:20270101T090000', 'SUMMARY:Ours'),
      ...event('UID:event-7@other.test', 'DTSTART:20270101T090000', 'SUMMARY:Theirs'),
      ...event('UID:6', 'DTSTART:20270101T090000'),
      ...event('UID:7', 'DTSTART:20270101T090000', `SUMMARY:${long}`),
      ...event('DTSTART:20270101T090000', 'SUMMARY:Without an identifier'),
      ...event('UID:8', 'DTSTART:20270230T090000', 'SUMMARY:No day'),
      ...event('UID:9', 'DTSTART:20270101T090000', 'DURATION:P9999999D', 'SUMMARY:Too late'),
    ),
  );
  assert.deepEqual(
    found.events.map(({ event_name }) => event_name),
    ['New', 'Theirs', 'Untitled', 'n'.repeat(255), 'Without an identifier', 'Too late'],
  );
  assert.deepEqual(
    found.skippedItems.map(({ reason, what, examples }) => [reason, what, ...examples]),
    [
      ['no_start', 'VEVENT', 'line 3: No beginning', 'line 7: No time', 'line 53: No day'],
      ['bad_time', 'DTSTART', 'line 9: tomorrow', 'line 55: 20270230T090000'],
      ['bad_duration', 'DURATION', 'line 61: P9999999D'],
      ['cancelled', 'VEVENT', 'line 12: Cancelled'],
      ['replaced', 'VEVENT', 'line 24: Old'],
      ['own', 'VEVENT', 'line 30: Ours'],
      ['untitled', 'VEVENT', 'line 40: '],
      ['shortened', 'VEVENT', `line 44: ${'n'.repeat(120)}`],
    ],
  );
});

test('X9 a file that is not a calendar is rejected with the line; any line endings are accepted', () => {
  const faults: [string, number, RegExp][] = [
    ['', 1, /^must be BEGIN:VCALENDAR$/],
    ['hello', 1, /^must be BEGIN:VCALENDAR$/],
    ['\n\nBEGIN:VCARD\nEND:VCARD', 3, /^must be BEGIN:VCALENDAR$/],
    ['BEGIN:VCALENDAR\nVERSION:2.0', 1, /^begins VCALENDAR, which does not end$/],
    ['BEGIN:VCALENDAR\nBEGIN:VEVENT\n', 2, /^begins VEVENT, which does not end$/],
    ['BEGIN:VCALENDAR\nEND:VCALENDAR\nEND:VCALENDAR', 3, /^ends VCALENDAR, and nothing has begun$/],
    [`BEGIN:VCALENDAR\n${'BEGIN:X\n'.repeat(20)}`, 9, /^is within too many others$/],
  ];
  for (const [text, line, message] of faults) {
    assert.throws(
      () => parseCalendar(text, OPTIONS, () => undefined),
      (error) => error instanceof CalendarError && error.lineNumber === line && message.test(error.message),
      text,
    );
  }
  assert.deepEqual(read(calendar()).skippedItems, [], 'one that is empty is a calendar');
  for (const ending of ['\r\n', '\n', '\r']) {
    const text = `\ufeff  ${calendar(...event('UID:1', 'DTSTART:20270101T09', ' 0000', 'SUMMARY:x')).join(ending)}${ending}`;
    assert.deepEqual(starts(parseCalendar(text, OPTIONS, () => undefined)), ['2027-01-01 09:00:00']);
  }
});

/** A file that takes longer to parse than the timeout of the test. */
const LONG = [
  'BEGIN:VCALENDAR',
  ...Array.from({ length: 40_000 }, (_, uid) => event(`UID:${uid}`, 'DTSTART:20270101')).flat(),
  'END:VCALENDAR',
];

/** Opens a file with these lines and returns its descriptor. */
async function openFileWith(t: TestContext, lines: readonly string[]): Promise<number> {
  const handle = await open(join(createTemporaryFolder(t), 'file.ics'), 'wx+');
  t.after(() => handle.close());
  await handle.writeFile(lines.join('\n'));
  return handle.fd;
}

test('X9 a file that takes too long is aborted, and the next one is parsed normally', async (t) => {
  const long = await openFileWith(t, LONG);
  await assert.rejects(parseInChildProcess(1, long, OPTIONS, 1), { name: 'CalendarError', message: /too long/ });
  const fine = await openFileWith(t, calendar(...event('UID:0', 'DTSTART:20270101T090000', 'SUMMARY:Fine')));
  assert.equal((await parseInChildProcess(1, fine, OPTIONS)).events.length, 1);
});

test('X9 a file with as many events as are allowed is parsed within the memory limit of the parser process', async (t) => {
  const events = Array.from({ length: MAX_EVENTS }, (_, uid) =>
    event(`UID:${uid}@far.test`, 'DTSTART:20270101T090000', 'DTEND:20270101T100000', `SUMMARY:Event ${uid}`),
  );
  const fd = await openFileWith(t, ['BEGIN:VCALENDAR', 'VERSION:2.0', ...events.flat(), 'END:VCALENDAR']);
  assert.equal((await parseInChildProcess(1, fd, OPTIONS)).events.length, MAX_EVENTS);
});

test('X9 ten files of one account leave a parser and most of the queue to other accounts', async () => {
  const readers = new FairSemaphore<number>(PARSER_LIMITS);
  const { promise: bombsEnd, resolve: endBombs } = Promise.withResolvers<void>();
  const refused: string[] = [];
  const bombs = Array.from({ length: 10 }, () =>
    readers.runWithPermit(1, () => bombsEnd).catch(({ code }) => refused.push(code)),
  );
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(refused, Array(7).fill('overloaded'), 'one is read and two wait');
  // Other files are parsed, although none of the slow files has finished.
  for (const accountId of [2, 3, 2, 3])
    assert.equal(await readers.runWithPermit(accountId, async () => 'read'), 'read');
  endBombs();
  await Promise.all(bombs);
});

test('X9 the parser process exits after its parent has died', async (t) => {
  const reader = fork(fileURLToPath(new URL('parser-process.ts', import.meta.url)), [], {
    stdio: [await openFileWith(t, LONG), 'ignore', 'ignore', 'ipc'],
    env: {},
  });
  t.after(() => reader.kill('SIGKILL'));
  reader.send({ options: OPTIONS, timeoutMs: 1 } satisfies ParseTask);
  const [code] = await once(reader, 'exit');
  assert.notEqual(code, 0);
});

for (const one of oddCalendars) {
  test(`X9 ${one.description}`, () => {
    const zone = 'zone' in one ? one.zone : 'Europe/Zurich';
    const options = { zone, domain: 'acme.test', from: '2026-01-01', to: '2028-12-31' };
    const text = ['BEGIN:VCALENDAR', ...one.lines, 'END:VCALENDAR'].join('\r\n');
    const { events, skippedItems } = parseCalendar(text, options, () => undefined);
    assert.deepEqual(
      events.map(({ event_name, start_date, due_date }) => [event_name, start_date, due_date]),
      one.events,
    );
    assert.deepEqual(
      skippedItems.flatMap(({ reason, what, examples }) => examples.map((example) => [reason, what, example])),
      one.expectedReport,
    );
  });
}
