import { isDueBeforeStart, NO_DATE, parseCalendarTime } from '../http/fields/dates.ts';
import {
  type BodySpec,
  createCreationBodySpec,
  type Field,
  type Fields,
  type JsonSchema,
} from '../http/fields/field.ts';
import { isRole } from '../permissions.ts';
import { type FieldError, Problem } from '../problems.ts';
import type { RecordCreationInput, ResourceType, ResourceTypeName } from './resource-types.ts';

/** A field whose value differs from the source: the reason, and the original value in `was`. */
export type FieldCorrection = FieldError & { readonly was: unknown };

type RecordTimestamps = {
  readonly date_created: number;
  readonly date_modified: number | null;
  readonly date_completed: number | null;
};

/** A record converted to the rules of this service, or the reasons why it cannot be imported. */
type ValidationResult =
  | {
      readonly input: RecordCreationInput;
      readonly timestamps: RecordTimestamps;
      readonly changes: readonly FieldCorrection[];
    }
  | { readonly faults: readonly FieldError[] };

/** A record as the source has returned it, before validation. */
export type RawRecord = Readonly<Record<string, unknown>>;

/**
 * Converts and validates a record of the source. Tolerates the variations of other implementations (numbers for
 * strings, null or absent for empty, other date formats) and accepts what a POST to this service would accept.
 *
 * @param importedAt creation time of records that have none, milliseconds since the epoch
 */
export function validateRecord(resourceType: ResourceType, json: string, importedAt: number): ValidationResult {
  const record: unknown = JSON.parse(json);
  if (!isRawRecord(record)) return { faults: [{ field: resourceType.idField, message: 'there is no record' }] };
  const normalizedBody = normalizeFields(resourceType, record);
  const bodyResult = validateBodyAndDates(resourceType, record, normalizedBody.fields);
  const timestampsResult = validateTimestamps(record, importedAt);
  const faults = [
    ...('faults' in bodyResult ? bodyResult.faults : []),
    ...('faults' in timestampsResult ? timestampsResult.faults : []),
  ];
  if ('faults' in bodyResult || 'faults' in timestampsResult) return { faults };
  const reportedFields = new Set([...normalizedBody.changes, ...bodyResult.changes].map(({ field }) => field));
  const otherChanges = [
    ...findChangedTexts(resourceType.fields, record, bodyResult.input),
    ...findChangedPrice(record, bodyResult.input),
  ];
  const unreportedChanges = otherChanges.filter(({ field }) => !reportedFields.has(field));
  const changes = [...normalizedBody.changes, ...bodyResult.changes, ...unreportedChanges, ...timestampsResult.changes];
  return { input: bodyResult.input, timestamps: timestampsResult.timestamps, changes };
}

export function isRawRecord(record: unknown): record is RawRecord {
  return typeof record === 'object' && record !== null && !Array.isArray(record);
}

const bodySpecsByType = new Map<ResourceTypeName, BodySpec<RecordCreationInput>>();

type BodyResult =
  | { input: RecordCreationInput; changes: readonly FieldCorrection[] }
  | { faults: readonly FieldError[] };

/** Whether a record can be imported without a field. If so, an invalid value drops only the field, not the record. */
const isOptionalField = ({ fields }: ResourceType, field: string) =>
  fields[field] !== undefined && fields[field].default !== undefined;

const createDropCorrection = ({ field, message }: FieldError, record: RawRecord): FieldCorrection => ({
  field,
  message: `${message}; left out`,
  was: record[field],
});

/** Validates a body; if only optional fields are invalid, drops them and validates the rest. */
function validateBody(resourceType: ResourceType, record: RawRecord, body: RawRecord): BodyResult {
  const bodySpec = bodySpecsByType.get(resourceType.name) ?? createCreationBodySpec(resourceType.fields);
  bodySpecsByType.set(resourceType.name, bodySpec);
  try {
    return { input: bodySpec.parse(body), changes: [] };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { errors } = error;
    if (errors.length === 0 || !errors.every(({ field }) => isOptionalField(resourceType, field)))
      return { faults: errors };
    const invalidFields = new Set(errors.map(({ field }) => field));
    const validFields = Object.fromEntries(Object.entries(body).filter(([field]) => !invalidFields.has(field)));
    return { input: bodySpec.parse(validFields), changes: errors.map((one) => createDropCorrection(one, record)) };
  }
}

