import { type ProblemCode, problems } from '../../problems.ts';
import { EVENT_STREAM_TYPE } from '../feed/sse.ts';
import type { JsonSchema } from '../fields/field.ts';
import { deriveSchemaNames, SchemaCollector, type SchemaNames } from './openapi-schemas.ts';
import { hasEtag } from './respond.ts';
import { ETAG_SCHEMA, type HeaderParameter, idNamesOf, problemCodesOf, type Route, requestHeadersOf } from './route.ts';

/** A webhook: a request from the service to a target. */
export type Webhook = {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly headers: readonly HeaderParameter[];
  readonly bodySchema: JsonSchema;
  /** Meaning of the target's response, by status. */
  readonly responses: Readonly<Record<string, string>>;
};

type DocumentContext = {
  readonly routes: readonly Route[];
  readonly names: SchemaNames;
  readonly schemas: SchemaCollector;
};

/** Creates the OpenAPI 3.1 document of the API from its routes (X6). */
export function createOpenApiDocument(
  routes: readonly Route[],
  baseUrl: string,
  version: string,
  webhooks: Readonly<Record<string, Webhook>> = {},
): Record<string, unknown> {
  const names = deriveSchemaNames(routes);
  const documentContext = { routes, names, schemas: new SchemaCollector(names.recordNames) };
  documentContext.schemas.addNamed('Problem', problemSchema);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = documentedPathOf(route, routes);
    paths[`/v2${path}`] = {
      ...paths[`/v2${path}`],
      [route.method.toLowerCase()]: describeOperation(route, path, documentContext),
    };
  }
  const webhookEntries = Object.entries(webhooks).map(([name, webhook]) => [
    name,
    { post: describeWebhook(webhook, documentContext.schemas) },
  ]);
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
    webhooks: Object.fromEntries(webhookEntries),
    components: {
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'key', description: 'The API key.' },
        domain: { type: 'apiKey', in: 'header', name: 'domain', description: "The account's host name." },
      },
      schemas: documentContext.schemas.namedSchemas,
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
 * Returns the path of a route in the document. OpenAPI treats paths that differ only in parameter names as the same
 * path. If routes name an id differently (`POST /tasks/{project_id}`, `GET /tasks/{task_id}`), its name is `id` in the
 * document.
 */
function documentedPathOf(route: Route, routes: readonly Route[]): string {
  const pathShapeOf = (path: string) => path.replace(/\{\w+\}/g, '{}');
  const routesOfSameShape = routes.filter(({ path }) => pathShapeOf(path) === pathShapeOf(route.path));
  return routesOfSameShape.every(({ path }) => path === route.path)
    ? route.path
    : route.path.replace(/\{\w+\}/g, '{id}');
}

function describeOperation(
  route: Route,
  path: string,
  { routes, names, schemas }: DocumentContext,
): Record<string, unknown> {
  const originalIdNames = idNamesOf(route.path);
  const idParameters = idNamesOf(path).map((name, index) => ({
    name,
    in: 'path',
    required: true,
    description: `A ${originalIdNames[index]}.`,
    schema: schemas.toPortableSchema({ type: 'string', pattern: '^\\d+$' }),
  }));
  const queryParameters = Object.entries(route.parameters).map(([name, parameter]) => ({
    name,
    in: 'query',
    required: false,
    description: parameter.description,
    schema: schemas.toPortableSchema(parameter.schema),
  }));
  const requestBodyEntry =
    route.bodySchema === undefined
      ? {}
      : { requestBody: createRequestBody(schemas.addNamed(names.getRequestBodyName(route), route.bodySchema)) };
  return {
    operationId: names.getOperationId(route),
    summary: route.description,
    description: describeRoute(route),
    tags: [tagOf(route)],
    parameters: [...idParameters, ...queryParameters, ...requestHeadersOf(route).map(toHeaderParameter)],
    ...requestBodyEntry,
    responses: {
      [route.status]: describeSuccess(route, { routes, names, schemas }),
      ...describeNotModified(route),
      ...describeProblems(route),
    },
    ...(route.permission === undefined ? {} : { 'x-permission': route.permission }),
    ...(route.recordedKinds.length === 0 ? {} : { 'x-records': route.recordedKinds }),
  };
}

function describeRoute({ description, permission, recordedKinds }: Route): string {
  const permissionText =
    permission === undefined ? 'Any key may call it.' : `The key needs the permission \`${permission}\`.`;
  const kindList = recordedKinds.map((kind) => `\`${kind}\``).join(', ');
  return [
    description,
    permissionText,
    ...(recordedKinds.length === 0 ? [] : [`It may be notified as ${kindList}.`]),
  ].join(' ');
}

const toHeaderParameter = ({ name, description, schema, required = false }: HeaderParameter) => ({
  name,
  in: 'header',
  required,
  description,
  schema,
});

const createRequestBody = (schema: JsonSchema) => ({ required: true, content: { 'application/json': { schema } } });

function describeWebhook(webhook: Webhook, schemas: SchemaCollector): Record<string, unknown> {
  const { operationId, summary, description, tag, headers, bodySchema, responses } = webhook;
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    // A webhook has no API key, because the service calls the target.
    security: [],
    parameters: headers.map(toHeaderParameter),
    requestBody: createRequestBody(schemas.toPortableSchema(bodySchema)),
    responses: Object.fromEntries(Object.entries(responses).map(([status, description]) => [status, { description }])),
  };
}

const etagHeader = { schema: ETAG_SCHEMA, description: 'The strong ETag of the record in the response.' };

const rateLimitHeaders = {
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

function describeSuccess(route: Route, { routes, names, schemas }: DocumentContext): Record<string, unknown> {
  const headers = {
    ...(route.status === 201 ? { Location: { schema: { type: 'string', format: 'uri' } } } : {}),
    ...(hasEtag(route, routes) ? { ETag: etagHeader } : {}),
    ...(route.problems.includes('rate_limited') ? rateLimitHeaders : {}),
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
    'application/json': { schema: schemas.addNamed(names.getResponseName(route), route.responseSchema) },
    ...(route.mode === 'follow' ? { [EVENT_STREAM_TYPE]: { schema: { type: 'string' } } } : {}),
  };
  return { description: route.description, headers, content };
}

/** Describes the 304 response of a conditional read. */
function describeNotModified(route: Route): Record<string, unknown> {
  if (!route.supportsPreconditions || route.mode !== 'read') return {};
  return { 304: { description: 'The record has the ETag in If-None-Match.', headers: { ETag: etagHeader } } };
}

function describeProblems(route: Route): Record<string, unknown> {
  const codesByStatus = new Map<number, ProblemCode[]>();
  for (const code of problemCodesOf(route)) {
    const { status } = problems[code];
    codesByStatus.set(status, [...(codesByStatus.get(status) ?? []), code]);
  }
  const responseEntries = [...codesByStatus].map(([status, codes]) => [
    String(status),
    {
      description: codes.map((code) => `${code}: ${problems[code].detail}`).join(' '),
      // A 412 response to a read contains the current ETag.
      ...(route.mode === 'read' && codes.includes('precondition_failed') ? { headers: { ETag: etagHeader } } : {}),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]);
  return Object.fromEntries(responseEntries);
}
