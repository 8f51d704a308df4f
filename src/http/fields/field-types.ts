import { CONTROLS, PLAIN_PATTERN } from '../../control-characters.ts';
import { isRole, type Role } from '../../permissions.ts';
import { NO_DATE, parseCalendarDay, parseCalendarTime, showMoment } from './dates.ts';
import {
  type Field,
  type Fields,
  type JsonSchema,
  readOnly,
  responseSchema,
  type Shown,
  serializeRecord,
  unreachable,
  writable,
} from './field.ts';
import { parseId } from './ids.ts';

const STRING: JsonSchema = { type: 'string' };
const DATE_TIME: JsonSchema = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$' };
const FLAG: JsonSchema = { title: 'Flag', type: 'string', enum: ['0', '1'] };
const DIGITS: JsonSchema = { type: 'string', pattern: '^\\d+$' };

/** The record's own id. */
export const key = (says: string) => readOnly<number>(says, String, DIGITS);

/** A field that always reads the same. */
export const constant = (says: string, value: string | null): Field<undefined, 'fixed'> => ({
  mode: 'fixed',
  description: says,
  inputSchema: {},
  parse: () => unreachable(),
  default: undefined,
  outputSchema: { const: value },
  serialize: () => value,
});

/** A text that comes from elsewhere: a joined name, a column the service writes. */
export const readOnlyText = (says: string) => readOnly<string | null>(says, (text) => text ?? '', STRING);

/** One of a few words that the service writes. */
export const readOnlyWord = (says: string, words: readonly string[], title?: string) =>
  readOnly<string | null>(says, (word) => word ?? '', wordSchema(words, title));

/** One of a few words; with a title it is a named schema of the OpenAPI document. */
export const wordSchema = (words: readonly string[], title?: string): JsonSchema => ({
  ...(title === undefined ? {} : { title }),
  type: 'string',
  enum: words,
});

/** A text that is shown in the answer to its creation and never again: what is kept of that answer is without it (X4). */
export const secretOnce = (says: string) => readOnly<string>(says, String, { ...STRING, 'x-shown-once': true });

/** An id that the service writes. */
export const readOnlyId = (says: string) => readOnly<number | null>(says, (id) => String(id ?? 0), DIGITS);

/** A whole number that the service writes. */
export const readOnlyNumber = (says: string) => readOnly<number | null>(says, (count) => String(count ?? 0), DIGITS);

/** The seconds of another field as hours: a number with at most four decimals. */
export const hoursOf = (from: string, says: string): Field<number | null, 'derived'> => ({
  ...readOnly<number | null>(says, (seconds) => Math.round((seconds ?? 0) / 0.36) / 10_000, { type: 'number' }),
  mode: 'derived',
  from,
});

/** A number that the service writes, shown as one. */
export const readOnlyCount = (says: string) => readOnly<number>(says, Number, { type: 'integer' });

/** A moment in UTC that the service writes; never: `0000-00-00 00:00:00`. */
export const readOnlyTimestamp = (says: string) => readOnly<number | null>(says, showMoment, DATE_TIME);

/** A flag that the service writes. */
export const readOnlyFlag = (says: string) => readOnly<boolean | number>(says, (flag) => (flag ? '1' : '0'), FLAG);

/** A list of such words. */
export const readOnlyList = (says: string, words: readonly string[], title?: string) =>
  readOnly<readonly string[]>(says, (list) => list, { type: 'array', items: wordSchema(words, title) });

export type TextOptions = { says: string; most: number; least?: number; initial?: string | undefined };

/** A text, trimmed, from `least` (default 0) to `most` characters. NUL and lone surrogates are refused (C4). */
export function text({ says, most, least = 0, initial }: TextOptions): Field<string, 'written'> {
  const length = least > 0 ? `${least} to ${most}` : `at most ${most}`;
  return writable(
    {
      says,
      accepts: { type: 'string', 'x-text': { least, most } },
      must: `must be a text of ${length} characters`,
      parse: (value) => String(value).trim(),
      show: (stored) => stored,
      answers: { type: 'string', maxLength: most },
    },
    initial,
  );
}

