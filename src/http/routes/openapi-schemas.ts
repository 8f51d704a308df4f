import type { JsonSchema } from '../fields/field.ts';

/**
 * Patterns for custom formats, which other tools do not know. A pattern accepts everything that the format accepts, and
 * more: it cannot check whether a day exists.
 */
const FORMATS: Readonly<Record<string, string>> = {
  id: '^(0|[1-9]\\d{0,15})$',
  'id-or-none': '^(0|[1-9]\\d{0,15})?$',
  'calendar-time': '^(\\d{8}|\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2})$',
  'calendar-time-or-none': '^(\\d{8}|\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2})?$',
  'calendar-day-or-none': '^(\\d{8}|\\d{4}-\\d{2}-\\d{2}|0000-00-00 00:00:00)?$',
  decimal: '^(\\d{1,9}(\\.\\d{1,4})?)?$',
  expiry: '^(\\s*\\d{1,9}(ms|s|m|h|d)\\s*|\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2})?$',
};

/** Documented as an id, which has at most 16 digits. */
const DIGITS = '^\\d+$';

/** The keywords that apply to each type. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  array: ['minItems', 'maxItems', 'items'],
  object: ['required', 'properties'],
  boolean: [],
  null: [],
};

const TYPED = new Set(Object.values(KEYWORDS).flat());

/** Custom keywords that are replaced by standard ones. */
const INTERNAL = ['x-text', 'x-most', 'x-decimal'];

/**
 * Collects the named schemas of an OpenAPI document, and converts internal schemas to portable ones: one type for each
 * alternative, standard keywords only, references to named schemas.
 */
export class Schemas {
  readonly #named = new Map<string, JsonSchema>();
  readonly #names: ReadonlyMap<string, string>;

  /** @param names names of record schemas, by `keyOf(schema)` */
  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names;
  }

  /** Every named schema, by name. */
  get all(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#named].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** Adds a named schema and returns a reference to it. Throws if the name is used for another schema. */
  named(name: string, schema: JsonSchema): JsonSchema {
    const converted = this.#convert(schema);
    const existing = this.#named.get(name);
    if (existing !== undefined && JSON.stringify(existing) !== JSON.stringify(converted))
      throw new Error(`two schemas are named ${name}`);
    this.#named.set(name, converted);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The portable form of a schema: a reference if it has a name. */
  of(schema: JsonSchema): JsonSchema {
    const { title, ...rest } = schema;
    const name = typeof title === 'string' ? title : this.#names.get(keyOf(schema));
    if (name === undefined) return this.#convert(schema);
    const keywords = Object.entries(rest);
    const own = Object.fromEntries(keywords.filter(([keyword]) => !isAnnotation(keyword)));
    return { ...this.named(name, own), ...Object.fromEntries(keywords.filter(([keyword]) => isAnnotation(keyword))) };
  }

  #convert(schema: JsonSchema): JsonSchema {
    const portable = standard(schema);
    const common = Object.fromEntries(Object.entries(portable).filter(([keyword]) => !isTypeKeyword(keyword)));
    const [first = {}, ...others] = alternatives(portable).map((one) => this.#convertNested(one));
    return others.length === 0 ? { ...first, ...common } : { anyOf: [first, ...others], ...common };
  }

  #convertNested(schema: JsonSchema): JsonSchema {
    const { items, properties } = schema;
    return {
      ...schema,
      ...(items === undefined ? {} : { items: this.of(items as JsonSchema) }),
      ...(properties === undefined
        ? {}
        : { properties: this.#convertProperties(properties as Record<string, JsonSchema>) }),
    };
  }

  #convertProperties(properties: Readonly<Record<string, JsonSchema>>): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, this.of(schema)]));
  }
}

/** A key for a schema; schemas that differ only in annotations have the same key. */
export function keyOf(schema: JsonSchema): string {
  return JSON.stringify(Object.entries(schema).filter(([keyword]) => !isAnnotation(keyword)));
}

/** Whether a keyword describes the use of a schema and not its values. */
const isAnnotation = (keyword: string) => ['description', 'x-must'].includes(keyword);

const isTypeKeyword = (keyword: string) => ['type', 'enum', 'const'].includes(keyword) || TYPED.has(keyword);

/** Replaces custom keywords and formats by standard ones. */
function standard(schema: JsonSchema): JsonSchema {
  const { least = 0, most } = (schema['x-text'] ?? {}) as { least?: number; most?: number };
  const pattern = schema.pattern === DIGITS ? FORMATS.id : (schema.pattern ?? FORMATS[String(schema.format)]);
  const others = Object.entries(schema).filter(([keyword]) => !INTERNAL.includes(keyword));
  return {
    ...Object.fromEntries(others),
    ...(least > 0 ? { minLength: least } : {}),
    ...(most === undefined ? {} : { maxLength: most }),
    ...(pattern === undefined ? {} : { pattern }),
  };
}

/** One schema for each type that a value may have. */
function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  if (Array.isArray(schema.enum)) return valuesByType(schema.enum);
  if ('const' in schema) return [{ type: typeOf(schema.const), const: schema.const }];
  const types = schema.type === undefined ? [] : [schema.type].flat().map(String);
  if (types.length === 0) return [schema];
  const parts = types.map((type) => ({ type, ...only(schema, KEYWORDS[type] ?? []) }));
  const [first, second, ...more] = parts;
  // All tools understand a nullable type.
  if (first !== undefined && second?.type === 'null' && more.length === 0)
    return [{ ...first, type: [first.type, 'null'] }];
  return parts;
}

function only(schema: JsonSchema, keywords: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keywords.includes(keyword)));
}

/** One enumeration for each type among the values: many tools do not support mixed types. */
function valuesByType(enumeration: readonly unknown[]): readonly JsonSchema[] {
  return [...Map.groupBy(enumeration, typeOf)].map(([type, values]) => {
    if (type === 'null' || (type === 'boolean' && values.length === 2)) return { type };
    return type === 'boolean' ? { type, const: values[0] } : { type, enum: values };
  });
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'number' ? 'integer' : typeof value;
}
