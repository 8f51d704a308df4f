import type { JsonSchema } from '../fields/field.ts';

/**
 * Formats that only this service knows, as patterns that every tool knows. They let through all that the format does,
 * and no pattern can say which days are real.
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

/** Any number of digits is an id of at most 16. */
const DIGITS = '^\\d+$';

/** The keywords that say something about values of one type. */
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

/** Keywords of our own that standard ones say as well. */
const INTERNAL = ['x-text', 'x-most', 'x-decimal'];

/**
 * The named schemas of an OpenAPI document, and the schemas of the rows as other tools understand them: one type for
 * each alternative, every bound in a standard keyword, and a reference in place of what has a name.
 */
export class Schemas {
  readonly #named = new Map<string, JsonSchema>();
  readonly #names: ReadonlyMap<string, string>;

  /** @param names the names of records, by their schema as `keyOf` has it */
  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names;
  }

  /** Every named schema, by name. */
  get all(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#named].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** A reference to a schema, which stands among the named ones from now on. */
  named(name: string, schema: JsonSchema): JsonSchema {
    const made = this.#plain(schema);
    const known = this.#named.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(made))
      throw new Error(`two schemas are named ${name}`);
    this.#named.set(name, made);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** A schema as it stands in the document. */
  of(schema: JsonSchema): JsonSchema {
    const { title, ...rest } = schema;
    const name = typeof title === 'string' ? title : this.#names.get(keyOf(schema));
    if (name === undefined) return this.#plain(schema);
    const words = Object.entries(rest);
    const own = Object.fromEntries(words.filter(([word]) => !isOfPlace(word)));
    return { ...this.named(name, own), ...Object.fromEntries(words.filter(([word]) => isOfPlace(word))) };
  }

  #plain(schema: JsonSchema): JsonSchema {
    const given = standard(schema);
    const around = Object.fromEntries(Object.entries(given).filter(([word]) => !isOfType(word)));
    const [first = {}, ...others] = alternatives(given).map((one) => this.#inside(one));
    return others.length === 0 ? { ...first, ...around } : { anyOf: [first, ...others], ...around };
  }

  #inside(schema: JsonSchema): JsonSchema {
    const { items, properties } = schema;
    return {
      ...schema,
      ...(items === undefined ? {} : { items: this.of(items as JsonSchema) }),
      ...(properties === undefined ? {} : { properties: this.#each(properties as Record<string, JsonSchema>) }),
    };
  }

  #each(properties: Readonly<Record<string, JsonSchema>>): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, this.of(schema)]));
  }
}

/** A schema as a key: two that differ only in what is said of their place are one. */
export function keyOf(schema: JsonSchema): string {
  return JSON.stringify(Object.entries(schema).filter(([word]) => !isOfPlace(word)));
}

/** Whether a keyword says something about the place where a schema stands, and not about values. */
const isOfPlace = (word: string) => ['description', 'x-must'].includes(word);

const isOfType = (word: string) => ['type', 'enum', 'const'].includes(word) || TYPED.has(word);

/** The same schema without what only this service knows. */
function standard(schema: JsonSchema): JsonSchema {
  const { least = 0, most } = (schema['x-text'] ?? {}) as { least?: number; most?: number };
  const pattern = schema.pattern === DIGITS ? FORMATS.id : (schema.pattern ?? FORMATS[String(schema.format)]);
  const known = Object.entries(schema).filter(([word]) => !INTERNAL.includes(word));
  return {
    ...Object.fromEntries(known),
    ...(least > 0 ? { minLength: least } : {}),
    ...(most === undefined ? {} : { maxLength: most }),
    ...(pattern === undefined ? {} : { pattern }),
  };
}

/** One schema for each type that a value may have. */
function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  if (Array.isArray(schema.enum)) return wordsByType(schema.enum);
  if ('const' in schema) return [{ type: typeOf(schema.const), const: schema.const }];
  const types = schema.type === undefined ? [] : [schema.type].flat().map(String);
  if (types.length === 0) return [schema];
  const parts = types.map((type) => ({ type, ...only(schema, KEYWORDS[type] ?? []) }));
  const [first, second, ...more] = parts;
  // Text or nothing is one type to every tool.
  if (first !== undefined && second?.type === 'null' && more.length === 0)
    return [{ ...first, type: [first.type, 'null'] }];
  return parts;
}

function only(schema: JsonSchema, words: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([word]) => words.includes(word)));
}

/** An enumeration for each type among the values: many tools know no other. */
function wordsByType(words: readonly unknown[]): readonly JsonSchema[] {
  return [...Map.groupBy(words, typeOf)].map(([type, values]) => {
    if (type === 'null' || (type === 'boolean' && values.length === 2)) return { type };
    return type === 'boolean' ? { type, const: values[0] } : { type, enum: values };
  });
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'number' ? 'integer' : typeof value;
}
