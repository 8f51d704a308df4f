/** An invalid or unusual calendar, with the expected events and report. */
export type OddCalendar = {
  readonly description: string;
  /** Content lines inside VCALENDAR. The first of them is line 2 of the file. */
  readonly lines: readonly string[];
  /** Time zone of the account; default Europe/Zurich. */
  readonly zone?: string | undefined;
  /** Name, start and end of each event, in file order. */
  readonly events: readonly (readonly [string, string, string])[];
  /** Expected report: reason, property and position. */
  readonly expectedReport: readonly (readonly [string, string, string])[];
};

const veventLines = (...lines: readonly string[]) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT'];

const NEW_YORK_AS_OUTLOOK = [
  ...['BEGIN:VTIMEZONE', 'TZID:Office', 'BEGIN:STANDARD', 'DTSTART:16011104T020000'],
  ...['RRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=11', 'TZOFFSETFROM:-0400', 'TZOFFSETTO:-0500', 'END:STANDARD'],
  ...['BEGIN:DAYLIGHT', 'DTSTART:16010311T020000', 'RRULE:FREQ=YEARLY;BYDAY=2SU;BYMONTH=3'],
  ...['TZOFFSETFROM:-0500', 'TZOFFSETTO:-0400', 'END:DAYLIGHT', 'END:VTIMEZONE'],
];

