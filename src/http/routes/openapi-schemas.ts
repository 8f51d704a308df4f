import type { JsonSchema } from '../fields/field.ts';
import type { Route } from './route.ts';

/**
 * Patterns that replace custom formats, which other tools do not know. A pattern accepts everything that the format
 * accepts, and more: it cannot check whether a day exists.
 */
const FORMAT_PATTERNS: Readonly<Record<string, string>> = {
  id: '^(0|[1-9]\\d{0,15})$',
  'id-or-none': '^(0|[1-9]\\d{0,15})?$',
  'calendar-time': '^(\\d{8}|\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2})$',
  'calendar-time-or-none': '^(\\d{8}|\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2})?$',
  'calendar-day-or-none': '^(\\d{8}|\\d{4}-\\d{2}-\\d{2}|0000-00-00 00:00:00)?$',
  decimal: '^(\\d{1,9}(\\.\\d{1,4})?)?$',
  expiry: '^(\\s*\\d{1,9}(ms|s|m|h|d)\\s*|\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2})?$',
};

/** The internal pattern of digits. The document contains the pattern of an id instead, with at most 16 digits. */
const DIGITS_PATTERN = '^\\d+$';

/** The JSON Schema keywords that apply to each type. */
const KEYWORDS_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  array: ['minItems', 'maxItems', 'items'],
  object: ['required', 'properties'],
  boolean: [],
  null: [],
};

const TYPE_KEYWORDS = new Set(Object.values(KEYWORDS_BY_TYPE).flat());

/** Custom keywords that are replaced by standard ones. */
const INTERNAL_KEYWORDS = ['x-text', 'x-max', 'x-decimal'];

/**
 * Collects the named schemas of an OpenAPI document, and converts internal schemas to portable ones: one schema for
 * each type of a value, standard keywords only, references to named schemas.
 */
export class SchemaCollector {
  readonly #named = new Map<string, JsonSchema>();
  readonly #names: ReadonlyMap<string, string>;

