import { splitIntoBatches } from '../../async/batches.ts';
import type { TemporaryTextFile } from '../../http/body/temporary-file.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import {
  type CreationInput,
  createCreationBodySpec,
  createRecordSchema,
  type StoredRecordOf,
  serializeRecord,
} from '../../http/fields/field.ts';
import { createRecordResponseSchema } from '../../http/routes/pagination.ts';
import type { Route, WriteSteps } from '../../http/routes/route.ts';
import { addDays } from '../../ical/days.ts';
import { CalendarError } from '../../ical/line-reader.ts';
import type { ParsedCalendar } from '../../ical/parse.ts';
import { parseInChildProcess } from '../../ical/parse-in-child-process.ts';
import type { ParseOptions } from '../../ical/series.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { requireRecord } from '../core/references.ts';
import { type ImportCounts, importBatch } from './import-batch.ts';
import { importFields, importInputFields } from './schema.ts';

/** Recurring events are imported from this number of days ago: one year. */
const IMPORT_PAST_DAYS = 366;
/** Recurring events are imported up to this number of days ahead: two years. */
const IMPORT_FUTURE_DAYS = 2 * 366;

/** Number of events per transaction. It bounds how long other writes of the account wait. */
const EVENTS_PER_TRANSACTION = 200;

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