/** The name of a record: required, 1 to 255 characters after trimming. */
export const name = (says: string) => text({ says, least: 1, most: 255 });

/** A short text of one line; empty when left out. */
export const shortText = (says: string, most = 255) => text({ says, most, initial: '' });

/** A short text without control characters, since it is listed on terminals; empty when left out. */
export function label(says: string, most = 255): Field<string, 'written'> {
  const field = shortText(says, most);
  const must = `must be a text of at most ${most} characters, none of them a control character`;
  return { ...field, inputSchema: { ...field.inputSchema, pattern: PLAIN_PATTERN, 'x-must': must } };
}

/** A long text; empty when left out. */
export const longText = (says: string) => text({ says, most: 20_000, initial: '' });

/** Words separated by commas, stored trimmed and without empty ones. */
export function tags(says: string): Field<string, 'written'> {
  const field = shortText(says, 1_000);
  const parse = (value: unknown) =>
    String(value)
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '')
      .join(',');
  return { ...field, parse };
}

const ADDRESS = `[^\\s@${CONTROLS}]+@[^\\s@${CONTROLS}]+`;

/** An e-mail address; `''` where it may be left out. */
export function email(says: string, need: 'required' | 'optional'): Field<string, 'written'> {
  return writable(
    {
      says,
      accepts: {
        type: 'string',
        maxLength: 254,
        pattern: need === 'required' ? `^${ADDRESS}$` : `^(${ADDRESS})?$`,
        'x-text': { least: 0, most: 254 },
      },
      must: 'must be an e-mail address of at most 254 characters',
      parse: String,
      show: (stored) => stored,
    },
    need === 'required' ? undefined : '',
  );
}

/** A three-letter currency code, or none. */
export const currency = (says: string) =>
  writable<string>(
    {
      says,
      accepts: { type: 'string', pattern: '^([A-Za-z]{3})?$' },
      must: 'must be a currency code of three letters',
      parse: (value) => String(value).toUpperCase(),
      show: (stored) => stored,
    },
    '',
  );

const CALENDAR_TIME_MUST = 'must be a real calendar day written yyyymmdd (or YYYY-MM-DD HH:MM:SS)';

/** A required start or due date (C9). */
export const calendarTime = (says: string) =>
  writable<string>(
    {
      says: `${says} Written yyyymmdd, or as it is answered.`,
      accepts: { type: 'string', format: 'calendar-time' },
      must: CALENDAR_TIME_MUST,
      parse: (value) => parseCalendarTime(String(value)) ?? unreachable(),
      show: (stored) => stored,
      answers: DATE_TIME,
    },
    undefined,
  );

/** A start or due date that may be none; `''`, null and the zero date say so. */
export const calendarTimeOrNone = (says: string) =>
  writable<string | null>(
    {
      says: `${says} Written yyyymmdd, or as it is answered; empty for none.`,
      accepts: { type: ['string', 'null'], format: 'calendar-time-or-none' },
      must: `${CALENDAR_TIME_MUST}, or empty`,
      parse: (value) => (isNoDate(value) ? null : (parseCalendarTime(String(value)) ?? unreachable())),
      show: (stored) => stored ?? NO_DATE,
      answers: DATE_TIME,
    },
    null,
  );

/** A calendar day that may be left out; shown without a time. */
export const calendarDayOrNone = (says: string) =>
  writable<string | null>(
    {
      says: `${says} Written yyyymmdd, or as it is answered.`,
      accepts: { type: ['string', 'null'], format: 'calendar-day-or-none' },
      must: 'must be a real calendar day written yyyymmdd (or YYYY-MM-DD), or empty',
      parse: (value) => (isNoDate(value) ? null : (parseCalendarDay(String(value)) ?? unreachable())),
      show: (stored) => (stored ?? NO_DATE).slice(0, 10),
      answers: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
    },
    null,
  );

/** Whether an input says "no date". */
export function isNoDate(value: unknown): boolean {
  return value === null || value === '' || value === NO_DATE;
}

const FLAG_VALUES = ['0', '1', 0, 1, true, false];

const isOn = (value: unknown) => (value === '1' || value === 1 || value === true ? 1 : 0);

