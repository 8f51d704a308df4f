import { splitIntoBatches } from '../../async/batches.ts';
import { isStorable } from '../../control-characters.ts';
import { type NewOccurrence, recordOccurrences } from '../../delivery/outbox/record-occurrences.ts';
import type { TemporaryTextFile } from '../../http/body/temporary-file.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import {
  type CreationInput,
  createCreationBodySpec,
  createParser,
  createRecordSchema,
  type Field,
  findChangedFields,
  type JsonSchema,
  readOnlyField,
  type StoredRecordOf,
  serializeRecord,
} from '../../http/fields/field.ts';
import { recordIdOrNone } from '../../http/fields/reference-fields.ts';
import { readOnlyDigits, readOnlyText, writeOnlyFlag } from '../../http/fields/scalar-fields.ts';
import { createRecordResponseSchema } from '../../http/routes/pagination.ts';
import type { Route, WriteSteps } from '../../http/routes/route.ts';
import { addDays } from '../../ical/days.ts';
import { CalendarError } from '../../ical/line-reader.ts';
import type { ParsedCalendar } from '../../ical/parse.ts';
import { parseInChildProcess } from '../../ical/parse-in-child-process.ts';
import type { ParsedEvent, ParseOptions } from '../../ical/series.ts';
import { type SkippedItems, skipReasons } from '../../ical/skipped.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { timeZoneField } from '../calendars/calendars.ts';
import { requireRecord } from '../core/references.ts';
import { eventFields } from '../events/events.ts';

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
const importFields = {
  created: readOnlyDigits('Number of created events.'),
  changed: readOnlyDigits('Number of events changed, because the file has changed.'),
  unchanged: readOnlyDigits('Number of events imported earlier and unchanged in the file.'),
  deleted: readOnlyDigits('Number of events imported earlier and deleted here since; they stay deleted.'),
  time_zone: readOnlyText('Zone to which times with a zone were converted; UTC if there is none.'),
  repeated_from: readOnlyText('First day of imported recurring events, `YYYY-MM-DD`.'),
  repeated_to: readOnlyText('Last day of imported recurring events, `YYYY-MM-DD`.'),
  dropped: droppedField,
};

/** Recurring events are imported from this number of days ago: one year. */
const IMPORT_PAST_DAYS = 366;
/** Recurring events are imported up to this number of days ahead: two years. */
const IMPORT_FUTURE_DAYS = 2 * 366;

/** Number of events per transaction. It bounds how long other writes of the account wait. */
const EVENTS_PER_TRANSACTION = 200;

type ImportCounts = { created: number; changed: number; unchanged: number; deleted: number };

/**
 * Imports a file (X9). Entries of an earlier import are recognized by their hash, so a second import creates no
 * duplicates.
 */
async function importCalendar(
  { view, write }: WriteSteps,
  caller: Caller,
  input: CreationInput<typeof importInputFields>,
  file: TemporaryTextFile | undefined,
): Promise<StoredRecordOf<typeof importFields>> {
  if (input.project_id !== 0) await requireRecord(view, 'project', input.project_id);
  const parseOptions = await buildParseOptions(view, input);
  const { events, skippedItems, zone } = await parseIcsFile(caller.accountId, file, parseOptions);
  const totalCounts: ImportCounts = { created: 0, changed: 0, unchanged: 0, deleted: 0 };
  for (const eventBatch of splitIntoBatches(events, EVENTS_PER_TRANSACTION)) {
    const counts = await write((batchWrite) => importBatch(batchWrite, caller, eventBatch, input));
    for (const name of Object.keys(totalCounts) as (keyof ImportCounts)[]) totalCounts[name] += counts[name];
  }
  return {
    ...totalCounts,
    time_zone: zone,
    repeated_from: parseOptions.from,
    repeated_to: parseOptions.to,
    dropped: skippedItems,
  };
}

