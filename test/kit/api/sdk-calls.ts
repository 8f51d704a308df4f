import { CarillonConsole } from '../../../packages/sdk/src/console.ts';
import { occurrenceKinds } from '../../../src/delivery/outbox/event-kinds.ts';
import type { JsonSchema } from '../../../src/http/fields/field.ts';
import type { QueryParameters } from '../../../src/http/routes/query-parameters.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import { kindsParameter } from '../../../src/resources/notifications/notifications.ts';
import { shapeOf } from './openapi.ts';

/** The request that an SDK method sends. */
export type SdkCall = {
  /** Resource and method, for example `events.create`. */
  readonly method: string;
  /** HTTP method and path shape of the request: `PUT /events/{}`. */
  readonly routeShape: string;
  /** Index of the argument that becomes the body. */
  readonly bodyArgumentIndex: number | undefined;
  /** Index of the argument that becomes the query. */
  readonly queryArgumentIndex: number | undefined;
  readonly headers: Headers;
  readonly signal: AbortSignal | null | undefined;
};

/** Arguments of the methods that do not take exactly one id, by method name or by resource and method. */
const argumentsByMethod: Readonly<Record<string, readonly unknown[]>> = {
  list: [{}],
  each: [{}],
  follow: [{}],
  create: [{}],
  import: [{}],
  update: ['1', {}],
  set: [{}],
  createSecret: ['1', {}],
  replay: ['1', {}],
  'tasks.create': ['1', {}],
  'subtasks.create': ['1', {}],
  'timeEntries.create': ['1', {}],
  'comments.create': ['1', {}],
  'user.get': [],
  'company.get': [],
  overview: [],
};

function argumentsOf(method: string): readonly unknown[] {
  return argumentsByMethod[method] ?? argumentsByMethod[method.split('.').at(-1) ?? ''] ?? ['1'];
}

/** The options that every method is called with, in addition to the signal. */
export const OPTIONS = { ifMatch: '"tag"', idempotencyKey: 'word' };

type SdkMethod = (...args: unknown[]) => unknown;

/** Calls every method of every resource of the SDK, including the console's, and returns the requests. */
export async function recordSdkCalls(signal?: AbortSignal): Promise<SdkCall[]> {
  const calls: SdkCall[] = [];
  for (const [resourceType, resourceMethods] of Object.entries(new CarillonConsole({ baseUrl: 'http://127.0.0.1' }))) {
    const names = typeof resourceMethods === 'function' ? [''] : Object.keys(resourceMethods);
    for (const name of names) calls.push(await recordCall(resourceType, name, signal));
  }
  return calls;
}

