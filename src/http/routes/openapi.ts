import { type ProblemCode, problems } from '../../problems.ts';
import { EVENT_STREAM } from '../feed/sse.ts';
import type { JsonSchema } from '../fields/field.ts';
import { isTagged } from './etag.ts';
import { type Names, namesOf } from './openapi-names.ts';
import { Schemas } from './openapi-schemas.ts';
import { idNames, type Route } from './route.ts';

/** The problems that every call under a door can have. */
const everywhere: readonly ProblemCode[] = [
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

/** The problems that a route can answer with, derived from its row. */
export function problemsOf(row: Route): readonly ProblemCode[] {
  const own: ProblemCode[] = [...everywhere, ...row.problems];
  if (row.permission !== undefined || row.mode === 'write' || row.mode === 'steps') own.push('not_permitted');
  const hasHeaders = headersOf(row).length > 0;
  if (Object.keys(row.parameters).length > 0 || row.body !== undefined || hasHeaders) own.push('invalid_input');
  if (row.method === 'POST') own.push('idempotency_in_progress', 'idempotency_mismatch');
  if (row.conditional) own.push('precondition_failed');
  if (row.method !== 'GET') own.push('malformed_body', 'unsupported_media_type', 'body_too_large');
  return [...new Set(own)];
}

type Header = {
  readonly name: string;
  readonly says: string;
  readonly schema: JsonSchema;
  readonly required?: boolean;
};

const TAGS: JsonSchema = { type: 'string', examples: ['"Vd3zUqk0B1l9YwGm2s7pXA"'] };

const idempotencyKey: Header = {
  name: 'Idempotency-Key',
  says: 'A word of your own for this call, new for each. Made again within 24 hours, it is answered as the first time.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
};
const ifMatch: Header = {
  name: 'If-Match',
  says: 'The ETag that the record must still have, or *; else 412 and nothing is done.',
  schema: TAGS,
};
const ifNoneMatch: Header = {
  name: 'If-None-Match',
  says: 'The ETag that is known already: 304 while the record still has it; 412 where it would be changed.',
  schema: TAGS,
};
const lastEventId: Header = {
  name: 'Last-Event-ID',
  says: 'In a stream, the cursor behind which to go on; goes before `after`.',
  schema: { type: 'string', pattern: '^\\d{1,16}$' },
};

/** The headers that a row reads beside those of every call. */
export function headersOf(row: Route): readonly Header[] {
  if (row.mode === 'follow') return [lastEventId];
  if (row.method === 'POST') return [idempotencyKey];
  return row.conditional ? [ifMatch, ifNoneMatch] : [];
}

/** A request that the service itself makes to a target, as the document describes it. */
export type Webhook = {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly headers: readonly Header[];
  readonly body: JsonSchema;
  /** What each answer of the target means, by its status. */
  readonly responses: Readonly<Record<string, string>>;
};

type Described = {
  readonly rows: readonly Route[];
  readonly names: Names;
  readonly schemas: Schemas;
};

/** The OpenAPI 3.1 document of the interface, derived from its rows (X6). */
export function openapi(
  rows: readonly Route[],
  baseUrl: string,
  version: string,
  webhooks: Readonly<Record<string, Webhook>> = {},
): Record<string, unknown> {
  const names = namesOf(rows);
  const described = { rows, names, schemas: new Schemas(names.records) };
  described.schemas.named('Problem', problemSchema);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const row of rows) {
    const path = documentedPath(row, rows);
    paths[`/v2${path}`] = { ...paths[`/v2${path}`], [row.method.toLowerCase()]: operation(row, path, described) };
  }
  const sent = Object.entries(webhooks).map(([name, one]) => [name, { post: notification(one, described.schemas) }]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Carillon',
      version,
      description:
        'A project calendar that rings your application. Texts are trimmed before their length is measured; unknown fields and parameters are ignored.',
      contact: { name: 'The documentation of this service', url: `${baseUrl}/docs` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    security: [{ key: [], domain: [] }],
    tags: [...Map.groupBy(rows, tagOf)].map(([name, [first]]) => ({ name, description: first?.description })),
    paths,
    webhooks: Object.fromEntries(sent),
    components: {
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'key', description: 'The API key.' },
        domain: { type: 'apiKey', in: 'header', name: 'domain', description: "The account's host name." },
      },
      schemas: described.schemas.all,
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
 * To OpenAPI, paths that differ only in the names of their ids are one path, which may stand once: where rows name an
 * id differently (`POST /tasks/{project_id}`, `GET /tasks/{task_id}`) it is called `id`.
 */
function documentedPath(row: Route, rows: readonly Route[]): string {
  const shapeOf = (path: string) => path.replace(/\{\w+\}/g, '{}');
  const twins = rows.filter(({ path }) => shapeOf(path) === shapeOf(row.path));
  return twins.every(({ path }) => path === row.path) ? row.path : row.path.replace(/\{\w+\}/g, '{id}');
}

function operation(row: Route, path: string, { rows, names, schemas }: Described): Record<string, unknown> {
  const meant = idNames(row.path);
  const ids = idNames(path).map((name, index) => ({
    name,
    in: 'path',
    required: true,
    description: `A ${meant[index]}.`,
    schema: schemas.of({ type: 'string', pattern: '^\\d+$' }),
  }));
  const query = Object.entries(row.parameters).map(([name, parameter]) => ({
    name,
    in: 'query',
    required: false,
    description: parameter.description,
    schema: schemas.of(parameter.schema),
  }));
  const body = row.body === undefined ? {} : { requestBody: requestBody(schemas.named(names.body(row), row.body)) };
  return {
    operationId: names.operationId(row),
    summary: row.description,
    description: descriptionOf(row),
    tags: [tagOf(row)],
    parameters: [...ids, ...query, ...headersOf(row).map(headerParameter)],
    ...body,
    responses: { [row.status]: success(row, { rows, names, schemas }), ...unchanged(row), ...failures(row) },
    ...(row.permission === undefined ? {} : { 'x-permission': row.permission }),
    ...(row.records.length === 0 ? {} : { 'x-records': row.records }),
  };
}

function descriptionOf({ description, permission, records }: Route): string {
  const needs = permission === undefined ? 'Any key may call it.' : `The key needs the permission \`${permission}\`.`;
  const kinds = records.map((kind) => `\`${kind}\``).join(', ');
  return [description, needs, ...(records.length === 0 ? [] : [`It may be notified as ${kinds}.`])].join(' ');
}

const headerParameter = ({ name, says: description, schema, required = false }: Header) => ({
  name,
  in: 'header',
  required,
  description,
  schema,
});

const requestBody = (schema: JsonSchema) => ({ required: true, content: { 'application/json': { schema } } });

function notification(webhook: Webhook, schemas: Schemas): Record<string, unknown> {
  const { operationId, summary, description, tag, headers, body, responses } = webhook;
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    // The service calls the target, which knows no key of it.
    security: [],
    parameters: headers.map(headerParameter),
    requestBody: requestBody(schemas.of(body)),
    responses: Object.fromEntries(Object.entries(responses).map(([status, description]) => [status, { description }])),
  };
}

const etag = { schema: TAGS, description: 'The strong tag of the record as it is answered.' };

const rateLimit = {
  RateLimit: {
    schema: { type: 'string', examples: ['"key-reads";r=42;t=3'] },
    description: 'For each limit that counts the call: how many are left, and in how many seconds all of them are.',
  },
  'RateLimit-Policy': {
    schema: { type: 'string', examples: ['"key-reads";q=100;w=1'] },
    description: 'The limits that count the call: how many, in how many seconds.',
  },
};

function success(row: Route, { rows, names, schemas }: Described): Record<string, unknown> {
  const headers = {
    ...(row.status === 201 ? { Location: { schema: { type: 'string', format: 'uri' } } } : {}),
    ...(isTagged(row, rows) ? { ETag: etag } : {}),
    ...(row.problems.includes('rate_limited') ? rateLimit : {}),
    ...(row.method === 'POST'
      ? {
          'Idempotency-Replayed': {
            schema: { type: 'string', const: 'true' },
            description: 'The call was made before: this is its answer, without what is shown once.',
          },
        }
      : {}),
    ...('offset' in row.parameters
      ? {
          Link: {
            schema: { type: 'string' },
            description: 'rel="next", while there is more: right behind the last record of this page.',
          },
        }
      : {}),
  };
  const content = {
    'application/json': { schema: schemas.named(names.answer(row), row.answer) },
    ...(row.mode === 'follow' ? { [EVENT_STREAM]: { schema: { type: 'string' } } } : {}),
  };
  return { description: row.description, headers, content };
}

/** What a read answers to whoever knows the record already: no body. */
function unchanged(row: Route): Record<string, unknown> {
  if (!row.conditional || row.mode !== 'read') return {};
  return { 304: { description: 'The record still is as If-None-Match says.', headers: { ETag: etag } } };
}

function failures(row: Route): Record<string, unknown> {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of problemsOf(row)) {
    const { status } = problems[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const entries = [...byStatus].map(([status, codes]) => [
    String(status),
    {
      description: codes.map((code) => `${code}: ${problems[code].detail}`).join(' '),
      // Whoever asks for another representation hears which there is.
      ...(row.mode === 'read' && codes.includes('precondition_failed') ? { headers: { ETag: etag } } : {}),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]);
  return Object.fromEntries(entries);
}
