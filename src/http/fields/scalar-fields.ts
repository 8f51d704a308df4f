import { CONTROL_CHARACTERS, isPlainText, isStorable, PLAIN_TEXT_PATTERN } from '../../control-characters.ts';
import { createParser, type Field, type JsonSchema, readOnlyField, throwReadOnly, writableField } from './field.ts';

export const STRING_SCHEMA: JsonSchema = { type: 'string' };
export const DATE_TIME_SCHEMA: JsonSchema = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$' };
export const FLAG_SCHEMA: JsonSchema = { title: 'Flag', type: 'string', enum: ['0', '1'] };
export const DIGITS_SCHEMA: JsonSchema = { type: 'string', pattern: '^\\d+$' };

/** A field with a constant value. */
export const constant = (description: string, value: string | null): Field<undefined, 'constant'> => ({
  mode: 'constant',
  description,
  inputSchema: {},
  parse: throwReadOnly,
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

/** An integer that the service writes, as a string of digits. */
export const readOnlyDigits = (description: string) =>
  readOnlyField<number | null>(description, (count) => String(count ?? 0), DIGITS_SCHEMA);

/** An integer that the service writes, as a JSON number. */
export const readOnlyInteger = (description: string) => readOnlyField<number>(description, Number, { type: 'integer' });

/** A flag that the service writes: "0" or "1". */
export const readOnlyFlag = (description: string) =>
  readOnlyField<boolean | number>(description, (flag) => (flag ? '1' : '0'), FLAG_SCHEMA);

/** A list of enumeration values that the service writes. */
export const readOnlyEnumList = (description: string, values: readonly string[], title?: string) =>
  readOnlyField<readonly string[]>(description, (list) => list, {
    type: 'array',
    items: createEnumSchema(values, title),
  });

/** A list of texts that the service writes. */
export const readOnlyTexts = (description: string) =>
  readOnlyField<readonly string[]>(description, (list) => list, { type: 'array', items: STRING_SCHEMA });

type TextOptions = {
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
      parse: (value) => (isValidText(value, minLength, maxLength) ? value.trim() : undefined),
      serialize: (stored) => stored,
      outputSchema: { type: 'string', maxLength },
    },
    defaultValue,
  );
}

/** Whether a value is a text that can be stored: no NUL, no lone surrogate, `min` to `max` characters after trimming. */
export function isValidText(value: unknown, min: number, max: number): value is string {
  if (typeof value !== 'string' || !isStorable(value)) return false;
  const trimmedText = value.trim();
  // A character has one or two UTF-16 units, so counting characters is rarely necessary.
  const mustCount = trimmedText.length > max || (min > 1 && trimmedText.length < 2 * min);
  const characterCount = mustCount ? [...trimmedText].length : trimmedText.length;
  return characterCount >= min && characterCount <= max;
}

/** The name of a record: required, 1 to 255 characters after trimming. */
export const requiredName = (description: string) => text({ description, minLength: 1, maxLength: 255 });

/** A short text; empty by default. */
export const shortText = (description: string, max = 255) => text({ description, maxLength: max, defaultValue: '' });

/** A short text that is printed to terminals, so it may not contain control characters; empty by default. */
export function plainText(description: string, max = 255): Field<string, 'writable'> {
  const field = shortText(description, max);
  const errorMessage = `must be a text of at most ${max} characters, none of them a control character`;
  return {
    ...field,
    inputSchema: { ...field.inputSchema, pattern: PLAIN_TEXT_PATTERN, 'x-must': errorMessage },
    parse: createParser(errorMessage, (value) =>
      isValidText(value, 0, max) && isPlainText(value) ? value.trim() : undefined,
    ),
  };
}

/** A text of up to 20,000 characters; empty by default. */
export const longText = (description: string) => text({ description, maxLength: 20_000, defaultValue: '' });

/** Comma-separated tags, stored trimmed and without empty tags. */
export function tags(description: string): Field<string, 'writable'> {
  const field = shortText(description, 1_000);
  const removeEmptyTags = (list: string) =>
    list
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '')
      .join(',');
  return {
    ...field,
    parse(value) {
      const parsed = field.parse(value);
      return 'error' in parsed ? parsed : { value: removeEmptyTags(parsed.value) };
    },
  };
}

