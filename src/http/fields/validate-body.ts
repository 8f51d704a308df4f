import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { isStorable } from '../../control-characters.ts';
import { parseExpiry } from '../../durations.ts';
import { type FieldError, invalidInput, Problem } from '../../problems.ts';
import { parseCalendarDay, parseCalendarTime } from './dates.ts';
import { type ChangeInput, type CreationInput, type Field, type Fields, type JsonSchema, parseId } from './field.ts';
import { isDecimal, isNoDate } from './field-types.ts';

/** The body of a route: its schema, and a function that validates and parses it. `read` throws `invalid_input`. */
export type BodySpec<T> = { readonly schema: JsonSchema; read(body: unknown): T };

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, coerceTypes: false, removeAdditional: false });
ajv.addVocabulary(['x-must']);
ajv.addFormat('id', { type: 'string', validate: (text) => parseId(text) !== undefined });
ajv.addFormat('id-or-none', { type: 'string', validate: (text) => text === '' || parseId(text) !== undefined });
ajv.addFormat('calendar-time', { type: 'string', validate: (text) => parseCalendarTime(text) !== undefined });
ajv.addFormat('calendar-time-or-none', {
  type: 'string',
  validate: (text) => isNoDate(text) || parseCalendarTime(text) !== undefined,
});
ajv.addFormat('calendar-day-or-none', {
  type: 'string',
  validate: (text) => isNoDate(text) || parseCalendarDay(text) !== undefined,
});
ajv.addFormat('decimal', { type: 'string', validate: isDecimal });
ajv.addFormat('expiry', { type: 'string', validate: (text) => parseExpiry(text) !== undefined });
ajv.addKeyword({
  keyword: 'x-text',
  type: 'string',
  validate: ({ min, max }: { min: number; max: number }, text: string) => isValidText(text, min, max),
});
ajv.addKeyword({ keyword: 'x-max', type: 'string', validate: (max: number, text: string) => Number(text) <= max });
ajv.addKeyword({
  keyword: 'x-decimal',
  type: 'number',
  validate: (_: true, value: number) => isDecimal(String(value)),
});

/** Whether a text can be stored: no NUL, no lone surrogate, `min` to `max` characters after trimming. */
export function isValidText(text: string, min: number, max: number): boolean {
  if (!isStorable(text)) return false;
  const trimmed = text.trim();
  // A text has at most as many characters as UTF-16 units, so counting characters is rarely necessary.
  const length = trimmed.length <= max ? trimmed.length : [...trimmed].length;
  return length >= min && length <= max;
}

/** Defines the body of a creation: required fields must be present, all other fields have a default. */
export function creationBodySpec<F extends Fields>(fields: F): BodySpec<CreationInput<F>> {
  const writable = writableFieldsOf(fields);
  const required = writable.filter(([, field]) => field.default === undefined).map(([name]) => name);
  return bodySpec(writable, required, (body) => {
    const input = Object.fromEntries(
      writable.map(([name, field]) => [name, Object.hasOwn(body, name) ? field.parse(body[name]) : field.default]),
    );
    return { ...input, ...impliedValuesOf(writable, body) } as CreationInput<F>;
  });
}

/** Defines the body of a change: every field is optional, and only the given fields are returned (C27). */
export function changeBodySpec<F extends Fields>(fields: F): BodySpec<ChangeInput<F>> {
  const writable = writableFieldsOf(fields);
  return bodySpec(writable, [], (body) => {
    const given = writable.filter(([name]) => Object.hasOwn(body, name));
    const input = Object.fromEntries(given.map(([name, field]) => [name, field.parse(body[name])]));
    return { ...input, ...impliedValuesOf(given, body) } as ChangeInput<F>;
  });
}

type FieldEntries = readonly (readonly [name: string, field: Field])[];

/** Returns the values of other fields that the given fields also set. */
function impliedValuesOf(
  entries: FieldEntries,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const implied = entries.map(([name, field]) => (Object.hasOwn(body, name) ? field.implies?.(body[name]) : undefined));
  return Object.assign({}, ...implied);
}

function writableFieldsOf(fields: Fields): FieldEntries {
  return Object.entries(fields).filter(([, field]) => field.mode === 'writable' || field.mode === 'writeOnly');
}

function schemaOf(entries: FieldEntries, required: readonly string[]): JsonSchema {
  const properties = entries.map(([name, field]) => [name, { ...field.inputSchema, description: field.description }]);
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties: Object.fromEntries(properties) };
}

function bodySpec<T>(
  entries: FieldEntries,
  required: readonly string[],
  read: (body: Readonly<Record<string, unknown>>) => T,
): BodySpec<T> {
  const schema = schemaOf(entries, required);
  const withValidator = entries.filter(([, field]) => field.validate !== undefined);
  let validate: ValidateFunction | undefined;
  return {
    schema,
    read(body) {
      validate ??= ajv.compile(schema);
      const errors = validate(body) ? new Map<string, FieldError>() : toFieldErrors(schema, validate.errors ?? []);
      const fields = body as Readonly<Record<string, unknown>>;
      // In addition to the schema, reject texts that a database would reject or change.
      for (const [name, { inputSchema }] of entries) {
        if (errors.has(name) || areStorable(fields[name])) continue;
        errors.set(name, { field: name, message: String(inputSchema['x-must']) });
      }
      for (const [name, field] of withValidator) {
        if (errors.has(name) || !Object.hasOwn(fields, name)) continue;
        const message = field.validate?.(fields[name]);
        if (message !== undefined) errors.set(name, { field: name, message });
      }
      if (errors.size > 0) throw invalidInput([...errors.values()]);
      return read(fields);
    },
  };
}

function areStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every(areStorable);
}

/** Converts schema errors to one error for each invalid field, with the message of the field. */
function toFieldErrors(schema: JsonSchema, ajvErrors: readonly ErrorObject[]): Map<string, FieldError> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const errors = new Map<string, FieldError>();
  for (const error of ajvErrors) {
    const [, top] = error.instancePath.split('/');
    if (top === undefined && error.keyword !== 'required') throw new Problem('malformed_body');
    const field = top ?? String(error.params.missingProperty);
    const message = top === undefined ? 'is required' : String(properties[field]?.['x-must']);
    if (!errors.has(field)) errors.set(field, { field, message });
  }
  return errors;
}