/**
 * Validates a body like `validateBody`, and also compares its dates. If the due date is before the start date, drops
 * the due date if the field is optional, and rejects the record otherwise.
 */
function validateBodyAndDates(resourceType: ResourceType, record: RawRecord, body: RawRecord): BodyResult {
  const bodyResult = validateBody(resourceType, record, body);
  if ('faults' in bodyResult) return bodyResult;
  const { start_date = null, due_date = null } = bodyResult.input as {
    start_date?: string | null;
    due_date?: string | null;
  };
  if (!isDueBeforeStart(start_date, due_date)) return bodyResult;
  const fieldError = { field: 'due_date', message: 'must not be before start_date' };
  if (!isOptionalField(resourceType, 'due_date')) return { faults: [fieldError] };
  return {
    input: { ...bodyResult.input, due_date: null },
    changes: [...bodyResult.changes, createDropCorrection(fieldError, record)],
  };
}

/** Converts the writable fields to a form that their rules can validate. Empty fields are left out. */
function normalizeFields(
  resourceType: ResourceType,
  record: RawRecord,
): { fields: RawRecord; changes: readonly FieldCorrection[] } {
  const fields: Record<string, unknown> = {};
  const changes: FieldCorrection[] = [];
  for (const [name, field] of Object.entries(resourceType.fields)) {
    const value = normalizeValue(field, record[name]);
    if (value === undefined || field.mode !== 'writable') continue;
    fields[name] = roundToPrecision(field, value);
    if (fields[name] !== value) changes.push({ field: name, message: 'is rounded', was: record[name] });
  }
  return resourceType.name === 'users' ? normalizeUser(record, fields) : { fields, changes };
}

/** Converts a value to text; the text is empty for lists and objects. */
const toText = (value: unknown): string => (typeof value === 'object' ? '' : String(value));

/** Whether a field is a whole number; an id has a format. */
const isWholeNumber = ({ maximum, format }: JsonSchema) => maximum !== undefined && format === undefined;

/** Rounds a number to the precision of its field, because other services keep more decimals. */
function roundToPrecision({ inputSchema }: Field, value: unknown): unknown {
  const [, decimals] = /^\d+\.(\d+)$/.exec(toText(value)) ?? [];
  if (decimals === undefined) return value;
  if (isWholeNumber(inputSchema)) return Math.round(Number(value));
  return inputSchema.format === 'decimal' && decimals.length > 4 ? Number(Number(value).toFixed(4)) : value;
}

function normalizeValue({ inputSchema }: Field, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  const { type, format } = inputSchema;
  if (typeof format === 'string' && format.startsWith('calendar-time')) return normalizeCalendarTime(value);
  // For a flag or a number, an empty string means that there is no value.
  if (value === '' && (inputSchema.enum !== undefined || isWholeNumber(inputSchema))) return undefined;
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  const isTextList = type === 'string' && Array.isArray(value) && value.every((one) => typeof one === 'string');
  return isTextList ? value.join(',') : value;
}