const EMAIL_PATTERN = `[^\\s@${CONTROL_CHARACTERS}]+@[^\\s@${CONTROL_CHARACTERS}]+`;

const MAX_EMAIL_LENGTH = 254;

/** Whether a value is a text that matches EMAIL_PATTERN. */
function isEmail(value: unknown): value is string {
  if (!isValidText(value, 0, MAX_EMAIL_LENGTH) || /\s/.test(value) || !isPlainText(value)) return false;
  const [localPart = '', domain = '', ...rest] = value.split('@');
  return localPart !== '' && domain !== '' && rest.length === 0;
}

/** An e-mail address; `''` if it is optional and absent. */
export function email(description: string, presence: 'required' | 'optional'): Field<string, 'writable'> {
  return writableField(
    {
      description,
      inputSchema: {
        type: 'string',
        maxLength: MAX_EMAIL_LENGTH,
        pattern: presence === 'required' ? `^${EMAIL_PATTERN}$` : `^(${EMAIL_PATTERN})?$`,
        'x-text': { min: 0, max: MAX_EMAIL_LENGTH },
      },
      errorMessage: `must be an e-mail address of at most ${MAX_EMAIL_LENGTH} characters`,
      parse: (value) => (isEmail(value) || (value === '' && presence === 'optional') ? value : undefined),
      serialize: (stored) => stored,
    },
    presence === 'required' ? undefined : '',
  );
}

const CURRENCY_PATTERN = /^([A-Za-z]{3})?$/;

/** A three-letter currency code in upper case, or `''`. */
export const currency = (description: string) =>
  writableField<string>(
    {
      description,
      inputSchema: { type: 'string', pattern: CURRENCY_PATTERN.source },
      errorMessage: 'must be a currency code of three letters',
      parse: (value) => (typeof value === 'string' && CURRENCY_PATTERN.test(value) ? value.toUpperCase() : undefined),
      serialize: (stored) => stored,
    },
    '',
  );

export const FLAG_VALUES: readonly unknown[] = ['0', '1', 0, 1, true, false];

export const parseFlag = (value: unknown) =>
  FLAG_VALUES.includes(value) ? (value === '1' || value === 1 || value === true ? 1 : 0) : undefined;

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

/**
 * Parses a number from 0 to `max`, or the text of one with at most as many digits as `max` before the point; undefined
 * for anything else.
 */
function parseNumber(value: unknown, max: number): number | undefined {
  const [, digits] = typeof value === 'string' ? (/^(\d+)(?:\.\d+)?$/.exec(value) ?? []) : [];
  const number = digits !== undefined && digits.length <= String(max).length ? Number(value) : value;
  return typeof number === 'number' && number >= 0 && number <= max ? number : undefined;
}

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
      },
      errorMessage: `must be a whole number from 0 to ${max}`,
      parse(value) {
        const number = typeof value === 'string' && value.includes('.') ? undefined : parseNumber(value, max);
        return Number.isInteger(number) ? number : undefined;
      },
      serialize: String,
      outputSchema: DIGITS_SCHEMA,
    },
    presence === 'required' ? undefined : 0,
  );

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
      },
      errorMessage: `must be a number of seconds from 0 to ${MAX_SECONDS}`,
      parse(value) {
        const number = parseNumber(value, MAX_SECONDS);
        return number === undefined ? undefined : Math.round(number);
      },
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
      },
      errorMessage: 'must be a number from 0 to 999999999.9999 with at most four decimals',
      parse: parseDecimal,
      serialize: (stored) => stored,
      outputSchema: { type: 'string', pattern: '^\\d{1,9}(\\.\\d{1,4})?$' },
    },
    '0',
  );

const DECIMAL_PATTERN = /^\d{1,9}(\.\d{1,4})?$/;

/** Parses an amount to its text without leading zeros; an empty text is 0, undefined stands for an invalid amount. */
export function parseDecimal(value: unknown): string | undefined {
  if (value === '') return '0';
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && DECIMAL_PATTERN.test(text) ? text.replace(/^0+(?=\d)/, '') : undefined;
}
