import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ICAL } from '../../test/kit/packages.ts';
import { CALENDAR_END, type CalendarEntry, writeCalendarStart, writeEntry } from './write.ts';
import { createCalendarZone, localTimeAt, offsetSecondsAt } from './zone.ts';

const YEAR = { fromMs: Date.UTC(2026, 0), untilMs: Date.UTC(2029, 0) };

function entry(given: Partial<CalendarEntry>): CalendarEntry {
  return {
    uid: 'event-1@acme.test',
    name: 'Launch',
    start_date: '2027-01-31 10:00:00',
    due_date: '2027-01-31 11:30:00',
    description: [],
    category: '',
    url: 'http://127.0.0.1/#/calendar?date=2027-01-31',
    isBusy: true,
    createdAt: Date.UTC(2026, 10, 20, 8),
    modifiedAt: null,
    ...given,
  };
}

function writeCalendar(named: string | undefined, ...entries: readonly Partial<CalendarEntry>[]): string {
  const zone = named === undefined ? undefined : createCalendarZone(named, YEAR.fromMs, YEAR.untilMs);
  const texts = entries.map((one) => writeEntry(entry(one), zone));
  return writeCalendarStart({ name: 'A calendar', description: '', zone }) + texts.join('') + CALENDAR_END;
}

const parsed = (text: string) => new ICAL.Component(ICAL.parse(text)).getAllSubcomponents('vevent');
const linesOf = (text: string, name: string) => text.split('\r\n').filter((line) => line.startsWith(name));

/** Names that try to end a line or value early, or to change its meaning. */
const HOSTILE = [
  'x\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:injected',
  'x\nATTENDEE:mailto:a@b.test',
  'x\rX-A:1',
  'x\u2028X-B:1\u2029X-C:1\u0085X-D:1',
  '\\n\\N\\;\\,\\\\',
  'a;b,c:d"e\tf',
  '\u0000\u0007\u001b[31mred\u009b',
  '予定 ☃ 😀 👩‍👩‍👧 e\u0301 ٱ'.repeat(20),
  `${'x'.repeat(74)}😀`,
  'a lone \ud800 surrogate',
  ' leading, and a trailing backslash\\',
];

test('X9 texts cannot break lines: they are read back as written, in lines of at most 75 octets', () => {
  for (const text of HOSTILE) {
    const ics = writeCalendar(undefined, {
      name: text,
      description: [text, text],
      category: text,
      url: `http://x/${text}`,
    });
    for (const line of ics.split('\r\n')) {
      assert.ok(Buffer.byteLength(line) <= 75, line);
      assert.ok(!/[\n\r\u0085\u2028\u2029]/.test(line), JSON.stringify(line));
    }
    // Every line is valid UTF-8: no character was split.
    const bytes = Buffer.from(ics);
    assert.equal(new TextDecoder('utf-8', { fatal: true }).decode(bytes), ics);
    const meant = text
      .toWellFormed()
      .replace(/\r\n|[\r\n\u0085\u2028\u2029]/g, '\n')
      .replace(/[^\P{Cc}\t\n]/gu, '');
    const events = parsed(ics);
    assert.equal(events.length, 1, text);
    assert.deepEqual(
      events[0]?.getAllProperties().map(({ name }) => name),
      'uid dtstamp created last-modified sequence dtstart dtend summary description categories url transp'.split(' '),
    );
    assert.equal(events[0]?.getFirstPropertyValue('summary'), meant);
    assert.equal(events[0]?.getFirstPropertyValue('description'), `${meant}\n${meant}`);
    assert.equal(events[0]?.getFirstPropertyValue('categories'), meant);
  }
});

