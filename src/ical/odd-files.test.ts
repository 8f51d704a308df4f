import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oddCalendars } from '../../test/corpus/calendars.ts';
import { readCalendar } from './parse.ts';

for (const one of oddCalendars) {
  test(`X9 ${one.what}`, () => {
    const zone = 'zone' in one ? one.zone : 'Europe/Zurich';
    const options = { zone, domain: 'acme.test', from: '2026-01-01', to: '2028-12-31' };
    const text = ['BEGIN:VCALENDAR', ...one.lines, 'END:VCALENDAR'].join('\r\n');
    const { events, dropped } = readCalendar(text, options, () => undefined);
    assert.deepEqual(
      events.map(({ event_name, start_date, due_date }) => [event_name, start_date, due_date]),
      one.events,
    );
    assert.deepEqual(
      dropped.flatMap(({ reason, what, examples }) => examples.map((example) => [reason, what, example])),
      one.said,
    );
  });
}
