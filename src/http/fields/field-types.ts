import { CONTROL_CHARACTERS, PLAIN_TEXT_PATTERN } from '../../control-characters.ts';
import { isRole, type Role } from '../../permissions.ts';
import { formatTimestamp, NO_DATE, parseCalendarTime, parseDayAsMidnight } from './dates.ts';
import {
  createRecordSchema,
  type Field,
  type Fields,
  type JsonSchema,
  parseId,
  readOnlyField,
  type StoredRecordOf,
  serializeRecord,
  throwUnreachable,
  writableField,
} from './field.ts';

const STRING_SCHEMA: JsonSchema = { type: 'string' };
const DATE_TIME_SCHEMA: JsonSchema = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$' };
const FLAG_SCHEMA: JsonSchema = { title: 'Flag', type: 'string', enum: ['0', '1'] };
const DIGITS_SCHEMA: JsonSchema = { type: 'string', pattern: '^\\d+$' };

/** A field with the id of the record itself. */
export const ownRecordId = (description: string) => readOnlyField<number>(description, String, DIGITS_SCHEMA);

/** A field with a constant value. */
export const constant = (description: string, value: string | null): Field<undefined, 'constant'> => ({
  mode: 'constant',
  description,
  inputSchema: {},
  parse: () => throwUnreachable(),
  default: undefined,
  outputSchema: { const: value },
  serialize: () => value,
});

/** A read-only text: the service writes it, or it comes from another record. */
export const readOnlyText = (description: string) =>
  readOnlyField<string | null>(description, (text) => text ?? '', STRING_SCHEMA);

/** An enumeration that the service writes. */
export const readOnlyEnum = (description: string, values: readonly string[], title?: string) =>
  readOnlyField<string | null>(description, (value) => value ?? '', createEnumSchema(values, title));

/** Creates the schema of an enumeration. A schema with a title becomes a named schema of the OpenAPI document. */
export const createEnumSchema = (values: readonly string[], title?: string): JsonSchema => ({
  ...(title === undefined ? {} : { title }),
  type: 'string',
  enum: values,
});

/**
 * A secret that is returned only in the response that creates it. It is removed from the response that is stored for
 * idempotent replays (X4).
 */
export const oneTimeSecret = (description: string) =>
  readOnlyField<string>(description, String, { ...STRING_SCHEMA, 'x-shown-once': true });

/** The id of another record, which the service writes; "0" for none. */
export const readOnlyId = (description: string) =>
  readOnlyField<number | null>(description, (id) => String(id ?? 0), DIGITS_SCHEMA);

/** An integer that the service writes, as a string of digits. */
export const readOnlyDigits = (description: string) =>
  readOnlyField<number | null>(description, (count) => String(count ?? 0), DIGITS_SCHEMA);

/** A field that returns the seconds of another field as hours, rounded to four decimals. */
export const hoursFromSeconds = (sourceField: string, description: string): Field<number | null, 'derived'> => ({
  ...readOnlyField<number | null>(description, (seconds) => Math.round((seconds ?? 0) / 0.36) / 10_000, {
    type: 'number',
  }),
  mode: 'derived',
  derivedFrom: sourceField,
});

/** An integer that the service writes, as a JSON number. */
export const readOnlyInteger = (description: string) => readOnlyField<number>(description, Number, { type: 'integer' });

/** A timestamp in UTC that the service writes; `0000-00-00 00:00:00` for null. */
export const readOnlyTimestamp = (description: string) =>
  readOnlyField<number | null>(description, formatTimestamp, DATE_TIME_SCHEMA);

/** A flag that the service writes: "0" or "1". */
export const readOnlyFlag = (description: string) =>
  readOnlyField<boolean | number>(description, (flag) => (flag ? '1' : '0'), FLAG_SCHEMA);

/** A list of enumeration values that the service writes. */
export const readOnlyEnumList = (description: string, values: readonly string[], title?: string) =>
  readOnlyField<readonly string[]>(description, (list) => list, {
    type: 'array',
    items: createEnumSchema(values, title),
  });

export type TextOptions = {
  description: string;
  maxLength: number;
  minLength?: number;
  defaultValue?: string | undefined;
};

/** A text of `minLength` (default 0) to `maxLength` characters after trimming, without NUL and lone surrogates (C4). */
export function text({ description, maxLength, minLength = 0, defaultValue }: TextOptions): Field<string, 'writable'> {
  const lengthRange = minLength > 0 ? `${minLength} to ${maxLength}` : `at most ${maxLength}`;
  return writableField(
    {
      description,
      inputSchema: { type: 'string', 'x-text': { min: minLength, max: maxLength } },
      errorMessage: `must be a text of ${lengthRange} characters`,
      parse: (value) => String(value).trim(),
      serialize: (stored) => stored,
      outputSchema: { type: 'string', maxLength },
    },
    defaultValue,
  );
}