async function recordCall(resourceType: string, name: string, signal: AbortSignal | undefined): Promise<SdkCall> {
  const method = name === '' ? resourceType : `${resourceType}.${name}`;
  const args = argumentsOf(method);
  const requests: SdkCall[] = [];
  const client = new CarillonConsole({
    baseUrl: 'http://127.0.0.1',
    async fetch(address, { method: httpMethod, body, headers, signal }) {
      const { pathname } = new URL(address);
      const path = pathname.replace('/console/api', '').replace(/\/1(?=\/|$)/g, '/{}');
      const inputIndex = args.findIndex((one) => typeof one === 'object');
      requests.push({
        method,
        routeShape: `${httpMethod} ${path}`,
        bodyArgumentIndex: inputIndex >= 0 && body === JSON.stringify(args[inputIndex]) ? inputIndex : undefined,
        queryArgumentIndex: httpMethod === 'GET' && inputIndex >= 0 ? inputIndex : undefined,
        headers: new Headers(headers),
        signal,
      });
      return Response.json({ id: '1', data: [], paging: { offset: 0, limit: 1000, total_records: 0 }, next: '' });
    },
  });
  const resourceMethods: unknown = Reflect.get(client, resourceType);
  const call = (name === '' ? resourceMethods : Reflect.get(Object(resourceMethods), name)) as SdkMethod;
  const result = call(...args, { ...OPTIONS, signal });
  // Every method gets the same response. Ignore errors about its shape, because only the request matters.
  await Promise.resolve(isGenerator(result) ? result.next() : result).catch(() => undefined);
  const [sentCall] = requests;
  if (sentCall === undefined) throw new Error(`${method} sent no request: add its arguments above`);
  return sentCall;
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** Returns the HTTP method and path shape of a route, to compare it with `SdkCall.routeShape`. */
export const routeShapeOf = ({ method, path }: { method: string; path: string }) => `${method} ${shapeOf(path)}`;

/** An assertion that an SDK method matches its route: the compiler must accept `true` as a value of `type`. */
export type TypeAssertion = { readonly description: string; readonly type: string };

/** The helper types at the start of every generated program. */
export const PRELUDE = `
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : never;
type Taken<M, At extends number> = M extends (...given: infer P) => unknown ? NonNullable<P[At]> : never;
type Gives<M> = M extends (...given: never) => AsyncGenerator<infer T> ? T : M extends (...given: never) => Promise<infer T> ? T : never;
`;

/** Returns the assertions that the SDK types match the route schemas, for each field of each argument and response. */
export function typeAssertionsOf(calls: readonly SdkCall[], routes: readonly Route[]): TypeAssertion[] {
  return calls.flatMap((call) => {
    const route = routes.find((one) => routeShapeOf(one) === call.routeShape);
    if (route === undefined) return [{ description: `${call.method} reaches a row`, type: 'never' }];
    const type = `CarillonConsole${call.method
      .split('.')
      .map((name) => `['${name}']`)
      .join('')}`;
    const { bodyArgumentIndex, queryArgumentIndex } = call;
    return [
      ...(bodyArgumentIndex === undefined
        ? []
        : fieldAssertions(
            `${call.method} takes`,
            `Taken<${type}, ${bodyArgumentIndex}>`,
            route.bodySchema ?? {},
            jsonTypeOf,
          )),
      ...(queryArgumentIndex === undefined
        ? []
        : fieldAssertions(
            `${call.method} asks`,
            `Taken<${type}, ${queryArgumentIndex}>`,
            querySchemaOf(call, route),
            queryTypeOf,
          )),
      ...resultAssertions(call.method, `Gives<${type}>`, route.responseSchema),
    ];
  });
}

/** Returns the assertions that the result type of a method matches the schema of the response. */
function resultAssertions(method: string, type: string, responseSchema: JsonSchema): TypeAssertion[] {
  if (responseSchema.type === 'array') return [{ description: `${method} gives nothing`, type: `Same<${type}, void>` }];
  const { data, ...around } = propertiesOf(responseSchema);
  if (data === undefined) return fieldAssertions(`${method} gives`, type, responseSchema, jsonTypeOf);
  if (data.type !== 'array') return fieldAssertions(`${method} gives`, type, data, jsonTypeOf);
  const item = (data.items ?? {}) as JsonSchema;
  if (/\.(each|follow)$/.test(method)) return fieldAssertions(`${method} gives`, type, item, jsonTypeOf);
  // The SDK reads `next` from the `Link` header.
  const outerProperties = 'paging' in around ? { ...around, next: { type: 'string' } } : around;
  const outerSchema: JsonSchema = { ...responseSchema, required: Object.keys(around), properties: outerProperties };
  return [
    ...fieldAssertions(`${method} gives`, `Omit<${type}, 'data'>`, outerSchema, jsonTypeOf),
    ...fieldAssertions(`${method} lists`, `${type}['data'][number]`, item, jsonTypeOf),
  ];
}

/** Parameters that an SDK method does not expose: a stream has no limit and always waits. */
const OMITTED_PARAMETERS: Readonly<Record<string, readonly string[]>> = { follow: ['limit', 'wait'] };

function querySchemaOf({ method }: SdkCall, { parameters }: { parameters: QueryParameters }): JsonSchema {
  const omitted = OMITTED_PARAMETERS[method.split('.').at(-1) ?? ''] ?? [];
  const included = Object.entries(parameters).filter(([name]) => !omitted.includes(name));
  return { properties: Object.fromEntries(included.map(([name, { schema }]) => [name, schema])) };
}

/** Returns the assertions that a type has exactly the fields of a schema, with matching types and optionality. */
function fieldAssertions(
  description: string,
  type: string,
  schema: JsonSchema,
  typeOf: (schema: JsonSchema) => string,
): TypeAssertion[] {
  const fields = Object.entries(propertiesOf(schema));
  const names = fields.map(([name]) => `'${name}'`).join(' | ') || 'never';
  const required = new Set(schema.required as readonly string[] | undefined);
  return [
    { description: `${description} these fields`, type: `Same<keyof ${type}, ${names}>` },
    ...fields.map(([name, field]) => {
      // A secret that is shown once is missing in the replayed response of an idempotent request. The SDK rejects such
      // a response, so its types require the field.
      const isRequired = required.has(name) || field['x-shown-once'] === true;
      return {
        description: `${description} ${name}`,
        type: `Same<${type}['${name}'], ${typeOf(field)}${isRequired ? '' : ' | undefined'}>`,
      };
    }),
  ];
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
}

const PRIMITIVE_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** Returns the TypeScript type of a JSON schema. */
function jsonTypeOf(schema: JsonSchema): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if ('const' in schema) return schema.const === null ? 'null' : typeof schema.const;
  const types = [schema.type].flat();
  return types.map((type) => PRIMITIVE_TYPES[String(type)] ?? compositeTypeOf(String(type), schema)).join(' | ');
}

function compositeTypeOf(type: string, schema: JsonSchema): string {
  if (type === 'array') return `readonly (${jsonTypeOf((schema.items ?? {}) as JsonSchema)})[]`;
  if (type !== 'object') return 'unknown';
  if (typeof schema.additionalProperties === 'object')
    return `Readonly<Record<string, ${jsonTypeOf(schema.additionalProperties as JsonSchema)}>>`;
  const required = new Set(schema.required as readonly string[] | undefined);
  const fields = Object.entries(propertiesOf(schema));
  return `{ ${fields.map(([name, field]) => `readonly ${name}${required.has(name) ? '' : '?'}: ${jsonTypeOf(field)}`).join('; ')} }`;
}

const KIND_TYPE = jsonTypeOf({ enum: occurrenceKinds });

/** Returns the TypeScript type of a query parameter. Values are text; ids may also be numbers, as in bodies (C5). */
function queryTypeOf(schema: JsonSchema): string {
  if (schema.pattern === kindsParameter('').schema.pattern) return `${KIND_TYPE} | readonly (${KIND_TYPE})[]`;
  return schema.pattern === '^\\d+$' ? 'string | number' : jsonTypeOf(schema);
}