  /** @param names names of record schemas, by `schemaKeyOf(schema)` */
  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names;
  }

  /** Every named schema, by name. */
  get all(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#named].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** Adds a named schema and returns a reference to it. Throws if the name is used for another schema. */
  addNamed(name: string, schema: JsonSchema): JsonSchema {
    const converted = this.#convert(schema);
    const existing = this.#named.get(name);
    if (existing !== undefined && JSON.stringify(existing) !== JSON.stringify(converted))
      throw new Error(`two schemas are named ${name}`);
    this.#named.set(name, converted);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The portable form of a schema: a reference if it has a name. */
  toPortable(schema: JsonSchema): JsonSchema {
    const { title, ...rest } = schema;
    const name = typeof title === 'string' ? title : this.#names.get(schemaKeyOf(schema));
    if (name === undefined) return this.#convert(schema);
    const keywords = Object.entries(rest);
    const own = Object.fromEntries(keywords.filter(([keyword]) => !isAnnotation(keyword)));
    return {
      ...this.addNamed(name, own),
      ...Object.fromEntries(keywords.filter(([keyword]) => isAnnotation(keyword))),
    };
  }

  #convert(schema: JsonSchema): JsonSchema {
    const portable = standardize(schema);
    const common = Object.fromEntries(Object.entries(portable).filter(([keyword]) => !isTypeKeyword(keyword)));
    const [first = {}, ...others] = alternativesOf(portable).map((one) => this.#convertNested(one));
    return others.length === 0 ? { ...first, ...common } : { anyOf: [first, ...others], ...common };
  }

  #convertNested(schema: JsonSchema): JsonSchema {
    const { items, properties } = schema;
    return {
      ...schema,
      ...(items === undefined ? {} : { items: this.toPortable(items as JsonSchema) }),
      ...(properties === undefined
        ? {}
        : { properties: this.#convertProperties(properties as Record<string, JsonSchema>) }),
    };
  }

  #convertProperties(properties: Readonly<Record<string, JsonSchema>>): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, this.toPortable(schema)]));
  }
}

/** A key for a schema; schemas that differ only in annotations have the same key. */
export function schemaKeyOf(schema: JsonSchema): string {
  return JSON.stringify(Object.entries(schema).filter(([keyword]) => !isAnnotation(keyword)));
}

/** Whether a keyword describes the use of a schema and not its values. */
const isAnnotation = (keyword: string) => ['description', 'x-must'].includes(keyword);

const isTypeKeyword = (keyword: string) => ['type', 'enum', 'const'].includes(keyword) || TYPE_KEYWORDS.has(keyword);

/** Replaces custom keywords and formats by standard ones. */
function standardize(schema: JsonSchema): JsonSchema {
  const { min = 0, max } = (schema['x-text'] ?? {}) as { min?: number; max?: number };
  const pattern =
    schema.pattern === DIGITS_PATTERN ? FORMAT_PATTERNS.id : (schema.pattern ?? FORMAT_PATTERNS[String(schema.format)]);
  const others = Object.entries(schema).filter(([keyword]) => !INTERNAL_KEYWORDS.includes(keyword));
  return {
    ...Object.fromEntries(others),
    ...(min > 0 ? { minLength: min } : {}),
    ...(max === undefined ? {} : { maxLength: max }),
    ...(pattern === undefined ? {} : { pattern }),
  };
}

/** One schema for each type that a value may have. */
function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  if (Array.isArray(schema.enum)) return splitByType(schema.enum);
  if ('const' in schema) return [{ type: jsonTypeOf(schema.const), const: schema.const }];
  const types = schema.type === undefined ? [] : [schema.type].flat().map(String);
  if (types.length === 0) return [schema];
  const parts = types.map((type) => ({ type, ...pickKeywords(schema, KEYWORDS_BY_TYPE[type] ?? []) }));
  const [first, second, ...more] = parts;
  // Keep a nullable type as one schema, because all tools understand it.
  if (first !== undefined && second?.type === 'null' && more.length === 0)
    return [{ ...first, type: [first.type, 'null'] }];
  return parts;
}

function pickKeywords(schema: JsonSchema, keywords: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keywords.includes(keyword)));
}

/** Splits values into one enumeration for each type, because many tools do not support mixed types. */
function splitByType(enumeration: readonly unknown[]): readonly JsonSchema[] {
  return [...Map.groupBy(enumeration, jsonTypeOf)].map(([type, values]) => {
    if (type === 'null' || (type === 'boolean' && values.length === 2)) return { type };
    return type === 'boolean' ? { type, const: values[0] } : { type, enum: values };
  });
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'number' ? 'integer' : typeof value;
}

/** Names of operations, request bodies and responses for generated clients. */
export type SchemaNames = {
  /** Names of record schemas, by `schemaKeyOf(schema)`. */
  readonly records: ReadonlyMap<string, string>;
  operationId(route: Route): string;
  body(route: Route): string;
  /** The name of the response, including its envelope. */
  response(route: Route): string;
};

/** Derives all names from the paths and methods of the routes: `Task`, `TaskCreate`, `TaskList`, `updateTask`. */
export function schemaNames(routes: readonly Route[]): SchemaNames {
  const records = new Map<string, string>();
  for (const [matches, name] of RECORD_NAME_RULES) {
    for (const route of routes.filter(matches)) {
      const key = schemaKeyOf(recordSchemaIn(route.responseSchema));
      const resourceType = resourceTypeOf(route);
      const isTaken = [...records.values()].includes(resourceType);
      if (!records.has(key)) records.set(key, isTaken || actionOf(route) !== undefined ? name(route) : resourceType);
    }
  }
  const sharesPath = (route: Route) => routes.some((one) => one.path === route.path && one.method !== route.method);
  return {
    records,
    operationId: (route) => operationId(route, sharesPath(route)),
    body: (route) => {
      const action = actionOf(route);
      if (action !== undefined) return `${resourceTypeOf(route)}${toPascalCase(action)}Request`;
      return `${resourceTypeOf(route)}${route.method === 'POST' ? 'Create' : 'Update'}`;
    },
    response: (route) => {
      if (route.responseSchema.type === 'array') return 'Deleted';
      if (isList(route)) return `${resourceTypeOf(route)}List`;
      const name = records.get(schemaKeyOf(recordSchemaIn(route.responseSchema))) ?? resourceTypeOf(route);
      return hasEnvelope(route) ? `${name.replace(/Result$/, '')}Response` : name;
    },
  };
}

