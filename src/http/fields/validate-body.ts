import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { isStorable } from '../../control-characters.ts';
import { parseExpiry } from '../../durations.ts';
import { type FieldError, invalidInput, Problem } from '../../problems.ts';
import { parseCalendarDay, parseCalendarTime } from './dates.ts';
import type { Changed, Created, Field, Fields, JsonSchema } from './field.ts';
import { isDecimal, isNoDate } from './field-types.ts';
import { parseId } from './ids.ts';

/** What a route takes in its body: its schema, and how an acceptable body is read. */
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
  validate: ({ least, most }: { least: number; most: number }, text: string) => isText(text, least, most),
});
ajv.addKeyword({ keyword: 'x-most', type: 'string', validate: (most: number, text: string) => Number(text) <= most });
ajv.addKeyword({
  keyword: 'x-decimal',
  type: 'number',
  validate: (_: true, value: number) => isDecimal(String(value)),
});

/** Whether a text can be kept: no NUL, no lone surrogate, and as long as it may be after trimming, in characters. */
export function isText(text: string, least: number, most: number): boolean {
  if (!isStorable(text)) return false;
  const trimmed = text.trim();
  // The length in UTF-16 units is at most twice that in characters: the cheap test decides nearly always.
  const length = trimmed.length <= most ? trimmed.length : [...trimmed].length;
  return length >= least && length <= most;
}

/** The body of a creation: every field that is required must be there; the others begin with their initial value. */
export function creation<F extends Fields>(fields: F): BodySpec<Created<F>> {
  const writable = writableOf(fields);
  const required = writable.filter(([, field]) => field.default === undefined).map(([name]) => name);
  return bodySpec(writable, required, (body) => {
    const input = Object.fromEntries(
      writable.map(([name, field]) => [name, Object.hasOwn(body, name) ? field.parse(body[name]) : field.default]),
    );
    return { ...input, ...impliedBy(writable, body) } as Created<F>;
  });
}

/** The body of a change: every field is optional, and only those given are answered (C27). */
export function change<F extends Fields>(fields: F): BodySpec<Changed<F>> {
  const writable = writableOf(fields);
  return bodySpec(writable, [], (body) => {
    const given = writable.filter(([name]) => Object.hasOwn(body, name));
    const input = Object.fromEntries(given.map(([name, field]) => [name, field.parse(body[name])]));
    return { ...input, ...impliedBy(given, body) } as Changed<F>;
  });
}

type Rows = readonly (readonly [name: string, field: Field])[];

/** What the given fields also set of other fields. */
function impliedBy(rows: Rows, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const implied = rows.map(([name, field]) => (Object.hasOwn(body, name) ? field.implies?.(body[name]) : undefined));
  return Object.assign({}, ...implied);
}

function writableOf(fields: Fields): Rows {
  return Object.entries(fields).filter(([, field]) => field.mode === 'written' || field.mode === 'asked');
}

function schemaOf(rows: Rows, required: readonly string[]): JsonSchema {
  const properties = rows.map(([name, field]) => [name, { ...field.inputSchema, description: field.description }]);
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties: Object.fromEntries(properties) };
}

function bodySpec<T>(
  rows: Rows,
  required: readonly string[],
  read: (body: Readonly<Record<string, unknown>>) => T,
): BodySpec<T> {
  const schema = schemaOf(rows, required);
  const looking = rows.filter(([, field]) => field.validate !== undefined);
  let validate: ValidateFunction | undefined;
  return {
    schema,
    read(body) {
      validate ??= ajv.compile(schema);
      const found = validate(body) ? new Map<string, FieldError>() : faultsOf(schema, validate.errors ?? []);
      const fields = body as Readonly<Record<string, unknown>>;
      // Whatever a schema lets through: no field takes a text that a database would refuse or change.
      for (const [name, { inputSchema }] of rows) {
        if (found.has(name) || areStorable(fields[name])) continue;
        found.set(name, { field: name, message: String(inputSchema['x-must']) });
      }
      for (const [name, field] of looking) {
        if (found.has(name) || !Object.hasOwn(fields, name)) continue;
        const message = field.validate?.(fields[name]);
        if (message !== undefined) found.set(name, { field: name, message });
      }
      if (found.size > 0) throw invalidInput([...found.values()]);
      return read(fields);
    },
  };
}

function areStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every(areStorable);
}

/** Every field that its schema refuses, each once, with the one sentence of that schema. */
function faultsOf(schema: JsonSchema, errors: readonly ErrorObject[]): Map<string, FieldError> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const found = new Map<string, FieldError>();
  for (const error of errors) {
    const [, top] = error.instancePath.split('/');
    if (top === undefined && error.keyword !== 'required') throw new Problem('malformed_body');
    const field = top ?? String(error.params.missingProperty);
    const message = top === undefined ? 'is required' : String(properties[field]?.['x-must']);
    if (!found.has(field)) found.set(field, { field, message });
  }
  return found;
}
