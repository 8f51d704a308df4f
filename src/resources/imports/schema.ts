import { isStorable } from '../../control-characters.ts';
import { createParser, type Field, type JsonSchema, readOnlyField } from '../../http/fields/field.ts';
import { recordIdOrNone } from '../../http/fields/reference-fields.ts';
import { readOnlyDigits, readOnlyText, writeOnlyFlag } from '../../http/fields/scalar-fields.ts';
import { type SkippedItems, skipReasons } from '../../ical/skipped.ts';
import { timeZoneField } from '../calendars/calendars.ts';

/** Maximum length of a file in UTF-16 code units. MAX_IMPORT_BODY_BYTES also limits the JSON body with the file. */
const MAX_FILE_LENGTH = 8 * 1_024 * 1_024;

/** Matches the start of every calendar file. A file with another start is rejected before parsing. */
const CALENDAR_START_PATTERN = /^\ufeff?\s*BEGIN:VCALENDAR\s/i;

const ICS_REQUIREMENT = 'must be the text of an .ics file, from BEGIN:VCALENDAR on';

const isCalendarText = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= MAX_FILE_LENGTH &&
  CALENDAR_START_PATTERN.test(value) &&
  isStorable(value);

const icsField: Field<string, 'writable'> = {
  mode: 'writable',
  description: 'The file: iCalendar (RFC 5545), as text.',
  inputSchema: { type: 'string', minLength: 1, maxLength: MAX_FILE_LENGTH, 'x-must': ICS_REQUIREMENT },
  parse: createParser(ICS_REQUIREMENT, (value) => (isCalendarText(value) ? value : undefined)),
  default: undefined,
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

/** Input fields of an import. */
export const importInputFields = {
  ics: icsField,
  project_id: recordIdOrNone('The project of the created events.'),
  time_zone: timeZoneField("Zone to which times with a zone are converted. Default: the account's."),
  default_time_zone: timeZoneField("The same for an account without a zone. Default: the file's."),
  silent: writeOnlyFlag('Notify no hooks; the feed records created events as changed_event.'),
  again: writeOnlyFlag('Create imported events again that were deleted here since.'),
};

const STRING_SCHEMA: JsonSchema = { type: 'string' };

const droppedField = readOnlyField<readonly SkippedItems[]>(
  'Items of the file that were left out or changed: what, why, how many, and the first ones with their lines.',
  (rows) => rows.map((row) => ({ ...row, message: skipReasons[row.reason], count: String(row.count) })),
  {
    type: 'array',
    items: {
      title: 'DroppedComponent',
      type: 'object',
      required: ['what', 'reason', 'message', 'count', 'examples'],
      properties: {
        what: STRING_SCHEMA,
        reason: { type: 'string', enum: Object.keys(skipReasons) },
        message: STRING_SCHEMA,
        count: STRING_SCHEMA,
        examples: { type: 'array', items: STRING_SCHEMA },
      },
    },
  },
);

/** Response fields of an import. */
export const importFields = {
  created: readOnlyDigits('Number of created events.'),
  changed: readOnlyDigits('Number of events changed, because the file has changed.'),
  unchanged: readOnlyDigits('Number of events imported earlier and unchanged in the file.'),
  deleted: readOnlyDigits('Number of events imported earlier and deleted here since; they stay deleted.'),
  time_zone: readOnlyText('Zone to which times with a zone were converted; UTC if there is none.'),
  repeated_from: readOnlyText('First day of imported recurring events, `YYYY-MM-DD`.'),
  repeated_to: readOnlyText('Last day of imported recurring events, `YYYY-MM-DD`.'),
  dropped: droppedField,
};