async function buildParseOptions(
  view: AccountView,
  input: Pick<CreationInput<typeof importInputFields>, 'time_zone' | 'default_time_zone'>,
): Promise<ParseOptions> {
  const { domain, time_zone } = await view
    .selectFrom('accounts')
    .select(['accounts.domain', 'accounts.time_zone'])
    .executeTakeFirstOrThrow();
  const today = formatTimestamp(view.now).slice(0, 10);
  // UTC is the default zone of an account, so UTC means that no zone was set.
  const accountZone = time_zone === 'UTC' ? '' : time_zone;
  const zone = [input.time_zone, accountZone, input.default_time_zone].find((zoneName) => zoneName !== '');
  return { zone, domain, from: addDays(today, -IMPORT_PAST_DAYS), to: addDays(today, IMPORT_FUTURE_DAYS) };
}

async function parseIcsFile(
  accountId: number,
  file: TemporaryTextFile | undefined,
  parseOptions: ParseOptions,
): Promise<ParsedCalendar> {
  if (file === undefined) throw new Error('a body with a calendar has its text in a file');
  try {
    return await parseInChildProcess(accountId, file.fd, parseOptions);
  } catch (error) {
    if (!(error instanceof CalendarError)) throw error;
    throw invalidInput([{ field: 'ics', message: `is not a calendar: line ${error.lineNumber} ${error.message}` }]);
  }
}

/** An entry of an earlier import: its event, the hash of its contents, and whether the event still exists. */
type ImportedEntry = { readonly eventId: number; readonly contentHash: string; readonly eventExists: boolean };

async function importBatch(
  write: AccountWrite,
  caller: Caller,
  events: readonly ParsedEvent[],
  { project_id, silent, again }: CreationInput<typeof importInputFields>,
): Promise<ImportCounts> {
  if (project_id !== 0) await requireRecord(write, 'project', project_id);
  const importedEntriesByEntryHash = await findImportedEntries(write, events);
  const isDeleted = (event: ParsedEvent) => importedEntriesByEntryHash.get(event.entryHash)?.eventExists === false;
  const isNew = (event: ParsedEvent) =>
    !importedEntriesByEntryHash.has(event.entryHash) || (again === 1 && isDeleted(event));
  const createdIds = await createEvents(write, caller, events.filter(isNew), project_id);
  const existingEvents = events.filter((event) => !isNew(event) && !isDeleted(event));
  const differingEvents = existingEvents.filter(
    (event) => importedEntriesByEntryHash.get(event.entryHash)?.contentHash !== event.contentHash,
  );
  const changes = await changeEvents(write, differingEvents, importedEntriesByEntryHash);
  const common = { userId: caller.userId, isSilent: silent === 1 };
  // Followers of the feed know from earlier versions that a silent import records creations as changed_event.
  const creationKind = silent === 1 ? 'changed_event' : 'new_event';
  recordOccurrences(write, [
    ...createdIds.map(
      (recordId): NewOccurrence => ({ ...common, kind: creationKind, recordId, projectId: project_id }),
    ),
    ...changes.map((change): NewOccurrence => ({ ...common, ...change, kind: 'changed_event' })),
  ]);
  return {
    created: createdIds.length,
    changed: changes.length,
    unchanged: existingEvents.length - changes.length,
    deleted: events.length - createdIds.length - existingEvents.length,
  };
}

async function findImportedEntries(
  view: AccountView,
  events: readonly ParsedEvent[],
): Promise<ReadonlyMap<string, ImportedEntry>> {
  const entryHashes = events.map(({ entryHash }) => entryHash);
  const rows = await view
    .selectFrom('imported_events')
    .leftJoin('events', (join) =>
      join
        .onRef('events.event_id', '=', 'imported_events.event_id')
        .onRef('events.account_id', '=', 'imported_events.account_id'),
    )
    .select(['imported_events.entry_hash', 'imported_events.event_id', 'imported_events.content_hash'])
    .select('events.event_id as existing_id')
    .where('imported_events.entry_hash', 'in', entryHashes)
    .execute();
  return new Map(
    rows.map(({ entry_hash, event_id, content_hash, existing_id }) => [
      entry_hash,
      { eventId: event_id, contentHash: content_hash, eventExists: existing_id !== null },
    ]),
  );
}