/** A flag: 0 or 1 out; 0, 1, "0", "1", true, false in. */
export const flag = (says: string, initial: 0 | 1 = 0) =>
  writable<number>(
    {
      says,
      accepts: { title: 'FlagInput', enum: FLAG_VALUES },
      must: 'must be 0 or 1',
      parse: isOn,
      show: String,
      answers: FLAG,
    },
    initial,
  );

/** A flag that is asked for and never shown. */
export const writeOnlyFlag = (says: string): Field<number, 'asked'> => ({ ...flag(says), mode: 'asked' });

/** A flag that is shown as a number. */
export const numberFlag = (says: string): Field<number, 'written'> => ({
  ...flag(says),
  serialize: Number,
  outputSchema: { type: 'integer', enum: [0, 1] },
});

/** 1 active, 0 inactive, 2 on hold. */
export const active = () =>
  writable<number>(
    {
      says: '1 active, 0 inactive, 2 on hold.',
      accepts: { title: 'ActiveStateInput', enum: [...FLAG_VALUES, '2', 2] },
      must: 'must be 0, 1 or 2',
      parse: (value) => (value === '2' || value === 2 ? 2 : isOn(value)),
      show: String,
      answers: wordSchema(['0', '1', '2'], 'ActiveState'),
    },
    1,
  );

/** A whole number from 0 to `most`, as a string or a number. */
export const integer = (says: string, most: number, need: 'required' | 'optional' = 'optional') =>
  writable<number>(
    {
      says,
      accepts: {
        type: ['string', 'integer'],
        pattern: `^\\d{1,${String(most).length}}$`,
        minimum: 0,
        maximum: most,
        'x-most': most,
      },
      must: `must be a whole number from 0 to ${most}`,
      parse: Number,
      show: String,
      answers: DIGITS,
    },
    need === 'required' ? undefined : 0,
  );

const MAX_ORDER = 9_999_999_999_999;

/** The place of a record among others: a whole number below 10^13, which a timestamp in milliseconds is, too (C42). */
export const order = (says: string) => integer(says, MAX_ORDER);

const MAX_SECONDS = 999_999_999;

/** A required number of seconds. Clients compute it from hours, so a fraction is rounded, a half up (C42). */
export const seconds = (says: string) =>
  writable<number>(
    {
      says: `${says} A fraction is rounded.`,
      accepts: {
        type: ['string', 'number'],
        pattern: `^\\d{1,${String(MAX_SECONDS).length}}(\\.\\d+)?$`,
        minimum: 0,
        maximum: MAX_SECONDS,
        'x-most': MAX_SECONDS,
      },
      must: `must be a number of seconds from 0 to ${MAX_SECONDS}`,
      parse: (value) => Math.round(Number(value)),
      show: String,
      answers: DIGITS,
    },
    undefined,
  );

/** An amount of at least 0 with at most four decimals, as a string or a number; kept as text, never as a float. */
export const decimal = (says: string) =>
  writable<string>(
    {
      says,
      accepts: { type: ['string', 'number'], format: 'decimal', minimum: 0, exclusiveMaximum: 1e9, 'x-decimal': true },
      must: 'must be a number from 0 to 999999999.9999 with at most four decimals',
      parse: (value) => (value === '' ? '0' : plainDecimal(String(value))),
      show: (stored) => stored,
      answers: { type: 'string', pattern: '^\\d{1,9}(\\.\\d{1,4})?$' },
    },
    '0',
  );

const DECIMAL = /^\d{1,9}(\.\d{1,4})?$/;

export function isDecimal(text: string): boolean {
  return text === '' || DECIMAL.test(text);
}

function plainDecimal(text: string): string {
  return text.replace(/^0+(?=\d)/, '');
}

/** Whether a value of `fixedPrice` is the price itself. */
const isAmount = (value: unknown) => !FLAG_VALUES.includes(value as string) && Number(value) !== 0;

