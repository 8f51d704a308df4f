import { type ProblemCode, problems } from '../../problems.ts';
import { EVENT_STREAM } from '../feed/sse.ts';
import type { JsonSchema } from '../fields/field.ts';
import { hasEtag } from './etag.ts';
import { SchemaCollector, type SchemaNames, schemaNames } from './openapi-schemas.ts';
import { idNames, type Route } from './route.ts';

/** The problems that any authenticated route can return. */
const problemsOfEveryRoute: readonly ProblemCode[] = [
  'unauthorized',
  'not_found',
  'malformed_request',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
  'overloaded',
  'storage_unavailable',
  'timed_out',
  'internal',
];

/** The problems that a route can return. */
export function problemsOf(route: Route): readonly ProblemCode[] {
  const own: ProblemCode[] = [...problemsOfEveryRoute, ...route.problems];
  if (route.permission !== undefined || route.mode === 'write' || route.mode === 'steps') own.push('not_permitted');
  const hasHeaders = headersOf(route).length > 0;
  if (Object.keys(route.parameters).length > 0 || route.body !== undefined || hasHeaders) own.push('invalid_input');
  if (route.method === 'POST') own.push('idempotency_in_progress', 'idempotency_mismatch');
  if (route.conditional) own.push('precondition_failed');
  if (route.method !== 'GET') own.push('malformed_body', 'unsupported_media_type', 'body_too_large');
  return [...new Set(own)];
}

type HeaderParameter = {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly required?: boolean;
};

const ETAG_SCHEMA: JsonSchema = { type: 'string', examples: ['"Vd3zUqk0B1l9YwGm2s7pXA"'] };

const idempotencyKey: HeaderParameter = {
  name: 'Idempotency-Key',
  description:
    'A unique key for this call. A repeated call with the same key within 24 hours gets the response of the first one.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
};
const ifMatch: HeaderParameter = {
  name: 'If-Match',
  description: 'The ETag that the record must have, or *; otherwise 412, and nothing is changed.',
  schema: ETAG_SCHEMA,
};
const ifNoneMatch: HeaderParameter = {
  name: 'If-None-Match',
  description: 'An ETag that the client has: 304 for a read while the record still has it, 412 for a change.',
  schema: ETAG_SCHEMA,
};
const lastEventId: HeaderParameter = {
  name: 'Last-Event-ID',
  description: 'In a stream, the cursor to continue after; takes precedence over `after`.',
  schema: { type: 'string', pattern: '^\\d{1,16}$' },
};

/** The headers that a route reads, except those that all routes read. */
export function headersOf(route: Route): readonly HeaderParameter[] {
  if (route.mode === 'follow') return [lastEventId];
  if (route.method === 'POST') return [idempotencyKey];
  return route.conditional ? [ifMatch, ifNoneMatch] : [];
}

/** A webhook: a request from the service to a target. */
export type Webhook = {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly headers: readonly HeaderParameter[];
  readonly body: JsonSchema;
  /** Meaning of the target's response, by status. */
  readonly responses: Readonly<Record<string, string>>;
};

type DocumentContext = {
  readonly routes: readonly Route[];
  readonly names: SchemaNames;
  readonly schemas: SchemaCollector;
};

/** The OpenAPI 3.1 document of the API, derived from its routes (X6). */
export function createOpenApiDocument(
  routes: readonly Route[],
  baseUrl: string,
  version: string,
  webhooks: Readonly<Record<string, Webhook>> = {},
): Record<string, unknown> {
  const names = schemaNames(routes);
  const context = { routes, names, schemas: new SchemaCollector(names.records) };
  context.schemas.addNamed('Problem', problemSchema);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = documentedPath(route, routes);
    paths[`/v2${path}`] = {
      ...paths[`/v2${path}`],
      [route.method.toLowerCase()]: describeOperation(route, path, context),
    };
  }
  const sent = Object.entries(webhooks).map(([name, one]) => [name, { post: describeWebhook(one, context.schemas) }]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Carillon',
      version,
      description:
        'Self-hosted project management with a REST API, a calendar and webhooks. Texts are trimmed before their length is measured; unknown fields and parameters are ignored.',
      contact: { name: 'The documentation of this service', url: `${baseUrl}/docs` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    security: [{ key: [], domain: [] }],
    tags: [...Map.groupBy(routes, tagOf)].map(([name, [first]]) => ({ name, description: first?.description })),
    paths,
    webhooks: Object.fromEntries(sent),
    components: {
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'key', description: 'The API key.' },
        domain: { type: 'apiKey', in: 'header', name: 'domain', description: "The account's host name." },
      },
      schemas: context.schemas.all,
    },
  };
}