test('X9 all-day events have an exclusive end; times are floating, in a zone with its rules, or UTC', () => {
  const forms: [Partial<CalendarEntry>, string[]][] = [
    [{ start_date: '2027-01-31 00:00:00', due_date: '2027-01-31 00:00:00' }, ['20270131', '20270201']],
    [{ start_date: '2027-01-31 00:00:00', due_date: '2027-02-02 00:00:00' }, ['20270131', '20270203']],
    // Dates are clamped, because some programs reject a calendar with dates near the year 1 or 9999.
    [{ start_date: '0001-01-01 00:00:00', due_date: '9999-12-31 00:00:00' }, ['19000101', '22000101']],
    [{ start_date: '0001-01-01 09:00:00', due_date: '9999-12-31 23:59:59' }, ['19000101T090000', '22000101T000000']],
    [{ start_date: '2027-01-31 10:00:00', due_date: '2027-01-31 11:30:00' }, ['20270131T100000', '20270131T113000']],
    // The event lasts to the end of the day, as the console writes it.
    [{ start_date: '2027-01-31 22:00:00', due_date: '2027-01-31 23:59:59' }, ['20270131T220000', '20270201T000000']],
    [{ start_date: '2027-01-31 00:00:00', due_date: '2027-01-31 00:30:00' }, ['20270131T000000', '20270131T003000']],
    // The event has a start time and no end time.
    [{ start_date: '2027-01-31 10:00:00', due_date: '2027-01-31 00:00:00' }, ['20270131T100000']],
  ];
  for (const [given, wanted] of forms) {
    const ics = writeCalendar(undefined, given);
    const times = [...linesOf(ics, 'DTSTART'), ...linesOf(ics, 'DTEND')].map((line) => line.split(':')[1]);
    assert.deepEqual(times, wanted);
    assert.equal(parsed(ics).length, 1);
  }
  const still = writeCalendar(undefined, { start_date: '2027-01-31 10:00:00', due_date: '2027-01-31 10:00:00' });
  assert.deepEqual(linesOf(still, 'DURATION'), ['DURATION:PT0S']);
  // Clients read a start that clocks skip as an hour later, so DTEND would be before the start.
  const skipped = { start_date: '2027-03-28 02:30:00', due_date: '2027-03-28 03:15:00' };
  assert.deepEqual(linesOf(writeCalendar('Europe/Zurich', skipped), 'DURATION'), ['DURATION:PT2700S']);
  assert.deepEqual(linesOf(writeCalendar('Europe/Zurich', skipped), 'DTEND'), []);
  const untilMidnight = { start_date: '2027-03-28 02:30:00', due_date: '2027-03-28 23:59:59' };
  assert.deepEqual(linesOf(writeCalendar('Europe/Zurich', untilMidnight), 'DTEND;'), [
    'DTEND;TZID=Europe/Zurich:20270329T000000',
  ]);
  assert.deepEqual(linesOf(writeCalendar('Asia/Kathmandu', skipped), 'DTEND'), [
    'DTEND;TZID=Asia/Kathmandu:20270328T031500',
  ]);
  assert.deepEqual(linesOf(writeCalendar('UTC', {}), 'DTSTART'), ['DTSTART:20270131T100000Z']);
  const zurich = writeCalendar('Europe/Zurich', {});
  assert.deepEqual(linesOf(zurich, 'DTSTART;'), ['DTSTART;TZID=Europe/Zurich:20270131T100000']);
  assert.deepEqual(linesOf(zurich, 'X-WR-TIMEZONE'), ['X-WR-TIMEZONE:Europe/Zurich']);
  assert.deepEqual(linesOf(writeCalendar(undefined, {}), 'X-WR-TIMEZONE'), []);
});

test('X9 a changed entry has a later stamp and a higher sequence; an unchanged one has the same bytes', () => {
  const createdAt = Date.UTC(2026, 10, 20, 8);
  const before = writeCalendar(undefined, { createdAt });
  const after = writeCalendar(undefined, { createdAt, modifiedAt: createdAt + 61_500 });
  assert.equal(writeCalendar(undefined, { createdAt }), before);
  assert.deepEqual(linesOf(before, 'SEQUENCE'), ['SEQUENCE:0']);
  assert.deepEqual(linesOf(after, 'SEQUENCE'), ['SEQUENCE:61']);
  assert.deepEqual(linesOf(after, 'LAST-MODIFIED'), ['LAST-MODIFIED:20261120T080101Z']);
  assert.deepEqual(linesOf(after, 'DTSTAMP'), ['DTSTAMP:20261120T080101Z']);
});

test('X9 another program computes the same times from a written zone, at and around every offset change', () => {
  // These zones have summer time or none, are in the southern hemisphere, change by half an hour, or have an
  // exceptional month.
  const zones = ['Europe/Zurich', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Africa/Casablanca'];
  let changes = 0;
  for (const zone of zones) {
    for (let atMs = YEAR.fromMs; atMs < YEAR.untilMs; atMs += 3_600_000) {
      if (offsetSecondsAt(zone, atMs) === offsetSecondsAt(zone, atMs + 3_600_000)) continue;
      changes += 1;
      for (const momentMs of [-86_400_000, -7_200_000, 7_200_000, 86_400_000].map((ms) => atMs + ms + 60_000)) {
        const start_date = localTimeAt(zone, momentMs);
        const [event] = parsed(writeCalendar(zone, { start_date, due_date: `${start_date.slice(0, 10)} 00:00:00` }));
        assert.ok(event !== undefined);
        assert.equal(new ICAL.Event(event).startDate.toUnixTime() * 1_000, momentMs, `${zone} ${start_date}`);
      }
    }
  }
  assert.ok(changes >= 20, String(changes));
});