const timeZoneCalendars: readonly OddCalendar[] = [
  {
    description: 'an IANA zone without a VTIMEZONE is known',
    lines: veventLines(
      ...['UID:1', 'SUMMARY:Call', 'DTSTART;TZID=America/New_York:20270131T180000'],
      'DTEND;TZID=America/New_York:20270131T190000',
    ),
    events: [['Call', '2027-02-01 00:00:00', '2027-02-01 01:00:00']],
    expectedReport: [],
  },
  {
    description:
      'each time of a series in another zone is converted by the offsets of both zones, which change on different days',
    lines: veventLines(
      ...['UID:1', 'SUMMARY:Call', 'DTSTART;TZID=America/New_York:20270308T090000', 'DURATION:PT1H'],
      'RRULE:FREQ=WEEKLY;COUNT=4',
    ),
    events: [
      ['Call', '2027-03-08 15:00:00', '2027-03-08 16:00:00'],
      ['Call', '2027-03-15 14:00:00', '2027-03-15 15:00:00'],
      ['Call', '2027-03-22 14:00:00', '2027-03-22 15:00:00'],
      ['Call', '2027-03-29 15:00:00', '2027-03-29 16:00:00'],
    ],
    expectedReport: [],
  },
  {
    description: 'a custom zone is read from its VTIMEZONE',
    lines: [
      ...NEW_YORK_AS_OUTLOOK,
      ...veventLines('UID:1', 'SUMMARY:Winter', 'DTSTART;TZID=Office:20270131T090000', 'DURATION:PT1H'),
      ...veventLines('UID:2', 'SUMMARY:Summer', 'DTSTART;TZID=Office:20270701T090000', 'DURATION:PT1H'),
    ],
    events: [
      ['Winter', '2027-01-31 15:00:00', '2027-01-31 16:00:00'],
      ['Summer', '2027-07-01 15:00:00', '2027-07-01 16:00:00'],
    ],
    expectedReport: [],
  },
  {
    description: 'Windows names and display names of zones are known, quoted or not',
    lines: [
      ...veventLines('UID:1', 'SUMMARY:A', 'DTSTART;TZID="Eastern Standard Time":20270131T090000'),
      ...veventLines('UID:2', 'SUMMARY:B', 'DTSTART;TZID=(UTC-05:00) Eastern Time (US & Canada):20270131T090000'),
      ...veventLines('UID:3', 'SUMMARY:C', 'DTSTART;TZID="(UTC+09:00) Osaka, Sapporo, Tokyo":20270131T090000'),
      ...veventLines('UID:4', 'SUMMARY:D', 'DTSTART;TZID="W. Europe Standard Time:20270131T090000'),
    ],
    events: [
      ['A', '2027-01-31 15:00:00', '2027-01-31 00:00:00'],
      ['B', '2027-01-31 15:00:00', '2027-01-31 00:00:00'],
      ['C', '2027-01-31 01:00:00', '2027-01-31 00:00:00'],
      ['D', '2027-01-31 09:00:00', '2027-01-31 00:00:00'],
    ],
    expectedReport: [],
  },
  {
    description: 'a path before the IANA name of a zone is ignored',
    lines: veventLines('UID:1', 'SUMMARY:A', 'DTSTART;TZID=/mozilla.org/20050126_1/Asia/Tokyo:20270131T090000'),
    events: [['A', '2027-01-31 01:00:00', '2027-01-31 00:00:00']],
    expectedReport: [],
  },
  {
    description: 'times in an unknown zone, or in one whose VTIMEZONE has no offset, are not converted',
    lines: [
      ...['BEGIN:VTIMEZONE', 'TZID:Half', 'BEGIN:STANDARD', 'DTSTART:19700101T000000', 'END:STANDARD', 'END:VTIMEZONE'],
      ...veventLines('UID:1', 'SUMMARY:A', 'DTSTART;TZID=Customized Time Zone 1:20270131T090000'),
      ...veventLines('UID:2', 'SUMMARY:B', 'DTSTART;TZID=Half:20270131T090000'),
    ],
    events: [
      ['A', '2027-01-31 09:00:00', '2027-01-31 00:00:00'],
      ['B', '2027-01-31 09:00:00', '2027-01-31 00:00:00'],
    ],
    expectedReport: [
      ['unknown_zone', 'TZID', 'line 11: Customized Time Zone 1'],
      ['unknown_zone', 'TZID', 'line 16: Half'],
    ],
  },
  {
    description: 'UTC times are converted; floating times and dates are not',
    lines: [
      ...veventLines('UID:1', 'SUMMARY:UTC', 'DTSTART:20270131T233000Z', 'DTEND:20270131T234500Z'),
      ...veventLines('UID:2', 'SUMMARY:Floating', 'DTSTART:20270131T233000', 'DTEND:20270131T234500'),
      ...veventLines('UID:3', 'SUMMARY:Day', 'DTSTART;VALUE=DATE:20270131', 'DTEND;VALUE=DATE:20270201'),
      ...veventLines(
        ...['UID:4', 'SUMMARY:Day of Exchange', 'X-MICROSOFT-CDO-ALLDAYEVENT:TRUE'],
        ...['DTSTART;TZID=America/New_York:20270131T000000', 'DTEND;TZID=America/New_York:20270201T000000'],
      ),
      ...veventLines('UID:5', 'SUMMARY:Day with a zone', 'DTSTART;VALUE=DATE;TZID=America/New_York:20270131'),
    ],
    events: [
      ['UTC', '2027-02-01 00:30:00', '2027-02-01 00:45:00'],
      ['Floating', '2027-01-31 23:30:00', '2027-01-31 23:45:00'],
      ['Day', '2027-01-31 00:00:00', '2027-01-31 00:00:00'],
      ['Day of Exchange', '2027-01-31 00:00:00', '2027-01-31 00:00:00'],
      ['Day with a zone', '2027-01-31 00:00:00', '2027-01-31 00:00:00'],
    ],
    expectedReport: [],
  },
  {
    description: 'without a zone of the account, times are not converted, and the report has one line about it',
    zone: undefined,
    lines: [
      ...veventLines('UID:1', 'SUMMARY:A', 'DTSTART;TZID=America/New_York:20270131T180000'),
      ...veventLines('UID:2', 'SUMMARY:B', 'DTSTART;TZID=America/New_York:20270131T190000'),
      ...veventLines('UID:3', 'SUMMARY:C', 'DTSTART:20270131T180000'),
    ],
    events: [
      ['A', '2027-01-31 18:00:00', '2027-01-31 00:00:00'],
      ['B', '2027-01-31 19:00:00', '2027-01-31 00:00:00'],
      ['C', '2027-01-31 18:00:00', '2027-01-31 00:00:00'],
    ],
    expectedReport: [['no_zone', 'TZID', 'line 5: America/New_York']],
  },
  {
    description: 'without a zone of the account, the zone of the file is used',
    zone: undefined,
    lines: [
      'X-WR-TIMEZONE:Europe/Zurich',
      ...veventLines('UID:1', 'SUMMARY:A', 'DTSTART;TZID=America/New_York:20270131T180000'),
    ],
    events: [['A', '2027-02-01 00:00:00', '2027-02-01 00:00:00']],
    expectedReport: [['zone_of_file', 'TZID', 'line 6: America/New_York']],
  },
  {
    description: 'a time that clocks skip is moved forward; of a repeated time, the first is meant',
    zone: 'UTC',
    lines: [
      ...veventLines('UID:1', 'SUMMARY:Out', 'DTSTART;TZID=Europe/Zurich:20270328T023000', 'DURATION:PT15M'),
      ...veventLines('UID:2', 'SUMMARY:Twice', 'DTSTART;TZID=Europe/Zurich:20271031T023000', 'DURATION:PT15M'),
      ...veventLines('UID:3', 'SUMMARY:Night', 'DTSTART;TZID=Europe/Zurich:20270327T220000', 'DURATION:PT8H'),
      ...veventLines('UID:4', 'SUMMARY:Day', 'DTSTART;TZID=Europe/Zurich:20270327T220000', 'DURATION:P1D'),
    ],
    events: [
      ['Out', '2027-03-28 01:30:00', '2027-03-28 01:45:00'],
      ['Twice', '2027-10-31 00:30:00', '2027-10-31 00:45:00'],
      ['Night', '2027-03-27 21:00:00', '2027-03-28 05:00:00'],
      ['Day', '2027-03-27 21:00:00', '2027-03-28 20:00:00'],
    ],
    expectedReport: [],
  },
];