/** Normalizes 20260131, 2026-01-31 and 2026-01-31T09:30:00. Leaves other values to the validation of the field. */
function normalizeCalendarTime(value: unknown): unknown {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return text;
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text} 00:00:00`.replace(NO_DATE, '');
  return text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)$/, '$1 $2');
}

/**
 * Normalizes a user. An unknown role becomes `member`, the role with the fewest permissions. A single name becomes the
 * first name.
 */
function normalizeUser(
  record: RawRecord,
  fields: Record<string, unknown>,
): { fields: RawRecord; changes: readonly FieldCorrection[] } {
  const changes: FieldCorrection[] = [];
  const role = toText(record.role ?? 'member').toLowerCase();
  if (!isRole(role))
    changes.push({ field: 'role', message: 'is not a role here: imported as member', was: record.role });
  const { first_name, last_name, user_name } = record;
  const hasOnlyUserName = first_name === undefined && last_name === undefined && typeof user_name === 'string';
  return {
    fields: { ...fields, role: isRole(role) ? role : 'member', ...(hasOnlyUserName && { first_name: user_name }) },
    changes,
  };
}

/** Lists the texts that the rules of this service have changed, usually by trimming. */
function findChangedTexts(fields: Fields, record: RawRecord, input: RecordCreationInput): FieldCorrection[] {
  const inputValues: Readonly<Record<string, unknown>> = input;
  const textFields = Object.entries(fields).filter(
    ([, { inputSchema }]) => inputSchema.type === 'string' && !('format' in inputSchema),
  );
  return textFields.flatMap(([field]) => {
    const originalValue = record[field];
    const isChanged =
      typeof originalValue === 'string' &&
      originalValue !== '' &&
      inputValues[field] !== originalValue &&
      field !== 'role';
    return isChanged ? [{ field, message: 'is written differently here', was: originalValue }] : [];
  });
}

/** Returns a correction if the imported price differs from the source, because fixed_price replaces price (C42). */
function findChangedPrice({ price: originalPrice }: RawRecord, input: RecordCreationInput): FieldCorrection[] {
  const { price }: { readonly price?: unknown } = input;
  const isChanged =
    price !== undefined && Number(toText(originalPrice ?? '')) !== 0 && Number(toText(originalPrice)) !== Number(price);
  return isChanged ? [{ field: 'price', message: 'is that of fixed_price', was: originalPrice }] : [];
}

type TimestampsResult =
  | { timestamps: RecordTimestamps; changes: readonly FieldCorrection[] }
  | { faults: readonly FieldError[] };

function validateTimestamps(record: RawRecord, importedAt: number): TimestampsResult {
  const timestampFields = ['date_created', 'date_modified', 'date_completed'] as const;
  const parsedTimestamps = Object.fromEntries(
    timestampFields.map((name) => [name, parseTimestampInRange(record[name])]),
  );
  const faults = timestampFields.filter((name) => parsedTimestamps[name] === undefined);
  if (faults.length > 0) return { faults: faults.map((field) => ({ field, message: 'must be a time in UTC' })) };
  const { date_created = null, date_modified = null, date_completed = null } = parsedTimestamps;
  const changes: FieldCorrection[] = [];
  if (date_created === null)
    changes.push({
      field: 'date_created',
      message: 'is missing: the time of the import is used',
      was: record.date_created,
    });
  const isOpen = ['0', 'false'].includes(toText(record.completed ?? '0'));
  if (isOpen && date_completed !== null)
    changes.push({
      field: 'date_completed',
      message: 'is dropped, since the record is open',
      was: record.date_completed,
    });
  const timestamps = {
    date_created: date_created ?? importedAt,
    date_modified,
    date_completed: isOpen ? null : date_completed,
  };
  return { timestamps, changes };
}

/** The range of timestamps with a four-digit year. */
const [MIN_TIMESTAMP, MAX_TIMESTAMP] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/**
 * Parses a timestamp and checks its range. Returns milliseconds since the epoch, null for an empty value, or undefined
 * for an invalid value.
 */
function parseTimestampInRange(value: unknown): number | null | undefined {
  const timestamp = parseTimestamp(value);
  return timestamp && (timestamp < MIN_TIMESTAMP || timestamp > MAX_TIMESTAMP) ? undefined : timestamp;
}

function parseTimestamp(value: unknown): number | null | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (text === null || text === undefined || text === '' || text === '0' || text === NO_DATE) return null;
  if (typeof text !== 'string') return undefined;
  if (/^\d{10}$/.test(text)) return Number(text) * 1_000;
  if (/^\d{13}$/.test(text)) return Number(text);
  const zonedMatch = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text);
  if (zonedMatch !== null) {
    const isValidDate = parseCalendarTime(`${zonedMatch[1]} ${zonedMatch[2]}`) !== undefined;
    return isValidDate ? Date.parse(text) : undefined;
  }
  const calendarTime = parseCalendarTime(String(normalizeCalendarTime(text)));
  return calendarTime === undefined ? undefined : Date.parse(`${calendarTime.replace(' ', 'T')}Z`);
}
