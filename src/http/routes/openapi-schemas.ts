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

/** Internal pattern of a string of digits. The document contains the pattern of an id instead (at most 16 digits). */
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
const INTERNAL_KEYWORDS = ['x-text'];

/**
 * Collects the named schemas of an OpenAPI document, and converts internal schemas to portable ones: one schema for
 * each type of a value, standard keywords only, references to named schemas.
 */
export class SchemaCollector {
  readonly #namedSchemas = new Map<string, JsonSchema>();
  readonly #recordNames: ReadonlyMap<string, string>;

  /** @param recordNames names of record schemas, by `schemaKeyOf(schema)` */
  constructor(recordNames: ReadonlyMap<string, string>) {
    this.#recordNames = recordNames;
  }

  /** All named schemas, by name. */
  get namedSchemas(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(
      [...this.#namedSchemas].sort(([leftName], [rightName]) => (leftName < rightName ? -1 : 1)),
    );
  }

  /** Adds a named schema and returns a reference to it. Throws if the name is used for another schema. */
  addNamed(name: string, schema: JsonSchema): JsonSchema {
    const convertedSchema = this.#convertSchema(schema);
    const existingSchema = this.#namedSchemas.get(name);
    if (existingSchema !== undefined && JSON.stringify(existingSchema) !== JSON.stringify(convertedSchema))
      throw new Error(`two schemas are named ${name}`);
    this.#namedSchemas.set(name, convertedSchema);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Returns the portable form of a schema. A schema with a name becomes a reference. */
  toPortableSchema(schema: JsonSchema): JsonSchema {
    const { title, ...rest } = schema;
    const name = typeof title === 'string' ? title : this.#recordNames.get(schemaKeyOf(schema));
    if (name === undefined) return this.#convertSchema(schema);
    const keywordEntries = Object.entries(rest);
    const validationKeywords = Object.fromEntries(keywordEntries.filter(([keyword]) => !isAnnotation(keyword)));
    return {
      ...this.addNamed(name, validationKeywords),
      ...Object.fromEntries(keywordEntries.filter(([keyword]) => isAnnotation(keyword))),
    };
  }

  /** Returns the portable form of a schema itself, without a reference for its own name. */
  #convertSchema(schema: JsonSchema): JsonSchema {
    const standardSchema = standardizeKeywords(schema);
    const sharedKeywords = Object.fromEntries(
      Object.entries(standardSchema).filter(([keyword]) => !isTypeKeyword(keyword)),
    );
    const [firstAlternative = {}, ...otherAlternatives] = alternativesOf(standardSchema).map((alternative) =>
      this.#convertNested(alternative),
    );
    return otherAlternatives.length === 0
      ? { ...firstAlternative, ...sharedKeywords }
      : { anyOf: [firstAlternative, ...otherAlternatives], ...sharedKeywords };
  }

  #convertNested(schema: JsonSchema): JsonSchema {
    const { items, properties } = schema;
    return {
      ...schema,
      ...(items === undefined ? {} : { items: this.toPortableSchema(items as JsonSchema) }),
      ...(properties === undefined
        ? {}
        : { properties: this.#convertProperties(properties as Record<string, JsonSchema>) }),
    };
  }

  #convertProperties(properties: Readonly<Record<string, JsonSchema>>): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, this.toPortableSchema(schema)]),
    );
  }
}

/** Returns a key for a schema. Schemas that differ only in annotations have the same key. */
function schemaKeyOf(schema: JsonSchema): string {
  return JSON.stringify(Object.entries(schema).filter(([keyword]) => !isAnnotation(keyword)));
}

/** Whether a keyword only annotates a schema, so that it does not restrict the values. */
const isAnnotation = (keyword: string) => ['description', 'x-must'].includes(keyword);

const isTypeKeyword = (keyword: string) => ['type', 'enum', 'const'].includes(keyword) || TYPE_KEYWORDS.has(keyword);

/** Replaces custom keywords and formats by standard ones. */
function standardizeKeywords(schema: JsonSchema): JsonSchema {
  const { min = 0, max } = (schema['x-text'] ?? {}) as { min?: number; max?: number };
  const pattern =
    schema.pattern === DIGITS_PATTERN ? FORMAT_PATTERNS.id : (schema.pattern ?? FORMAT_PATTERNS[String(schema.format)]);
  const standardKeywords = Object.entries(schema).filter(([keyword]) => !INTERNAL_KEYWORDS.includes(keyword));
  return {
    ...Object.fromEntries(standardKeywords),
    ...(min > 0 ? { minLength: min } : {}),
    ...(max === undefined ? {} : { maxLength: max }),
    ...(pattern === undefined ? {} : { pattern }),
  };
}

/** Splits a schema into one schema for each type that a value may have. */
function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  if (Array.isArray(schema.enum)) return splitByType(schema.enum);
  if ('const' in schema) return [{ type: jsonTypeOf(schema.const), const: schema.const }];
  const types = schema.type === undefined ? [] : [schema.type].flat().map(String);
  if (types.length === 0) return [schema];
  const typeSchemas = types.map((type) => ({ type, ...pickKeywords(schema, KEYWORDS_BY_TYPE[type] ?? []) }));
  const [firstSchema, secondSchema, ...otherSchemas] = typeSchemas;
  // Keep a nullable type as one schema, because all tools understand it.
  if (firstSchema !== undefined && secondSchema?.type === 'null' && otherSchemas.length === 0)
    return [{ ...firstSchema, type: [firstSchema.type, 'null'] }];
  return typeSchemas;
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
  readonly recordNames: ReadonlyMap<string, string>;
  getOperationId(route: Route): string;
  getRequestBodyName(route: Route): string;
  /** Returns the name of the response schema, which includes the envelope of the record. */
  getResponseName(route: Route): string;
};