/** The name of a record: required, 1 to 255 characters after trimming. */
export const requiredName = (description: string) => text({ description, minLength: 1, maxLength: 255 });

/** A short text; empty by default. */
export const shortText = (description: string, max = 255) => text({ description, maxLength: max, defaultValue: '' });

/** A short text that is printed to terminals, so it may not contain control characters; empty by default. */
export function plainText(description: string, max = 255): Field<string, 'writable'> {
  const field = shortText(description, max);
  const errorMessage = `must be a text of at most ${max} characters, none of them a control character`;
  return { ...field, inputSchema: { ...field.inputSchema, pattern: PLAIN_TEXT_PATTERN, 'x-must': errorMessage } };
}

/** A text of up to 20,000 characters; empty by default. */
export const longText = (description: string) => text({ description, maxLength: 20_000, defaultValue: '' });

/** Comma-separated tags, stored trimmed and without empty tags. */
export function tags(description: string): Field<string, 'writable'> {
  const field = shortText(description, 1_000);
  const parse = (value: unknown) =>
    String(value)
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '')
      .join(',');
  return { ...field, parse };
}

const EMAIL_PATTERN = `[^\\s@${CONTROL_CHARACTERS}]+@[^\\s@${CONTROL_CHARACTERS}]+`;

/** An e-mail address; `''` if it is optional and absent. */
export function email(description: string, presence: 'required' | 'optional'): Field<string, 'writable'> {
  return writableField(
    {
      description,
      inputSchema: {
        type: 'string',
        maxLength: 254,
        pattern: presence === 'required' ? `^${EMAIL_PATTERN}$` : `^(${EMAIL_PATTERN})?$`,
        'x-text': { min: 0, max: 254 },
      },
      errorMessage: 'must be an e-mail address of at most 254 characters',
      parse: String,
      serialize: (stored) => stored,
    },
    presence === 'required' ? undefined : '',
  );
}

/** A three-letter currency code in upper case, or `''`. */
export const currency = (description: string) =>
  writableField<string>(
    {
      description,
      inputSchema: { type: 'string', pattern: '^([A-Za-z]{3})?$' },
      errorMessage: 'must be a currency code of three letters',
      parse: (value) => String(value).toUpperCase(),
      serialize: (stored) => stored,
    },
    '',
  );

const INVALID_TIME_MESSAGE = 'must be a real calendar day written yyyymmdd (or YYYY-MM-DD HH:MM:SS)';

/** A required start or due date (C9). */
export const calendarTime = (description: string) =>
  writableField<string>(
    {
      description: `${description} Accepts yyyymmdd or the output format.`,
      inputSchema: { type: 'string', format: 'calendar-time' },
      errorMessage: INVALID_TIME_MESSAGE,
      parse: (value) => parseCalendarTime(String(value)) ?? throwUnreachable(),
      serialize: (stored) => stored,
      outputSchema: DATE_TIME_SCHEMA,
    },
    undefined,
  );

/** An optional start or due date; `''`, null and NO_DATE are stored as null. */
export const calendarTimeOrNone = (description: string) =>
  writableField<string | null>(
    {
      description: `${description} Accepts yyyymmdd or the output format; empty for none.`,
      inputSchema: { type: ['string', 'null'], format: 'calendar-time-or-none' },
      errorMessage: `${INVALID_TIME_MESSAGE}, or empty`,
      parse: (value) => (isNoDate(value) ? null : (parseCalendarTime(String(value)) ?? throwUnreachable())),
      serialize: (stored) => stored ?? NO_DATE,
      outputSchema: DATE_TIME_SCHEMA,
    },
    null,
  );

/** An optional calendar day, serialized without a time. */
export const calendarDayOrNone = (description: string) =>
  writableField<string | null>(
    {
      description: `${description} Accepts yyyymmdd or the output format.`,
      inputSchema: { type: ['string', 'null'], format: 'calendar-day-or-none' },
      errorMessage: 'must be a real calendar day written yyyymmdd (or YYYY-MM-DD), or empty',
      parse: (value) => (isNoDate(value) ? null : (parseDayAsMidnight(String(value)) ?? throwUnreachable())),
      serialize: (stored) => (stored ?? NO_DATE).slice(0, 10),
      outputSchema: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
    },
    null,
  );

export function isNoDate(value: unknown): boolean {
  return value === null || value === '' || value === NO_DATE;
}

const FLAG_VALUES = ['0', '1', 0, 1, true, false];

const parseFlag = (value: unknown) => (value === '1' || value === 1 || value === true ? 1 : 0);