/** A flag that an amount sets, too: existing clients write the price here, and it goes to `price` (C42). */
export const fixedPrice = (says: string): Field<number, 'written'> => ({
  ...writable<number>(
    {
      says: `${says} An amount other than 0 and 1 sets it, and is the price.`,
      accepts: {
        type: ['string', 'number', 'boolean'],
        format: 'decimal',
        minimum: 0,
        exclusiveMaximum: 1e9,
        'x-decimal': true,
      },
      must: 'must be 0, 1, or an amount from 0 to 999999999.9999 with at most four decimals',
      parse: (value) => (isAmount(value) ? 1 : isOn(value)),
      show: String,
      answers: FLAG,
    },
    0,
  ),
  implies: (value) => (isAmount(value) ? { price: plainDecimal(String(value)) } : undefined),
});

/** The id of another record, required. */
export const resourceId = (says: string) =>
  writable<number>(
    {
      says,
      accepts: { type: ['string', 'integer'], format: 'id', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      must: 'must be an id',
      parse: idOf,
      show: String,
      answers: DIGITS,
    },
    undefined,
  );

/** The id of another record, or none: `"0"`, 0, `""` or null (C26). */
export const resourceIdOrNone = (says: string) =>
  writable<number>(
    {
      says: `${says} "0" for none.`,
      accepts: {
        type: ['string', 'integer', 'null'],
        format: 'id-or-none',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
      },
      must: 'must be an id, or "0" for none',
      parse: idOf,
      show: String,
      answers: DIGITS,
    },
    0,
  );

function idOf(value: unknown): number {
  return value === '' || value === null ? 0 : (parseId(value) ?? unreachable());
}

/** A record of another noun, with its name. */
type Named<N extends string> = { readonly [K in `${N}_id`]: number } & { readonly [K in `${N}_name`]: string };

export type Assigned = Named<'user'>;
export type AssignedTeam = Named<'team'>;

/** Records of another noun: a list of ids in (or what was read, written back), `[{ …_id, …_name }]` out. */
function named<N extends 'user' | 'team'>(resourceType: N, says: string): Field<readonly Named<N>[], 'written'> {
  const [id, name] = [`${resourceType}_id`, `${resourceType}_name`];
  const titled = resourceType === 'user' ? 'User' : 'Team';
  const accepted = { format: 'id', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  const idIn = (item: unknown) => idOf(typeof item === 'object' && item !== null ? Reflect.get(item, id) : item);
  return writable<readonly Named<N>[]>(
    {
      says,
      accepts: {
        type: 'array',
        maxItems: 1_000,
        items: {
          title: `${titled}Reference`,
          type: ['string', 'integer', 'object'],
          ...accepted,
          required: [id],
          properties: { [id]: { type: ['string', 'integer'], ...accepted } },
        },
      },
      must: `must be a list of ${resourceType} ids`,
      parse: (value) => {
        const ids = new Set((value as readonly unknown[]).map(idIn));
        return [...ids].map((one) => ({ [id]: one, [name]: '' })) as unknown as Named<N>[];
      },
      show: (records) =>
        records.map((record) => ({ [id]: String(Reflect.get(record, id)), [name]: Reflect.get(record, name) })),
      answers: {
        type: 'array',
        items: {
          title: `Assigned${titled}`,
          type: 'object',
          required: [id, name],
          properties: { [id]: DIGITS, [name]: STRING },
        },
      },
    },
    [],
  );
}

/** The assigned users. */
export const assigned = (says: string) => named('user', says);

/** The assigned teams. */
export const assignedTeams = (says: string) => named('team', says);

/** What a user may do in the account. */
export const role = (says: string): Field<Role, 'written'> =>
  writable<Role>(
    {
      says,
      accepts: { title: 'Role', enum: ['member', 'admin', 'owner'] },
      must: 'must be member, admin or owner',
      parse: (value) => (typeof value === 'string' && isRole(value) ? value : unreachable()),
      show: (stored) => stored,
      answers: wordSchema(['member', 'admin', 'owner'], 'Role'),
    },
    'member',
  );

/** Records that belong to another one, each with these fields. */
export const readOnlyRecords = <F extends Fields>(says: string, fields: F, title?: string) =>
  readOnly<readonly Shown<F>[]>(says, (rows) => rows.map((row) => serializeRecord(fields, row)), {
    type: 'array',
    items: { ...(title === undefined ? {} : { title }), ...responseSchema(fields) },
  });
