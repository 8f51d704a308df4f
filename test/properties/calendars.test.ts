import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { convertIcsCalendar } from 'ts-ics';
import { toEventSpan, toStoredDates } from '../../src/ical/days.ts';
import { CalendarError } from '../../src/ical/line-reader.ts';
import { type ParsedCalendar, parseCalendar } from '../../src/ical/parse.ts';
import { skipReasons } from '../../src/ical/skipped.ts';
import { CALENDAR_END, writeCalendarStart, writeEntry } from '../../src/ical/write.ts';
import { createCalendarZone } from '../../src/ical/zone.ts';
import { oddCalendars } from '../corpus/calendars.ts';

const twoDigits = (value: number) => String(value).padStart(2, '0');
const day = fc
  .date({ min: new Date('2026-01-01T00:00:00Z'), max: new Date('2029-12-31T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map(twoDigits).join(':'));

/**
 * Start and due dates of an event. Dates are excluded if their written form is read back differently: a time at
 * 00:00:00 means a whole day.
 */
const eventDates = fc
  .tuple(fc.tuple(day, day), fc.tuple(clock, clock), fc.constantFrom('days', 'times', 'open', 'to the end of the day'))
  .map(([days, [one, other], form]) => {
    const [first = '', last = ''] = [...days].sort();
    if (form === 'days') return { start_date: `${first} 00:00:00`, due_date: `${last} 00:00:00` };
    if (form === 'open') return { start_date: `${first} ${one}`, due_date: `${first} 00:00:00` };
    if (form === 'to the end of the day') return { start_date: `${first} ${one}`, due_date: `${last} 23:59:59` };
    const [start = '', end = ''] = [`${first} ${one}`, `${last} ${other}`].sort();
    return { start_date: start, due_date: end.endsWith(' 00:00:00') ? `${end.slice(0, 10)} 00:00:01` : end };
  });

/** A name as stored: trimmed, at most 255 characters, without characters that iCalendar forbids. */
const name = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 200 })
  .map((text) =>
    text
      .replace(/\r\n|[\r\u0085\u2028\u2029]/g, '\n')
      .replace(/[^\P{Cc}\t\n]/gu, '')
      .trim(),
  )
  .filter((text) => text !== '');

const event = fc.record({ name, dated: eventDates });
const timeZones = fc.constantFrom(undefined, 'Europe/Zurich', 'America/St_Johns', 'Pacific/Chatham', 'UTC');

test('X9 events that are written and read again are equal: names, days and times, with and without a time zone', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 8 }), timeZones, (events, inZone) => {
      const zone = inZone === undefined ? undefined : createCalendarZone(inZone, Date.UTC(2025, 0), Date.UTC(2031, 0));
      const entries = events.map(({ name, dated }, index) =>
        writeEntry(
          {
            ...dated,
            uid: `event-${index}@elsewhere.test`,
            name,
            description: [name],
            category: name,
            url: `http://127.0.0.1/${name}`,
            isBusy: true,
            createdAt: 0,
            modifiedAt: null,
          },
          zone,
        ),
      );
      const text = writeCalendarStart({ name: 'x', description: '', zone }) + entries.join('') + CALENDAR_END;
      // An independent parser finds the same events with the same names.
      const others = convertIcsCalendar(undefined, text).events ?? [];
      assert.deepEqual(
        others.map(({ uid, summary }) => [uid, summary]),
        events.map(({ name }, index) => [`event-${index}@elsewhere.test`, name]),
      );
      const options = { zone: inZone, domain: 'acme.test', from: '2026-01-01', to: '2029-12-31' };
      const found = parseCalendar(text, options, () => undefined);
      assert.deepEqual(
        found.events.map(({ event_name, start_date, due_date }) => ({ event_name, start_date, due_date })),
        events.map(({ name, dated }) => ({ event_name: name, ...dated })),
      );
    }),
    {
      numRuns: 300,
      examples: [
        // Clocks skip the start of these.
        [
          [
            { name: 'a', dated: { start_date: '2027-03-28 02:30:00', due_date: '2027-03-28 03:15:00' } },
            { name: 'b', dated: { start_date: '2027-03-28 02:30:00', due_date: '2027-03-28 03:30:00' } },
            { name: 'c', dated: { start_date: '2027-03-28 02:59:59', due_date: '2027-03-28 23:59:59' } },
          ],
          'Europe/Zurich',
        ],
        [
          [{ name: '!', dated: { start_date: '2026-09-27 03:00:00', due_date: '2026-09-27 00:00:00' } }],
          'Pacific/Chatham',
        ],
      ],
    },
  );
});

test('X9 the dates of an event survive the conversion to iCalendar and back', () => {
  fc.assert(fc.property(eventDates, (one) => assert.deepEqual(toStoredDates(toEventSpan(one)), one)));
});

/** Optional content lines of a valid event. */
const optionalLines = [
  'DTEND;TZID=America/New_York:20270131T110000',
  'DURATION:PT1H',
  'RRULE:FREQ=WEEKLY;COUNT=3',
  'RRULE:FREQ=DAILY;UNTIL=20270301T000000Z;BYDAY=MO,TU',
  'RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYSETPOS=1;COUNT=4',
  'EXDATE;TZID=America/New_York:20270207T100000',
  'RDATE;VALUE=PERIOD:20270210T100000Z/PT2H',
  'SEQUENCE:2',
  'LOCATION:Hall 2\\, left',
  'ATTENDEE;CN="Bell, Ringer":mailto:ringer@acme.test',
  'X-MICROSOFT-CDO-ALLDAYEVENT:FALSE',
];

