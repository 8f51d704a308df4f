import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { convertIcsCalendar } from 'ts-ics';
import { datedOf, spanOf } from '../../src/ical/days.ts';
import { readCalendar } from '../../src/ical/parse.ts';
import { beginning, ENDING, entryText } from '../../src/ical/write.ts';
import { zoneAround } from '../../src/ical/zone.ts';

const two = (value: number) => String(value).padStart(2, '0');
const day = fc
  .date({ min: new Date('2026-01-01T00:00:00Z'), max: new Date('2029-12-31T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map(two).join(':'));

/**
 * Start and due dates of an event, except those whose written form is read back differently: a time at 00:00:00
 * means a whole day.
 */
const dated = fc
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

const event = fc.record({ name, dated });
const zones = fc.constantFrom(undefined, 'Europe/Zurich', 'America/St_Johns', 'Pacific/Chatham', 'UTC');

test('X9 events that are written and read again are equal: names, days and times, with and without a time zone', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 8 }), zones, (events, inZone) => {
      const zone = inZone === undefined ? undefined : zoneAround(inZone, Date.UTC(2025, 0), Date.UTC(2031, 0));
      const entries = events.map(({ name, dated }, index) =>
        entryText(
          {
            ...dated,
            uid: `event-${index}@elsewhere.test`,
            name,
            about: [name],
            category: name,
            url: `http://127.0.0.1/${name}`,
            isBusy: true,
            createdAt: 0,
            modifiedAt: null,
          },
          zone,
        ),
      );
      const text = beginning({ name: 'x', says: '', zone }) + entries.join('') + ENDING;
      // An independent parser finds the same events with the same names.
      const others = convertIcsCalendar(undefined, text).events ?? [];
      assert.deepEqual(
        others.map(({ uid, summary }) => [uid, summary]),
        events.map(({ name }, index) => [`event-${index}@elsewhere.test`, name]),
      );
      const options = { zone: inZone, domain: 'acme.test', from: '2026-01-01', to: '2029-12-31' };
      const found = readCalendar(text, options, () => undefined);
      assert.deepEqual(
        found.events.map(({ event_name, start_date, due_date }) => ({ event_name, start_date, due_date })),
        events.map(({ name, dated }) => ({ event_name: name, ...dated })),
      );
    }),
    {
      numRuns: 300,
      examples: [
        [
          [{ name: '!', dated: { start_date: '2026-09-27 03:00:00', due_date: '2026-09-27 00:00:00' } }],
          'Pacific/Chatham',
        ],
      ],
    },
  );
});

test('X9 the dates of an event survive the conversion to iCalendar and back', () => {
  fc.assert(fc.property(dated, (one) => assert.deepEqual(datedOf(spanOf(one)), one)));
});