/**
 * Rules for the names of record schemas, in order of precedence: the first schema of a resource gets the resource's
 * name, a different schema of the same resource a longer name.
 */
const RECORD_NAME_RULES: readonly (readonly [matches: (route: Route) => boolean, name: (route: Route) => string])[] = [
  [(route) => isRead(route) && !isList(route) && route.path.endsWith('}'), (route) => resourceTypeOf(route)],
  [(route) => isRead(route) && isList(route), (route) => `${resourceTypeOf(route)}ListItem`],
  [(route) => isRead(route) && !isList(route), (route) => `${resourceTypeOf(route)}Detail`],
  [(route) => route.status === 201 && actionOf(route) === undefined, (route) => `${resourceTypeOf(route)}Created`],
  [
    (route) => route.responseSchema.type === 'object',
    (route) =>
      `${resourceTypeOf(route)}${toPascalCase(actionOf(route) ?? 'updated')}${actionOf(route) === undefined ? '' : 'Result'}`,
  ],
];

const isRead = (route: Route) => route.method === 'GET' && route.responseSchema.type === 'object';
const dataOf = ({ responseSchema }: Route) =>
  (responseSchema.properties as Readonly<Record<string, JsonSchema>> | undefined)?.data;
const hasEnvelope = (route: Route) => dataOf(route) !== undefined;
const isList = (route: Route) => dataOf(route)?.type === 'array';

/** The record schema of a response: `data`, the items of `data`, or the response itself. */
export function recordSchemaIn(response: JsonSchema): JsonSchema {
  const { data } = (response.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  return data === undefined ? response : ((data.items ?? data) as JsonSchema);
}

function operationId(route: Route, sharesPath: boolean): string {
  const [resourceType, action] = [resourceTypeOf(route), actionOf(route)];
  const alias = route.aliasOf === undefined ? '' : 'Alias';
  if (action !== undefined && route.method === 'POST' && !sharesPath)
    return `${toCamelCase(action)}${route.path.includes('{') ? resourceType : toPascalCase(pathSegmentsOf(route)[0] ?? '')}${alias}`;
  const subject = `${resourceType}${action === undefined ? '' : toPascalCase(action)}`;
  if (route.method !== 'GET') return `${VERBS[route.method]}${subject}${alias}`;
  if (isList(route))
    return `list${toPascalCase(pathSegmentsOf(route)[0] ?? '')}${action === undefined ? '' : toPascalCase(action)}${alias}`;
  return `get${route.path.includes('{') ? '' : 'Current'}${subject}${alias}`;
}

const VERBS = { POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/** The segments of the canonical path. */
const pathSegmentsOf = ({ path, aliasOf }: Route) => (aliasOf ?? path).split('/').filter((part) => part !== '');

/** The resource type of a route: `TimeEntry` for `/time_entries/{entry_id}`. */
export function resourceTypeOf(route: Route): string {
  const [collection = ''] = pathSegmentsOf(route);
  return toPascalCase(collection.replace(/ies$/, 'y').replace(/s$/, ''));
}

/** The action of a route: the last path segment after the resource and its id, such as `restore`. */
function actionOf(route: Route): string | undefined {
  const [, ...rest] = pathSegmentsOf(route);
  return rest.filter((part) => !part.startsWith('{')).at(-1);
}

const toPascalCase = (text: string) => text.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
const toCamelCase = (text: string) => text.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