/** Creates events, and stores which entries they came from. Returns their ids in the order of `events`. */
async function createEvents(
  write: AccountWrite,
  caller: Caller,
  events: readonly ParsedEvent[],
  project_id: number,
): Promise<readonly number[]> {
  if (events.length === 0) return [];
  const commonColumns = { project_id, user_id: caller.userId, date_created: write.now, date_modified: null };
  const insertedRows = await write
    .insertInto(
      'events',
      events.map(({ event_name, start_date, due_date }) => ({ event_name, start_date, due_date, ...commonColumns })),
    )
    .returning(['event_id', 'event_name', 'start_date', 'due_date'])
    .execute();
  // The order of returned rows is undefined, so events and rows are matched by contents. Rows with equal contents are
  // interchangeable.
  const rowsByContents = Map.groupBy(insertedRows, contentsKeyOf);
  const createdEvents = events.map((event) => ({
    event,
    event_id: rowsByContents.get(contentsKeyOf(event))?.shift()?.event_id ?? 0,
  }));
  await storeImportedEntries(write, createdEvents);
  return createdEvents.map(({ event_id }) => event_id);
}

function contentsKeyOf({
  event_name,
  start_date,
  due_date,
}: Pick<ParsedEvent, 'event_name' | 'start_date' | 'due_date'>): string {
  return JSON.stringify([event_name, start_date, due_date]);
}

/** Changes events. Returns for each which record, in which project, and which of its fields has changed. */
async function changeEvents(
  write: AccountWrite,
  events: readonly ParsedEvent[],
  importedEntriesByEntryHash: ReadonlyMap<string, ImportedEntry>,
): Promise<readonly Pick<NewOccurrence, 'recordId' | 'projectId' | 'fields'>[]> {
  if (events.length === 0) return [];
  const changedEvents = events.map((event) => ({
    event,
    event_id: importedEntriesByEntryHash.get(event.entryHash)?.eventId ?? 0,
  }));
  const oldRows = await write
    .selectFrom('events')
    .selectAll('events')
    .where(
      'events.event_id',
      'in',
      changedEvents.map(({ event_id }) => event_id),
    )
    .execute();
  const oldRowsById = new Map(oldRows.map((row) => [row.event_id, row]));
  const changes: Pick<NewOccurrence, 'recordId' | 'projectId' | 'fields'>[] = [];
  for (const { event, event_id } of changedEvents) {
    const { event_name, start_date, due_date } = event;
    await write
      .updateTable('events')
      .set({ event_name, start_date, due_date, date_modified: write.now })
      .where('event_id', '=', event_id)
      .execute();
    const { project_id: projectId = 0, ...oldRow } = oldRowsById.get(event_id) ?? {};
    const fields = findChangedFields(eventFields, oldRow, { ...oldRow, event_name, start_date, due_date });
    changes.push({ recordId: event_id, projectId, fields });
  }
  await storeImportedEntries(write, changedEvents);
  return changes;
}

async function storeImportedEntries(
  write: AccountWrite,
  entries: readonly { readonly event: ParsedEvent; readonly event_id: number }[],
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ event, event_id }) => ({
    entry_hash: event.entryHash,
    event_id,
    content_hash: event.contentHash,
  }));
  await write
    .insertInto('imported_events', rows)
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'entry_hash']).doUpdateSet(({ ref }) => ({
        event_id: ref('excluded.event_id'),
        content_hash: ref('excluded.content_hash'),
      })),
    )
    .execute();
}

/** Maximum size of the request body in bytes: the file, escaped as JSON, and the other fields. */
const MAX_IMPORT_BODY_BYTES = 8 * 1_024 * 1_024;

export function createImportRoutes(): readonly Route[] {
  const bodySpec = createCreationBodySpec(importInputFields);
  return [
    {
      method: 'POST',
      path: '/events/import',
      description: 'Imports an .ics file. Importing it again creates no duplicates.',
      permission: 'events:write',
      parameters: {},
      bodySchema: bodySpec.schema,
      streamedField: { name: 'ics', maxBytes: MAX_IMPORT_BODY_BYTES },
      status: 200,
      responseSchema: createRecordResponseSchema(createRecordSchema(importFields)),
      recordedKinds: ['new_event', 'changed_event'],
      supportsPreconditions: false,
      problems: [],
      mode: 'steps',
      async run(steps, caller, { body, textFile }) {
        const importResult = await importCalendar(steps, caller, bodySpec.parse(body), textFile);
        return { body: { data: serializeRecord(importFields, importResult) } };
      },
    },
  ];
}