const problemSchema: JsonSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'message'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string' },
    code: { title: 'ProblemCode', type: 'string', enum: Object.keys(problems) },
    message: { type: 'string', description: 'The same text as detail.' },
    errors: {
      type: 'array',
      items: {
        title: 'FieldError',
        type: 'object',
        required: ['field', 'message'],
        properties: { field: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
};

const tagOf = ({ path }: Route) => path.split('/')[1] ?? '';

/**
 * The path of a route in the document. OpenAPI treats paths that differ only in parameter names as the same path. Where
 * routes name an id differently (`POST /tasks/{project_id}`, `GET /tasks/{task_id}`), the id is documented as `id`.
 */
function documentedPath(route: Route, routes: readonly Route[]): string {
  const pathShapeOf = (path: string) => path.replace(/\{\w+\}/g, '{}');
  const sameShape = routes.filter(({ path }) => pathShapeOf(path) === pathShapeOf(route.path));
  return sameShape.every(({ path }) => path === route.path) ? route.path : route.path.replace(/\{\w+\}/g, '{id}');
}

function describeOperation(
  route: Route,
  path: string,
  { routes, names, schemas }: DocumentContext,
): Record<string, unknown> {
  const originalNames = idNames(route.path);
  const ids = idNames(path).map((name, index) => ({
    name,
    in: 'path',
    required: true,
    description: `A ${originalNames[index]}.`,
    schema: schemas.toPortable({ type: 'string', pattern: '^\\d+$' }),
  }));
  const query = Object.entries(route.parameters).map(([name, parameter]) => ({
    name,
    in: 'query',
    required: false,
    description: parameter.description,
    schema: schemas.toPortable(parameter.schema),
  }));
  const body =
    route.body === undefined ? {} : { requestBody: requestBody(schemas.addNamed(names.body(route), route.body)) };
  return {
    operationId: names.operationId(route),
    summary: route.description,
    description: descriptionOf(route),
    tags: [tagOf(route)],
    parameters: [...ids, ...query, ...headersOf(route).map(headerParameter)],
    ...body,
    responses: {
      [route.status]: successResponse(route, { routes, names, schemas }),
      ...notModifiedResponse(route),
      ...problemResponses(route),
    },
    ...(route.permission === undefined ? {} : { 'x-permission': route.permission }),
    ...(route.records.length === 0 ? {} : { 'x-records': route.records }),
  };
}

function descriptionOf({ description, permission, records }: Route): string {
  const needs = permission === undefined ? 'Any key may call it.' : `The key needs the permission \`${permission}\`.`;
  const kinds = records.map((kind) => `\`${kind}\``).join(', ');
  return [description, needs, ...(records.length === 0 ? [] : [`It may be notified as ${kinds}.`])].join(' ');
}

const headerParameter = ({ name, description, schema, required = false }: HeaderParameter) => ({
  name,
  in: 'header',
  required,
  description,
  schema,
});

const requestBody = (schema: JsonSchema) => ({ required: true, content: { 'application/json': { schema } } });

function describeWebhook(webhook: Webhook, schemas: SchemaCollector): Record<string, unknown> {
  const { operationId, summary, description, tag, headers, body, responses } = webhook;
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    // A webhook has no API key, because the service calls the target.
    security: [],
    parameters: headers.map(headerParameter),
    requestBody: requestBody(schemas.toPortable(body)),
    responses: Object.fromEntries(Object.entries(responses).map(([status, description]) => [status, { description }])),
  };
}

const etag = { schema: ETAG_SCHEMA, description: 'The strong ETag of the record in the response.' };

const rateLimit = {
  RateLimit: {
    schema: { type: 'string', examples: ['"key-reads";r=42;t=3'] },
    description:
      'For each limit that applies to the call: remaining calls (r), and seconds until all calls are available again (t).',
  },
  'RateLimit-Policy': {
    schema: { type: 'string', examples: ['"key-reads";q=100;w=1'] },
    description: 'The limits that apply to the call: number of calls (q) per seconds (w).',
  },
};

function successResponse(route: Route, { routes, names, schemas }: DocumentContext): Record<string, unknown> {
  const headers = {
    ...(route.status === 201 ? { Location: { schema: { type: 'string', format: 'uri' } } } : {}),
    ...(hasEtag(route, routes) ? { ETag: etag } : {}),
    ...(route.problems.includes('rate_limited') ? rateLimit : {}),
    ...(route.method === 'POST'
      ? {
          'Idempotency-Replayed': {
            schema: { type: 'string', const: 'true' },
            description:
              'The call was made before: this is its stored response, without secrets that are shown only once.',
          },
        }
      : {}),
    ...('offset' in route.parameters
      ? {
          Link: {
            schema: { type: 'string' },
            description: 'The next page (rel="next"), if there is one. It begins after the last record of this page.',
          },
        }
      : {}),
  };
  const content = {
    'application/json': { schema: schemas.addNamed(names.response(route), route.responseSchema) },
    ...(route.mode === 'follow' ? { [EVENT_STREAM]: { schema: { type: 'string' } } } : {}),
  };
  return { description: route.description, headers, content };
}

/** The 304 response of a conditional read. */
function notModifiedResponse(route: Route): Record<string, unknown> {
  if (!route.conditional || route.mode !== 'read') return {};
  return { 304: { description: 'The record has the ETag in If-None-Match.', headers: { ETag: etag } } };
}

function problemResponses(route: Route): Record<string, unknown> {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of problemsOf(route)) {
    const { status } = problems[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const entries = [...byStatus].map(([status, codes]) => [
    String(status),
    {
      description: codes.map((code) => `${code}: ${problems[code].detail}`).join(' '),
      // A 412 response to a read contains the current ETag.
      ...(route.mode === 'read' && codes.includes('precondition_failed') ? { headers: { ETag: etag } } : {}),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]);
  return Object.fromEntries(entries);
}