const recurringCalendars: readonly OddCalendar[] = [
  {
    description: 'RDATE has periods with an end or a duration, in UTC or in the zone of the series',
    lines: veventLines(
      ...['UID:1', 'SUMMARY:P', 'DTSTART;TZID=Europe/Zurich:20270104T090000', 'DURATION:PT1H'],
      'RDATE;VALUE=PERIOD:20270105T080000Z/20270105T093000Z,20270106T080000Z/PT15M',
      'RDATE;VALUE=PERIOD;TZID=Europe/Zurich:20270107T100000/20270107T120000',
    ),
    events: [
      ['P', '2027-01-04 09:00:00', '2027-01-04 10:00:00'],
      ['P', '2027-01-05 09:00:00', '2027-01-05 10:30:00'],
      ['P', '2027-01-06 09:00:00', '2027-01-06 09:15:00'],
      ['P', '2027-01-07 10:00:00', '2027-01-07 12:00:00'],
    ],
    expectedReport: [],
  },
  {
    description: 'an EXDATE or RDATE is reported if it is empty or one of its values is malformed',
    lines: veventLines(
      ...['UID:1', 'SUMMARY:E', 'DTSTART:20270104T090000', 'RRULE:FREQ=DAILY;COUNT=3'],
      ...['EXDATE:', 'EXDATE:20270105T090000,083000', 'RDATE:', 'RDATE;VALUE=PERIOD:20270108T090000/never'],
    ),
    events: [
      ['E', '2027-01-04 09:00:00', '2027-01-04 00:00:00'],
      ['E', '2027-01-06 09:00:00', '2027-01-06 00:00:00'],
    ],
    expectedReport: [
      ['bad_time', 'RDATE', 'line 9: empty'],
      ['bad_time', 'RDATE', 'line 10: 20270108T090000/never'],
      ['bad_time', 'EXDATE', 'line 7: empty'],
      ['bad_time', 'EXDATE', 'line 8: 20270105T090000,083000'],
    ],
  },
  {
    description: 'an event with a malformed, unsupported or empty rule is imported once',
    lines: [
      ...veventLines('UID:1', 'SUMMARY:A', 'DTSTART:20270104T090000', 'RRULE:FREQ=SOMETIMES'),
      ...veventLines('UID:2', 'SUMMARY:B', 'DTSTART:20270104T090000', 'RRULE:RSCALE=CHINESE;FREQ=YEARLY'),
      ...veventLines('UID:3', 'SUMMARY:C', 'DTSTART:20270104T090000', 'RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30'),
      ...veventLines('UID:4', 'SUMMARY:D', 'DTSTART:20270104T090000', 'RRULE:RRULE:FREQ=DAILY'),
      ...veventLines('UID:5', 'SUMMARY:E', 'DTSTART:20270104T090000', 'RRULE:FREQ=DAILY;UNTIL=20260101T000000Z'),
      ...veventLines('UID:6', 'SUMMARY:F', 'DTSTART:20270104T090000', 'RRULE:FREQ=DAILY;BYMONTH=13'),
    ],
    events: ['A', 'B', 'C', 'D', 'E', 'F'].map((name) => [name, '2027-01-04 09:00:00', '2027-01-04 00:00:00'] as const),
    expectedReport: [
      ['bad_rule', 'RRULE', 'line 6: FREQ=SOMETIMES'],
      ['bad_rule', 'RRULE', 'line 12: RSCALE=CHINESE;FREQ=YEARLY'],
      ['bad_rule', 'RRULE', 'line 24: RRULE:FREQ=DAILY'],
      ['bad_rule', 'RRULE', 'line 36: FREQ=DAILY;BYMONTH=13'],
      ['empty_rule', 'VEVENT', 'line 14: C'],
      ['empty_rule', 'VEVENT', 'line 26: E'],
    ],
  },
  {
    description:
      'several RRULE are combined; EXRULE excludes times, and an EXDATE that is a date excludes all times of its day',
    lines: veventLines(
      ...['UID:1', 'SUMMARY:R', 'DTSTART:20270104T090000', 'RRULE:FREQ=DAILY;COUNT=6'],
      ...['RRULE:FREQ=DAILY;BYHOUR=9,15;COUNT=4', 'EXRULE:FREQ=WEEKLY;BYDAY=WE', 'EXDATE;VALUE=DATE:20270105'],
    ),
    events: [
      ['R', '2027-01-04 09:00:00', '2027-01-04 00:00:00'],
      ['R', '2027-01-04 15:00:00', '2027-01-04 00:00:00'],
      ['R', '2027-01-07 09:00:00', '2027-01-07 00:00:00'],
      ['R', '2027-01-08 09:00:00', '2027-01-08 00:00:00'],
      ['R', '2027-01-09 09:00:00', '2027-01-09 00:00:00'],
    ],
    expectedReport: [],
  },
  {
    description: 'a date may end with Z, as in birthdays of Google; UNTIL may be a date',
    lines: [
      ...veventLines(
        'UID:1',
        'SUMMARY:B',
        'DTSTART;VALUE=DATE:20270104',
        'RRULE:FREQ=DAILY;COUNT=1',
        'RDATE:20270110Z',
      ),
      ...veventLines('UID:2', 'SUMMARY:U', 'DTSTART:20270104T090000', 'RRULE:FREQ=DAILY;UNTIL=20270105'),
    ],
    events: [
      ['B', '2027-01-04 00:00:00', '2027-01-04 00:00:00'],
      ['B', '2027-01-10 00:00:00', '2027-01-10 00:00:00'],
      ['U', '2027-01-04 09:00:00', '2027-01-04 00:00:00'],
      ['U', '2027-01-05 09:00:00', '2027-01-05 00:00:00'],
    ],
    expectedReport: [],
  },
  {
    description: 'an override with a malformed RECURRENCE-ID is imported beside its series',
    lines: [
      ...veventLines('UID:1', 'SUMMARY:S', 'DTSTART:20270104T090000', 'RRULE:FREQ=DAILY;COUNT=2'),
      ...veventLines('UID:1', 'RECURRENCE-ID:one day', 'SUMMARY:X', 'DTSTART:20270105T120000'),
    ],
    events: [
      ['S', '2027-01-04 09:00:00', '2027-01-04 00:00:00'],
      ['S', '2027-01-05 09:00:00', '2027-01-05 00:00:00'],
      ['X', '2027-01-05 12:00:00', '2027-01-05 00:00:00'],
    ],
    expectedReport: [['bad_time', 'RECURRENCE-ID', 'line 10: one day']],
  },
];

