import { type FieldError, invalidInput, Problem } from '../../problems.ts';
import type { ChangeInput, CreationInput, Field, Fields, JsonSchema, ParsedValue } from './field.ts';

/** The body of a route: its schema, and `parse`, which validates and parses a body or throws `invalid_input`. */
export type BodySpec<T> = { readonly schema: JsonSchema; parse(body: unknown): T };

/** Defines the body of a creation: required fields must be present, all other fields have a default. */
export function createCreationBodySpec<F extends Fields>(fields: F): BodySpec<CreationInput<F>> {
  const writableFields = writableFieldsOf(fields);
  const requiredNames = writableFields.filter(([, field]) => field.default === undefined).map(([name]) => name);
  return {
    schema: createBodySchema(writableFields, requiredNames),
    parse: (body) =>
      parseBody(body, writableFields, (field) =>
        field.default === undefined ? { error: 'is required' } : { value: field.default },
      ) as CreationInput<F>,
  };
}

/** Defines the body of a change: every field is optional, and only the given fields are returned (C27). */
export function createChangeBodySpec<F extends Fields>(fields: F): BodySpec<ChangeInput<F>> {
  const writableFields = writableFieldsOf(fields);
  return {
    schema: createBodySchema(writableFields, []),
    parse: (body) => parseBody(body, writableFields, () => undefined) as ChangeInput<F>,
  };
}

type FieldEntries = readonly (readonly [name: string, field: Field])[];

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

/**
 * Parses the fields of a body; unknown fields are ignored (C4). Throws `invalid_input` with one error for each invalid
 * field.
 *
 * @param parseOmitted returns the value of a field that the body does not contain; undefined to leave it out
 */
function parseBody(
  body: unknown,
  fieldEntries: FieldEntries,
  parseOmitted: (field: Field) => ParsedValue<unknown> | undefined,
): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Problem('malformed_body');
  const givenValues = body as Readonly<Record<string, unknown>>;
  const input: Record<string, unknown> = {};
  const impliedValues: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  for (const [name, field] of fieldEntries) {
    const isGiven = Object.hasOwn(givenValues, name);
    const parsed = isGiven ? field.parse(givenValues[name]) : parseOmitted(field);
    if (parsed === undefined) continue;
    if ('error' in parsed) errors.push({ field: name, message: parsed.error });
    else {
      input[name] = parsed.value;
      if (isGiven) Object.assign(impliedValues, field.implies?.(givenValues[name]));
    }
  }
  if (errors.length > 0) throw invalidInput(errors);
  return { ...input, ...impliedValues };
}