const START_LINE = 'DTSTART;TZID=America/New_York:20270131T100000';
const calendar = fc
  .array(fc.subarray(optionalLines), { minLength: 1, maxLength: 6 })
  .map((events) => [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'X-WR-TIMEZONE:Europe/Zurich',
    ...['BEGIN:VTIMEZONE', 'TZID:Office', 'BEGIN:STANDARD', 'DTSTART:19700101T000000'],
    ...['TZOFFSETFROM:+0100', 'TZOFFSETTO:+0100', 'END:STANDARD', 'END:VTIMEZONE'],
    ...events.flatMap((some, index) => [
      ...['BEGIN:VEVENT', `UID:event ${index}`, START_LINE, `SUMMARY:Event ${index}`],
      ...[...some, 'END:VEVENT'],
    ]),
    'END:VCALENDAR',
  ]);

/** Texts that have a meaning in iCalendar or are known to break parsers. */
const hostileTexts = [
  ...[':', ';', ',', '=', '"', ' ', '\t', '\0', '\ud800', '\\', '/', '-', '+', 'Z', 'T', 'P', '0', '999999999999999'],
  ...['BEGIN:VEVENT', 'END:VEVENT', 'BEGIN:VCALENDAR', 'END:VCALENDAR', 'BEGIN:VALARM', 'BEGIN:X'],
  ...['RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30', 'INTERVAL=0', 'COUNT=-1', 'BYSETPOS=366', 'UNTIL=', 'FREQ='],
  ...['RDATE;VALUE=PERIOD:', 'EXDATE:', 'DTSTART:', 'TZID=Nowhere', '__proto__', 'constructor', '20270230T250000'],
];
const text = fc.oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: 'binary', maxLength: 12 }));

/** A change of one line. The first line, which marks the file as a calendar, is not changed. */
const change = fc.record({
  at: fc.nat(),
  how: fc.constantFrom('cut', 'insert', 'replace', 'double', 'drop', 'value', 'fold'),
  place: fc.nat(),
  text,
});

type LineChange = { readonly at: number; readonly how: string; readonly place: number; readonly text: string };

function applyChange(line: string, { how, place, text }: LineChange): readonly string[] {
  const at = place % (line.length + 1);
  if (how === 'cut') return [line.slice(0, at)];
  if (how === 'insert') return [line.slice(0, at) + text + line.slice(at)];
  if (how === 'replace') return [text];
  if (how === 'double') return [line, line];
  if (how === 'drop') return [];
  return how === 'value' ? [`${line.split(':')[0]}:${text}`] : [` ${line}`];
}

const OPTIONS = { zone: 'Europe/Zurich', domain: 'acme.test', from: '2026-01-01', to: '2028-12-31' };

/** Reads a calendar and asserts that messages and examples are our own texts, without internal errors. */
function readOrReject(lines: readonly string[]): ParsedCalendar | CalendarError {
  let found: ParsedCalendar;
  try {
    found = parseCalendar(lines.join('\r\n'), OPTIONS, () => undefined);
  } catch (error) {
    assert.ok(error instanceof CalendarError, String(error));
    assert.match(error.message, /^(?:must be|begins|ends|is within|is beyond|takes too long) /);
    return error;
  }
  for (const { reason, what, examples } of found.skippedItems) {
    assert.ok(reason in skipReasons);
    for (const example of examples) {
      assert.match(example, /^line [1-9]\d*: /);
      assert.ok(example.isWellFormed() && !example.includes('\0') && what.isWellFormed());
    }
  }
  return found;
}

/** Returns the UID line of the event that a line belongs to; undefined outside of events. */
function eventAt(lines: readonly string[], at: number): string | undefined {
  const before = lines.slice(0, at + 1);
  const begun = before.lastIndexOf('BEGIN:VEVENT');
  const isWithin = begun !== -1 && !before.slice(begun, -1).includes('END:VEVENT');
  return isWithin ? lines[begun + 1] : undefined;
}

test('X9 a changed line costs at most its own event: all other events are read, with bounded work and reports in our own words', () => {
  fc.assert(
    fc.property(calendar, change, (lines, change) => {
      // Line 1 stays unchanged as well: as a continuation line it would change the first line.
      const at = 2 + (change.at % (lines.length - 2));
      const line = lines[at] ?? '';
      const found = readOrReject([...lines.slice(0, at), ...applyChange(line, change), ...lines.slice(at + 1)]);
      assert.ok(!(found instanceof CalendarError), String(found));
      const uids = lines.filter((one) => one.startsWith('UID:'));
      // A folded line becomes part of the previous line, so the event of the previous line may be lost.
      const touched = new Set([eventAt(lines, at), change.how === 'fold' ? eventAt(lines, at - 1) : undefined]);
      const names = new Set(found.events.map(({ event_name }) => event_name));
      for (const uid of uids) {
        if (!touched.has(uid)) assert.ok(names.has(`Event ${uid.slice(-1)}`), `${uid} is not there`);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('X9 odd calendars with several changes are read or rejected in our own words', () => {
  const odd = fc.constantFrom(...oddCalendars).map(({ lines }) => ['BEGIN:VCALENDAR', ...lines, 'END:VCALENDAR']);
  fc.assert(
    fc.property(odd, fc.array(change, { maxLength: 6 }), (lines, changes) => {
      const all = [...lines];
      for (const one of changes) {
        const at = 1 + (one.at % (all.length - 1));
        all.splice(at, 1, ...applyChange(all[at] ?? '', one));
        if (all.length < 2) return;
      }
      readOrReject(all);
    }),
    { numRuns: 1_000 },
  );
});