/** A flag. Accepts 0, 1, "0", "1", true and false; returns "0" or "1". */
export const flag = (description: string, defaultValue: 0 | 1 = 0) =>
  writableField<number>(
    {
      description,
      inputSchema: { title: 'FlagInput', enum: FLAG_VALUES },
      errorMessage: 'must be 0 or 1',
      parse: parseFlag,
      serialize: String,
      outputSchema: FLAG_SCHEMA,
    },
    defaultValue,
  );

/** A write-only flag. */
export const writeOnlyFlag = (description: string): Field<number, 'writeOnly'> => ({
  ...flag(description),
  mode: 'writeOnly',
});

/** A flag that is returned as the number 0 or 1. */
export const numberFlag = (description: string): Field<number, 'writable'> => ({
  ...flag(description),
  serialize: Number,
  outputSchema: { type: 'integer', enum: [0, 1] },
});

/** The state of a record: 1 is active, 0 is inactive, 2 is on hold. */
export const activeState = () =>
  writableField<number>(
    {
      description: '1 active, 0 inactive, 2 on hold.',
      inputSchema: { title: 'ActiveStateInput', enum: [...FLAG_VALUES, '2', 2] },
      errorMessage: 'must be 0, 1 or 2',
      parse: (value) => (value === '2' || value === 2 ? 2 : parseFlag(value)),
      serialize: String,
      outputSchema: createEnumSchema(['0', '1', '2'], 'ActiveState'),
    },
    1,
  );

/** An integer from 0 to `max`; accepts a string or a number. */
export const integer = (description: string, max: number, presence: 'required' | 'optional' = 'optional') =>
  writableField<number>(
    {
      description,
      inputSchema: {
        type: ['string', 'integer'],
        pattern: `^\\d{1,${String(max).length}}$`,
        minimum: 0,
        maximum: max,
        'x-max': max,
      },
      errorMessage: `must be a whole number from 0 to ${max}`,
      parse: Number,
      serialize: String,
      outputSchema: DIGITS_SCHEMA,
    },
    presence === 'required' ? undefined : 0,
  );

const MAX_SORT_POSITION = 9_999_999_999_999;

/** The sort position of a record: an integer below 10^13, so that clients can use a timestamp in milliseconds (C42). */
export const sortPosition = (description: string) => integer(description, MAX_SORT_POSITION);

const MAX_SECONDS = 999_999_999;

/** A required number of seconds. Fractions are rounded half up, because clients compute seconds from hours (C42). */
export const seconds = (description: string) =>
  writableField<number>(
    {
      description: `${description} A value with a fraction is rounded to whole seconds.`,
      inputSchema: {
        type: ['string', 'number'],
        pattern: `^\\d{1,${String(MAX_SECONDS).length}}(\\.\\d+)?$`,
        minimum: 0,
        maximum: MAX_SECONDS,
        'x-max': MAX_SECONDS,
      },
      errorMessage: `must be a number of seconds from 0 to ${MAX_SECONDS}`,
      parse: (value) => Math.round(Number(value)),
      serialize: String,
      outputSchema: DIGITS_SCHEMA,
    },
    undefined,
  );

/** A non-negative amount with at most four decimals; accepts a string or a number, stored as text to avoid rounding. */
export const decimal = (description: string) =>
  writableField<string>(
    {
      description,
      inputSchema: {
        type: ['string', 'number'],
        format: 'decimal',
        minimum: 0,
        exclusiveMaximum: 1e9,
        'x-decimal': true,
      },
      errorMessage: 'must be a number from 0 to 999999999.9999 with at most four decimals',
      parse: (value) => (value === '' ? '0' : stripLeadingZeros(String(value))),
      serialize: (stored) => stored,
      outputSchema: { type: 'string', pattern: '^\\d{1,9}(\\.\\d{1,4})?$' },
    },
    '0',
  );

const DECIMAL_PATTERN = /^\d{1,9}(\.\d{1,4})?$/;

export function isDecimal(text: string): boolean {
  return text === '' || DECIMAL_PATTERN.test(text);
}

function stripLeadingZeros(text: string): string {
  return text.replace(/^0+(?=\d)/, '');
}

/** Whether a value of a `fixedPrice` field is an amount rather than a flag. */
const isAmount = (value: unknown) => !FLAG_VALUES.includes(value as string) && Number(value) !== 0;

/**
 * A flag for a fixed price. An amount sets the flag and is stored in `price`, because existing clients send the price
 * in this field (C42).
 */
