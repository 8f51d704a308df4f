import { type FieldError, invalidInput, Problem } from '../../problems.ts';

/**
 * JSON Schema 2020-12, as used by OpenAPI 3.1. `x-must` is the error message for an invalid value. `x-text` has the
 * minimum and maximum length of a text after trimming.
 */
export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * How a caller uses a field: `readOnly` is only returned, `constant` always has the same value, `derived` is computed
 * from another field, `writable` is accepted and returned, `writeOnly` is accepted and never returned.
 */
type FieldMode = 'readOnly' | 'constant' | 'derived' | 'writable' | 'writeOnly';

/** The stored value of a valid input, or the error message for the field. */
export type ParsedValue<Stored> = { readonly value: Stored } | { readonly error: string };

/**
 * One field of a resource in the API: how it is validated, parsed, stored and serialized. OpenAPI and the SDK's
 * types are derived from it.
 */
export type Field<Stored = unknown, M extends FieldMode = FieldMode> = {
  readonly mode: M;
  readonly description: string;
  /** Schema of accepted values, for OpenAPI; empty for fields that cannot be written. */
  readonly inputSchema: JsonSchema;
  /** Validates an input value, and converts it to the stored value. */
  parse(value: unknown): ParsedValue<Stored>;
  /**
   * Returns values for other fields that a valid value of this field also sets: an amount in a `fixedPrice` field sets
   * `price`.
   */
  implies?(value: unknown): Readonly<Record<string, unknown>> | undefined;
  /** The value that is stored if a creation omits the field; undefined means that the field is required. */
  readonly default: Stored | undefined;
  /** Schema of serialized values. */
  readonly outputSchema: JsonSchema;
  serialize(stored: Stored): unknown;
  /** The field that a `derived` field is computed from. */
  readonly derivedFrom?: string;
};

export type Fields = { readonly [name: string]: Field };

type StoredOf<F> = F extends Field<infer S> ? S : never;

/** The parsed body of a creation: every writable field, with its default if it was omitted. */
export type CreationInput<F extends Fields> = {
  [K in keyof F as F[K]['mode'] extends 'readOnly' | 'constant' | 'derived' ? never : K]: StoredOf<F[K]>;
};

/** The parsed body of a change: only the given fields. */
export type ChangeInput<F extends Fields> = Partial<CreationInput<F>>;

/** The stored values from which a record with these fields is serialized. */
export type StoredRecordOf<F extends Fields> = {
  [K in keyof F as F[K]['mode'] extends 'writeOnly' | 'constant' | 'derived' ? never : K]: StoredOf<F[K]>;
};

/** A field that only the service writes. */
export function readOnlyField<S>(
  description: string,
  serialize: (stored: S) => unknown,
  outputSchema: JsonSchema,
): Field<S, 'readOnly'> {
  return {
    mode: 'readOnly',
    description,
    inputSchema: {},
    parse: throwReadOnly,
    default: undefined,
    outputSchema,
    serialize,
  };
}

/** The parser of a field that is never written. */
export function throwReadOnly(): never {
  throw new Error('a read-only field was written');
}

/** Options of a writable field. The default of `outputSchema` is the schema of a string. */
type WritableFieldOptions<S> = {
  description: string;
  inputSchema: JsonSchema;
  errorMessage: string;
  /** Returns the stored value; undefined if the input is invalid. */
  parse: (value: unknown) => S | undefined;
  serialize: (stored: S) => unknown;
  outputSchema?: JsonSchema;
};

/** A field that the caller writes; required if `defaultValue` is undefined. */
export function writableField<S>(options: WritableFieldOptions<S>, defaultValue: S | undefined): Field<S, 'writable'> {
  const { description, errorMessage, parse, serialize } = options;
  return {
    mode: 'writable',
    description,
    inputSchema: { ...options.inputSchema, 'x-must': errorMessage },
    parse: createParser(errorMessage, parse),
    default: defaultValue,
    outputSchema: options.outputSchema ?? { type: 'string' },
    serialize,
  };
}

/** Creates `Field.parse` from a function that returns undefined for an invalid value. */
export function createParser<S>(errorMessage: string, parse: (value: unknown) => S | undefined): Field<S>['parse'] {
  return (input) => {
    const value = parse(input);
    return value === undefined ? { error: errorMessage } : { value };
  };
}

/** Maximum length of a text field in characters; 0 for any other field. */
export function maxLengthOf(field: Field | undefined): number {
  const { max = 0 } = (field?.inputSchema['x-text'] ?? {}) as { readonly max?: number };
  return max;
}

/** Returns the names of the fields that differ between two stored rows, except `date_modified`, which always changes. */
export function findChangedFields(
  fields: Fields,
  oldRow: Readonly<Record<string, unknown>>,
  newRow: Readonly<Record<string, unknown>>,
): readonly string[] {
  return Object.entries(fields)
    .filter(([, { mode }]) => mode === 'writable' || mode === 'readOnly')
    .map(([name]) => name)
    .filter((name) => name !== 'date_modified' && JSON.stringify(oldRow[name]) !== JSON.stringify(newRow[name]));
}

/** Serializes a stored row to a record, with the fields in the order of their definition. */
export function serializeRecord<F extends Fields>(fields: F, row: StoredRecordOf<F>): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const name in fields) {
    const field = fields[name];
    if (field === undefined || field.mode === 'writeOnly') continue;
    record[name] = field.serialize((row as Record<string, unknown>)[field.derivedFrom ?? name]);
  }
  return record;
}

/** Creates the schema of a serialized record. */
export function createRecordSchema(fields: Fields): JsonSchema {
  const visibleFields = Object.entries(fields).filter(([, field]) => field.mode !== 'writeOnly');
  return {
    type: 'object',
    required: visibleFields.filter(([, field]) => field.outputSchema['x-shown-once'] !== true).map(([name]) => name),
    properties: Object.fromEntries(
      visibleFields.map(([name, field]) => [name, { ...field.outputSchema, description: field.description }]),
    ),
  };
}

const ID_PATTERN = /^(0|[1-9]\d{0,15})$/;

/** Parses an id, a string of digits or a number, below 2^53 (C5); undefined for anything else. */
export function parseId(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  if (typeof value !== 'string' || !ID_PATTERN.test(value)) return undefined;
  const id = Number(value);
  return Number.isSafeInteger(id) ? id : undefined;
}

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
