import { type Field, type JsonSchema, shown } from '../../http/field.ts';
import { askedFlag, referenceOrNone, shownNumber, shownText } from '../../http/fields.ts';
import { type Dropped, reasons } from '../../ical/dropped.ts';
import { zone } from '../calendars/schema.ts';

/** As much of a file as is taken, in UTF-16 units; in JSON every one of them may be written with six. */
const LONGEST_FILE = 8 * 1_024 * 1_024;

/** What is none need not be read. */
const BEGINNING = /^\ufeff?\s*BEGIN:VCALENDAR\s/i;

const ICS_MUST = 'must be the text of an .ics file, from BEGIN:VCALENDAR on';

const ics: Field<string, 'written'> = {
  mode: 'written',
  says: 'The file: iCalendar (RFC 5545), as text.',
  accepts: { type: 'string', minLength: 1, maxLength: LONGEST_FILE, 'x-must': ICS_MUST },
  fault: (value) => (BEGINNING.test(String(value)) && String(value).isWellFormed() ? undefined : ICS_MUST),
  parse: String,
  initial: undefined,
  answers: {},
  show: (stored) => stored,
};

/** What bringing a file in takes. */
export const importInputFields = {
  ics,
  project_id: referenceOrNone('The project of what is created.'),
  time_zone: zone("The zone that times with a zone are converted to; left out: the account's."),
  default_time_zone: zone("The same for an account that has none; left out: the file's own."),
  silent: askedFlag('No hook is told; the feed says changed_event of what is created.'),
  again: askedFlag('What was deleted here since it was brought in comes again.'),
};

const STRING: JsonSchema = { type: 'string' };

const dropped = shown<readonly Dropped[]>(
  'What of the file is not here, or otherwise: what it is, why, how often, and the first of them with their lines.',
  (rows) => rows.map((row) => ({ ...row, says: reasons[row.reason], count: String(row.count) })),
  {
    type: 'array',
    items: {
      title: 'DroppedComponent',
      type: 'object',
      required: ['what', 'reason', 'says', 'count', 'examples'],
      properties: {
        what: STRING,
        reason: { type: 'string', enum: Object.keys(reasons) },
        says: STRING,
        count: STRING,
        examples: { type: 'array', items: STRING },
      },
    },
  },
);

/** What came of it. */
export const importFields = {
  created: shownNumber('Events that were created.'),
  changed: shownNumber('Events that the file says something else of than before, and were changed.'),
  unchanged: shownNumber(
    'Events that were brought in before, and of which the file says the same; they stay as they are.',
  ),
  deleted: shownNumber('Events that were brought in before and deleted here since; they stay deleted.'),
  time_zone: shownText('The zone that times with a zone were converted to; UTC where there is none.'),
  repeated_from: shownText('From this day on repetitions were brought in, `YYYY-MM-DD`.'),
  repeated_to: shownText('Until this day, included.'),
  dropped,
};
