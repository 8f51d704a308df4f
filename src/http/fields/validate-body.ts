import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { isStorable } from '../../control-characters.ts';
import { parseExpiry } from '../../durations.ts';
import { type FieldError, invalidInput, Problem } from '../../problems.ts';
import { parseCalendarTime, parseDayAsMidnight } from './dates.ts';
import { type ChangeInput, type CreationInput, type Field, type Fields, type JsonSchema, parseId } from './field.ts';
import { isDecimal, isNoDate } from './field-types.ts';

/** The body of a route: its schema, and `parse`, which validates and parses a body or throws `invalid_input`. */
export type BodySpec<T> = { readonly schema: JsonSchema; parse(body: unknown): T };

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
  validate: (text) => isNoDate(text) || parseDayAsMidnight(text) !== undefined,
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
  const trimmedText = text.trim();
  // A text has at most as many characters as UTF-16 units, so counting characters is rarely necessary.
  const characterCount = trimmedText.length <= max ? trimmedText.length : [...trimmedText].length;
  return characterCount >= min && characterCount <= max;
}

/** Defines the body of a creation: required fields must be present, all other fields have a default. */
export function createCreationBodySpec<F extends Fields>(fields: F): BodySpec<CreationInput<F>> {
  const writableFields = writableFieldsOf(fields);
  const requiredNames = writableFields.filter(([, field]) => field.default === undefined).map(([name]) => name);
  return createBodySpec(writableFields, requiredNames, (body) => {
    const input = Object.fromEntries(
      writableFields.map(([name, field]) => [
        name,
        Object.hasOwn(body, name) ? field.parse(body[name]) : field.default,
      ]),
    );
    return { ...input, ...impliedValuesOf(writableFields, body) } as CreationInput<F>;
  });
}

/** Defines the body of a change: every field is optional, and only the given fields are returned (C27). */
export function createChangeBodySpec<F extends Fields>(fields: F): BodySpec<ChangeInput<F>> {
  const writableFields = writableFieldsOf(fields);
  return createBodySpec(writableFields, [], (body) => {
    const givenFields = writableFields.filter(([name]) => Object.hasOwn(body, name));
    const input = Object.fromEntries(givenFields.map(([name, field]) => [name, field.parse(body[name])]));
    return { ...input, ...impliedValuesOf(givenFields, body) } as ChangeInput<F>;
  });
}

type FieldEntries = readonly (readonly [name: string, field: Field])[];

/** Returns the values of other fields that the fields in the body also set. */
function impliedValuesOf(
  fieldEntries: FieldEntries,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const impliedValues = fieldEntries.map(([name, field]) =>
    Object.hasOwn(body, name) ? field.implies?.(body[name]) : undefined,
  );
  return Object.assign({}, ...impliedValues);
}

function writableFieldsOf(fields: Fields): FieldEntries {
  return Object.entries(fields).filter(([, field]) => field.mode === 'writable' || field.mode === 'writeOnly');
}

function createBodySchema(fieldEntries: FieldEntries, requiredNames: readonly string[]): JsonSchema {
  const properties = fieldEntries.map(([name, field]) => [
    name,
    { ...field.inputSchema, description: field.description },
  ]);
  return {
    type: 'object',
    ...(requiredNames.length > 0 ? { required: requiredNames } : {}),
    properties: Object.fromEntries(properties),
  };
}

function createBodySpec<T>(
  fieldEntries: FieldEntries,
  requiredNames: readonly string[],
  parseValues: (body: Readonly<Record<string, unknown>>) => T,
): BodySpec<T> {
  const schema = createBodySchema(fieldEntries, requiredNames);
  const fieldsWithValidator = fieldEntries.filter(([, field]) => field.validate !== undefined);
  let validate: ValidateFunction | undefined;
  return {
    schema,
    parse(body) {
      validate ??= ajv.compile(schema);
      const errorsByField = validate(body)
        ? new Map<string, FieldError>()
        : toFieldErrors(schema, validate.errors ?? []);
      const bodyValues = body as Readonly<Record<string, unknown>>;
      // The schema does not exclude texts that a database would reject or change, so check for them here.
      for (const [name, { inputSchema }] of fieldEntries) {
        if (errorsByField.has(name) || isStorableValue(bodyValues[name])) continue;
        errorsByField.set(name, { field: name, message: String(inputSchema['x-must']) });
      }
      for (const [name, field] of fieldsWithValidator) {
        if (errorsByField.has(name) || !Object.hasOwn(bodyValues, name)) continue;
        const message = field.validate?.(bodyValues[name]);
        if (message !== undefined) errorsByField.set(name, { field: name, message });
      }
      if (errorsByField.size > 0) throw invalidInput([...errorsByField.values()]);
      return parseValues(bodyValues);
    },
  };
}

function isStorableValue(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every(isStorableValue);
}

/** Converts schema errors to one error for each invalid field, with the message of the field. */
function toFieldErrors(schema: JsonSchema, ajvErrors: readonly ErrorObject[]): Map<string, FieldError> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const errorsByField = new Map<string, FieldError>();
  for (const error of ajvErrors) {
    const [, topLevelField] = error.instancePath.split('/');
    if (topLevelField === undefined && error.keyword !== 'required') throw new Problem('malformed_body');
    const field = topLevelField ?? String(error.params.missingProperty);
    const message = topLevelField === undefined ? 'is required' : String(properties[field]?.['x-must']);
    if (!errorsByField.has(field)) errorsByField.set(field, { field, message });
  }
  return errorsByField;
}