export const fixedPrice = (description: string): Field<number, 'writable'> => ({
  ...writableField<number>(
    {
      description: `${description} An amount other than 0 and 1 sets the flag and becomes the price.`,
      inputSchema: {
        type: ['string', 'number', 'boolean'],
        format: 'decimal',
        minimum: 0,
        exclusiveMaximum: 1e9,
        'x-decimal': true,
      },
      errorMessage: 'must be 0, 1, or an amount from 0 to 999999999.9999 with at most four decimals',
      parse: (value) => (isAmount(value) ? 1 : parseFlag(value)),
      serialize: String,
      outputSchema: FLAG_SCHEMA,
    },
    0,
  ),
  implies: (value) => (isAmount(value) ? { price: stripLeadingZeros(String(value)) } : undefined),
});

/** The required id of another record. */
export const recordId = (description: string) =>
  writableField<number>(
    {
      description,
      inputSchema: { type: ['string', 'integer'], format: 'id', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      errorMessage: 'must be an id',
      parse: parseIdOrNone,
      serialize: String,
      outputSchema: DIGITS_SCHEMA,
    },
    undefined,
  );

/** The id of another record; `"0"`, 0, `""` and null mean none (C26). */
export const recordIdOrNone = (description: string) =>
  writableField<number>(
    {
      description: `${description} "0" for none.`,
      inputSchema: {
        type: ['string', 'integer', 'null'],
        format: 'id-or-none',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
      },
      errorMessage: 'must be an id, or "0" for none',
      parse: parseIdOrNone,
      serialize: String,
      outputSchema: DIGITS_SCHEMA,
    },
    0,
  );

function parseIdOrNone(value: unknown): number {
  return value === '' || value === null ? 0 : (parseId(value) ?? throwUnreachable());
}

/** A reference to another record by its id and name, such as `user_id` and `user_name`. */
type RecordReference<N extends string> = { readonly [K in `${N}_id`]: number } & {
  readonly [K in `${N}_name`]: string;
};

export type AssignedUser = RecordReference<'user'>;
export type AssignedTeam = RecordReference<'team'>;

/** A field with references to other records. Accepts a list of ids, or its own output: `[{ …_id, …_name }]`. */
function recordReferences<N extends 'user' | 'team'>(
  resourceType: N,
  description: string,
): Field<readonly RecordReference<N>[], 'writable'> {
  const [idKey, nameKey] = [`${resourceType}_id`, `${resourceType}_name`];
  const titleNoun = resourceType === 'user' ? 'User' : 'Team';
  const idSchema = { format: 'id', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  const parseItemId = (item: unknown) =>
    parseIdOrNone(typeof item === 'object' && item !== null ? Reflect.get(item, idKey) : item);
  return writableField<readonly RecordReference<N>[]>(
    {
      description,
      inputSchema: {
        type: 'array',
        maxItems: 1_000,
        items: {
          title: `${titleNoun}Reference`,
          type: ['string', 'integer', 'object'],
          ...idSchema,
          required: [idKey],
          properties: { [idKey]: { type: ['string', 'integer'], ...idSchema } },
        },
      },
      errorMessage: `must be a list of ${resourceType} ids`,
      parse: (value) => {
        const ids = new Set((value as readonly unknown[]).map(parseItemId));
        return [...ids].map((recordId) => ({ [idKey]: recordId, [nameKey]: '' })) as unknown as RecordReference<N>[];
      },
      serialize: (references) =>
        references.map((reference) => ({
          [idKey]: String(Reflect.get(reference, idKey)),
          [nameKey]: Reflect.get(reference, nameKey),
        })),
      outputSchema: {
        type: 'array',
        items: {
          title: `Assigned${titleNoun}`,
          type: 'object',
          required: [idKey, nameKey],
          properties: { [idKey]: DIGITS_SCHEMA, [nameKey]: STRING_SCHEMA },
        },
      },
    },
    [],
  );
}

/** A field with the users that are assigned to the record. */
export const assignedUsers = (description: string) => recordReferences('user', description);

/** A field with the teams that are assigned to the record. */
export const assignedTeams = (description: string) => recordReferences('team', description);

/** The role of a user in the account. */
export const role = (description: string): Field<Role, 'writable'> =>
  writableField<Role>(
    {
      description,
      inputSchema: { title: 'Role', enum: ['member', 'admin', 'owner'] },
      errorMessage: 'must be member, admin or owner',
      parse: (value) => (typeof value === 'string' && isRole(value) ? value : throwUnreachable()),
      serialize: (stored) => stored,
      outputSchema: createEnumSchema(['member', 'admin', 'owner'], 'Role'),
    },
    'member',
  );

/** A list of nested records with these fields, which the service writes. */
export const readOnlyRecords = <F extends Fields>(description: string, fields: F, title?: string) =>
  readOnlyField<readonly StoredRecordOf<F>[]>(description, (rows) => rows.map((row) => serializeRecord(fields, row)), {
    type: 'array',
    items: { ...(title === undefined ? {} : { title }), ...createRecordSchema(fields) },
  });