const malformedCalendars: readonly OddCalendar[] = [
  {
    description:
      'lines without a colon are reported, inside and outside of an event, and so is a folded line without its leading space',
    lines: [
      'X-APPLE-RADIUS=49.9',
      ...veventLines('UID:1', 'SUMMARY:A long', 'name', 'ORGANIZER="mailto:team@acme.test"', 'DTSTART:20270104T090000'),
    ],
    events: [['A long', '2027-01-04 09:00:00', '2027-01-04 00:00:00']],
    expectedReport: [
      ['malformed_line', 'line', 'line 2: X-APPLE-RADIUS=49.9'],
      ['malformed_line', 'line', 'line 6: name'],
      ['malformed_line', 'line', 'line 7: ORGANIZER="mailto:team@acme.test"'],
    ],
  },
  {
    description: 'missing, misspelled and unmatched END lines are reported, and no event is lost',
    lines: [
      ...['BEGIN:VEVENT', 'UID:1', 'SUMMARY:A', 'DTSTART:20270104T090000'],
      ...veventLines('UID:2', 'SUMMARY:B', 'DTSTART:20270104T100000', 'BEGIN:VALARM', 'TRIGGER:-PT5M'),
      ...['BEGIN:VEVENT', 'UID:3', 'SUMMARY:C', 'DTSTART:20270104T110000', 'END:VEVENTS', 'END:VEVENT'],
      ...['END:VTODO', 'END:VCALENDAR'],
      ...veventLines('UID:4', 'SUMMARY:D', 'DTSTART:20270104T120000'),
    ],
    events: [
      ['A', '2027-01-04 09:00:00', '2027-01-04 00:00:00'],
      ['B', '2027-01-04 10:00:00', '2027-01-04 00:00:00'],
      ['C', '2027-01-04 11:00:00', '2027-01-04 00:00:00'],
      ['D', '2027-01-04 12:00:00', '2027-01-04 00:00:00'],
    ],
    expectedReport: [
      ['no_field', 'VALARM', 'line 6: B'],
      ['misplaced', 'line', 'line 6: BEGIN:VEVENT'],
      ['misplaced', 'line', 'line 12: END:VEVENT'],
      ['misplaced', 'line', 'line 17: END:VEVENTS'],
      ['misplaced', 'line', 'line 19: END:VTODO'],
      ['misplaced', 'line', 'line 26: END:VCALENDAR'],
    ],
  },
  {
    description: 'a file may have several calendars; an event inside an unknown component is imported',
    lines: [
      ...veventLines('UID:1', 'SUMMARY:A', 'DTSTART:20270104T090000'),
      ...['END:VCALENDAR', 'BEGIN:VCALENDAR', 'BEGIN:X-GROUP'],
      ...veventLines('UID:2', 'SUMMARY:B', 'DTSTART:20270104T100000'),
    ],
    events: [
      ['A', '2027-01-04 09:00:00', '2027-01-04 00:00:00'],
      ['B', '2027-01-04 10:00:00', '2027-01-04 00:00:00'],
    ],
    expectedReport: [
      ['not_an_event', 'X-GROUP', 'line 9: (no name)'],
      ['misplaced', 'line', 'line 10: BEGIN:VEVENT'],
    ],
  },
  {
    description: 'malformed ends and durations and repeated properties are ignored and reported',
    lines: [
      ...veventLines(
        'UID:1',
        'SUMMARY:A',
        'DTSTART:20270104T090000',
        'DTEND:20270230T100000',
        'DTSTART:20270105T090000',
      ),
      ...veventLines('UID:2', 'SUMMARY:B', 'DTSTART:20270104T090000', 'DURATION:P99999999999999D'),
      ...veventLines('UID:3', 'SUMMARY:C', 'DTSTART:20270104T090000', 'DURATION:PT1W'),
      ...veventLines('UID:4', 'SUMMARY:D', 'DTSTART:20270104T09:00', 'DTEND:2027-01-04T10:00:00'),
      ...veventLines('UID:5', 'SUMMARY:E', 'DTSTART:20270104T090060', 'DTEND:20270104T250000'),
    ],
    events: [
      ['A', '2027-01-04 09:00:00', '2027-01-04 00:00:00'],
      ['B', '2027-01-04 09:00:00', '2027-01-04 00:00:00'],
      ['C', '2027-01-04 09:00:00', '2027-01-11 09:00:00'],
      ['D', '2027-01-04 09:00:00', '2027-01-04 10:00:00'],
      ['E', '2027-01-04 09:00:59', '2027-01-04 00:00:00'],
    ],
    expectedReport: [
      ['repeated_property', 'DTSTART', 'line 7: 20270105T090000'],
      ['bad_time', 'DTEND', 'line 6: 20270230T100000'],
      ['bad_time', 'DTEND', 'line 31: 20270104T250000'],
      ['bad_duration', 'DURATION', 'line 13: P99999999999999D'],
    ],
  },
  {
    description: 'forbidden characters are removed or replaced in names, in ignored lines and in names of zones',
    lines: veventLines(...['UID:1', 'SUMMARY:A\0 \ud800 B', 'DTSTART;TZID=\0\udfff:20270104T090000', 'DTEND:\0\ud800']),
    events: [['A \ufffd B', '2027-01-04 09:00:00', '2027-01-04 00:00:00']],
    expectedReport: [
      ['bad_time', 'DTEND', 'line 6: \ufffd'],
      ['unknown_zone', 'TZID', 'line 5: \ufffd'],
    ],
  },
];

/** One calendar for each class of defect that was found in real files, and for related defects. */
export const oddCalendars: readonly OddCalendar[] = [
  ...timeZoneCalendars,
  ...recurringCalendars,
  ...malformedCalendars,
];