/** Derives all names from the paths and methods of the routes: `Task`, `TaskCreate`, `TaskList`, `updateTask`. */
export function deriveSchemaNames(routes: readonly Route[]): SchemaNames {
  const recordNames = new Map<string, string>();
  for (const [matches, deriveName] of RECORD_NAME_RULES) {
    for (const route of routes.filter(matches)) {
      const schemaKey = schemaKeyOf(recordSchemaIn(route.responseSchema));
      const resourceType = resourceTypeNameOf(route);
      const isNameTaken = [...recordNames.values()].includes(resourceType);
      if (!recordNames.has(schemaKey))
        recordNames.set(schemaKey, isNameTaken || actionOf(route) !== undefined ? deriveName(route) : resourceType);
    }
  }
  const sharesPath = (route: Route) =>
    routes.some((otherRoute) => otherRoute.path === route.path && otherRoute.method !== route.method);
  return {
    recordNames,
    getOperationId: (route) => operationIdOf(route, sharesPath(route)),
    getRequestBodyName: (route) => {
      const action = actionOf(route);
      if (action !== undefined) return `${resourceTypeNameOf(route)}${toPascalCase(action)}Request`;
      return `${resourceTypeNameOf(route)}${route.method === 'POST' ? 'Create' : 'Update'}`;
    },
    getResponseName: (route) => {
      if (route.responseSchema.type === 'array') return 'Deleted';
      if (isListRoute(route)) return `${resourceTypeNameOf(route)}List`;
      const name = recordNames.get(schemaKeyOf(recordSchemaIn(route.responseSchema))) ?? resourceTypeNameOf(route);
      return hasEnvelope(route) ? `${name.replace(/Result$/, '')}Response` : name;
    },
  };
}

/**
 * Rules for the names of record schemas, in order of precedence: the first schema of a resource gets the resource's
 * name, a different schema of the same resource a longer name.
 */
const RECORD_NAME_RULES: readonly (readonly [matches: (route: Route) => boolean, name: (route: Route) => string])[] = [
  [
    (route) => isObjectGetRoute(route) && !isListRoute(route) && route.path.endsWith('}'),
    (route) => resourceTypeNameOf(route),
  ],
  [(route) => isObjectGetRoute(route) && isListRoute(route), (route) => `${resourceTypeNameOf(route)}ListItem`],
  [(route) => isObjectGetRoute(route) && !isListRoute(route), (route) => `${resourceTypeNameOf(route)}Detail`],
  [(route) => route.status === 201 && actionOf(route) === undefined, (route) => `${resourceTypeNameOf(route)}Created`],
  [
    (route) => route.responseSchema.type === 'object',
    (route) =>
      `${resourceTypeNameOf(route)}${toPascalCase(actionOf(route) ?? 'updated')}${actionOf(route) === undefined ? '' : 'Result'}`,
  ],
];

const isObjectGetRoute = (route: Route) => route.method === 'GET' && route.responseSchema.type === 'object';
const dataSchemaOf = ({ responseSchema }: Route) =>
  (responseSchema.properties as Readonly<Record<string, JsonSchema>> | undefined)?.data;
const hasEnvelope = (route: Route) => dataSchemaOf(route) !== undefined;
const isListRoute = (route: Route) => dataSchemaOf(route)?.type === 'array';

/** Returns the record schema of a response: `data`, the items of `data`, or the response itself. */
function recordSchemaIn(response: JsonSchema): JsonSchema {
  const { data } = (response.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  return data === undefined ? response : ((data.items ?? data) as JsonSchema);
}

function operationIdOf(route: Route, sharesPath: boolean): string {
  const [resourceType, action] = [resourceTypeNameOf(route), actionOf(route)];
  const aliasSuffix = route.aliasOf === undefined ? '' : 'Alias';
  if (action !== undefined && route.method === 'POST' && !sharesPath)
    return `${toCamelCase(action)}${route.path.includes('{') ? resourceType : toPascalCase(pathSegmentsOf(route)[0] ?? '')}${aliasSuffix}`;
  const operationSubject = `${resourceType}${action === undefined ? '' : toPascalCase(action)}`;
  if (route.method !== 'GET') return `${VERB_BY_METHOD[route.method]}${operationSubject}${aliasSuffix}`;
  if (isListRoute(route))
    return `list${toPascalCase(pathSegmentsOf(route)[0] ?? '')}${action === undefined ? '' : toPascalCase(action)}${aliasSuffix}`;
  return `get${route.path.includes('{') ? '' : 'Current'}${operationSubject}${aliasSuffix}`;
}

const VERB_BY_METHOD = { POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/** The segments of the canonical path. */
const pathSegmentsOf = ({ path, aliasOf }: Route) => (aliasOf ?? path).split('/').filter((part) => part !== '');

/** Returns the name of the resource type of a route: `TimeEntry` for `/time_entries/{entry_id}`. */
function resourceTypeNameOf(route: Route): string {
  const [collection = ''] = pathSegmentsOf(route);
  return toPascalCase(collection.replace(/ies$/, 'y').replace(/s$/, ''));
}

/** The action of a route: the last path segment after the resource and its id, such as `restore`. */
function actionOf(route: Route): string | undefined {
  const [, ...laterSegments] = pathSegmentsOf(route);
  return laterSegments.filter((part) => !part.startsWith('{')).at(-1);
}

const toPascalCase = (text: string) => text.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
const toCamelCase = (text: string) => text.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
