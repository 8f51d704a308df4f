import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { invalidInput, Problem } from '../../problems.ts';
import { readHeaderValues } from '../server/cors.ts';
import { MIN_LARGE_RESPONSE_BYTES } from '../server/response-buffers.ts';
import type { SerializedPage } from './list-response.ts';
import type { PageRequest } from './pagination.ts';
import type { CompiledRoute, EntityTag, EntityTags, Preconditions, RequestContext } from './request-context.ts';
import type { Route, RouteResult } from './route.ts';

// The request timeout may have sent a response already. In this case, the functions below send nothing.

/** Sends a fetched record with its `ETag`; 304 if the client has this version (X5). */
export function sendRecord(context: RequestContext, body: unknown): FastifyReply {
  const { reply, compiledRoute, preconditions } = context;
  if (reply.sent) return reply;
  const bodyText = JSON.stringify(body);
  if (compiledRoute.sendsEtag) {
    const etag = etagOfBody(compiledRoute, body, bodyText);
    // Allow only private caches, and only with revalidation.
    reply.header('etag', etag).header('cache-control', 'private, no-cache');
    const evaluation = preconditions === undefined ? 'holds' : evaluatePreconditions(preconditions, etag);
    if (evaluation === 'differs') throw new Problem('precondition_failed');
    if (evaluation === 'matched') return reply.code(304).send();
  }
  return sendJson(context, compiledRoute.route.status, bodyText);
}

/** Sends the result of a write, or its stored response: `Location` of a created record, `ETag` of a changed one. */
export function sendWriteResult(
  context: RequestContext,
  { body, createdPath, replayedStatus }: RouteResult,
): FastifyReply {
  const { reply, compiledRoute, deps } = context;
  if (reply.sent) return reply;
  if (createdPath !== undefined) reply.header('location', deps.baseUrl() + deps.group.prefix + createdPath);
  if (replayedStatus !== undefined) reply.header('idempotency-replayed', 'true');
  const bodyText = JSON.stringify(body);
  if (compiledRoute.sendsEtag) reply.header('etag', etagOfBody(compiledRoute, body, bodyText));
  return sendJson(context, replayedStatus ?? compiledRoute.route.status, bodyText);
}

/** Sends a page of a list, with a link to the next page. */
export function sendListPage(context: RequestContext, { body, nextPageRequest }: SerializedPage): FastifyReply {
  const { reply, responseCapacity } = context;
  responseCapacity.beforeSending(body.length);
  if (reply.sent) return reply;
  if (nextPageRequest !== undefined)
    reply.header('link', `<${buildNextPageUrl(context, nextPageRequest)}>; rel="next"`);
  return reply.code(200).type('application/json; charset=utf-8').send(body);
}

/** Returns the URL of the next page (C7). The URL of a list needs no ids, because no list has an id in its path. */
function buildNextPageUrl(
  { request, compiledRoute, deps }: RequestContext,
  { offset, limit, after = '' }: PageRequest,
): string {
  const [, query = ''] = /\?(.*)$/s.exec(request.url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('offset', String(offset));
  parameters.set('limit', String(limit));
  parameters.set('after', after);
  return `${deps.baseUrl()}${deps.group.prefix}${compiledRoute.route.path}?${parameters}`;
}

/** Returns the ETag of a response, which does not depend on fields that are shown only once. */
function etagOfBody({ shownOnceFieldNames }: CompiledRoute, body: unknown, bodyText: string): string {
  return etagOf(shownOnceFieldNames.length === 0 ? bodyText : JSON.stringify(omitFields(shownOnceFieldNames, body)));
}

function sendJson({ reply, responseCapacity }: RequestContext, status: number, bodyText: string): FastifyReply {
  // Encode a long text here, so that only its bytes stay in memory until the client has read them.
  const responseBody = bodyText.length < MIN_LARGE_RESPONSE_BYTES ? bodyText : Buffer.from(bodyText);
  responseCapacity.beforeSending(responseBody.length);
  return reply.code(status).type('application/json; charset=utf-8').send(responseBody);
}

/** Returns the strong ETag of a representation: a hash of its bytes (X5). */
export function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
}

/** Reads the preconditions of a request; undefined if it has none. Throws `invalid_input` for a malformed header. */
export function readPreconditions(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): Preconditions | undefined {
  const { headers } = request;
  if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return undefined;
  return { ifMatch: readEntityTags(request, 'If-Match'), ifNoneMatch: readEntityTags(request, 'If-None-Match') };
}

function readEntityTags(request: Pick<IncomingMessage, 'rawHeaders'>, header: string): EntityTags | undefined {
  const headerValues = readHeaderValues(request, header.toLowerCase());
  if (headerValues.length === 0) return undefined;
  const text = headerValues.join(',').trim();
  if (text === '*') return '*';
  const tags = parseEntityTags(text);
  if (tags === undefined) {
    throw invalidInput([{ field: header, message: 'must be * or a list of entity tags in double quotes' }]);
  }
  return tags;
}

/**
 * Evaluates preconditions against an ETag (RFC 9110, 13.2.2): `differs` if If-Match fails (strong comparison),
 * `matched` if If-None-Match fails (weak comparison), otherwise `holds`.
 */
export function evaluatePreconditions(
  { ifMatch, ifNoneMatch }: Preconditions,
  currentEtag: string,
): 'holds' | 'matched' | 'differs' {
  const satisfiesIfMatch =
    ifMatch === undefined ||
    ifMatch === '*' ||
    ifMatch.some((entityTag) => !entityTag.isWeak && entityTag.opaque === currentEtag);
  if (!satisfiesIfMatch) return 'differs';
  if (ifNoneMatch === undefined) return 'holds';
  return ifNoneMatch === '*' || ifNoneMatch.some((entityTag) => entityTag.opaque === currentEtag) ? 'matched' : 'holds';
}

/** Throws `precondition_failed` (412) unless the If-Match and If-None-Match headers of a change hold. */
export function requirePreconditions(preconditions: Preconditions, currentEtag: string): void {
  if (evaluatePreconditions(preconditions, currentEtag) !== 'holds') throw new Problem('precondition_failed');
}

/** Returns the path of a route; for an alias, the path of the original route. */
const canonicalPathOf = ({ path, aliasOf }: Route) => aliasOf ?? path;

/** Finds the GET route at the same path. The preconditions of a change apply to the response of this GET. */
export function findRepresentationRoute(
  route: Route,
  routes: readonly Route[],
): Extract<Route, { mode: 'read' }> | undefined {
  return routes
    .filter((candidate) => candidate.mode === 'read')
    .find((candidate) => candidate.supportsPreconditions && candidate.path === canonicalPathOf(route));
}

/** Returns a path without the names of its ids: `/events/{}` for `/events/{event_id}`. */
const pathShapeOf = (path: string) => path.replace(/\{\w+\}/g, '{}');

/**
 * Whether the responses of a route have an ETag. The response to a write has one if it represents a single record. This
 * ETag is the same as that of a GET of the record.
 */
export function hasEtag(route: Route, routes: readonly Route[]): boolean {
  if (route.mode !== 'write') return route.supportsPreconditions;
  const recordPathShape = `/${canonicalPathOf(route).split('/')[1]}/{}`;
  const recordRoute = routes.find(
    (candidate) =>
      candidate.mode === 'read' && candidate.supportsPreconditions && pathShapeOf(candidate.path) === recordPathShape,
  );
  return recordRoute !== undefined && JSON.stringify(recordRoute.responseSchema) === storableSchemaOf(route);
}

/** Returns the names of the response fields that are returned only once, such as secrets. */
export function shownOnceFieldNamesOf(route: Route): readonly string[] {
  return Object.entries(recordFieldSchemasOf(route))
    .filter(([, schema]) => schema['x-shown-once'] === true)
    .map(([name]) => name);
}

type FieldSchemas = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function recordFieldSchemasOf(route: Route): FieldSchemas {
  const { data } = (route.responseSchema.properties ?? {}) as FieldSchemas;
  return (data?.properties ?? {}) as FieldSchemas;
}

/** The response schema as JSON, without the fields that are shown once. */
function storableSchemaOf({ responseSchema }: Route): string {
  return JSON.stringify(responseSchema, (_, value) => (value?.['x-shown-once'] === true ? undefined : value));
}

/**
 * Removes fields that are shown once from a response body. The result is stored for replays, and its hash is the ETag.
 */
export function omitFields(fieldNames: readonly string[], body: unknown): unknown {
  if (fieldNames.length === 0) return body;
  const { data } = body as { data: Readonly<Record<string, unknown>> };
  return { data: Object.fromEntries(Object.entries(data).filter(([name]) => !fieldNames.includes(name))) };
}

const OPAQUE_TAG_PATTERN = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

/**
 * Parses a list of entity tags (RFC 9110, 5.6.1 and 8.8.3); undefined if it is malformed or empty. It scans instead of
 * using a regular expression, so that the time is linear in the length of untrusted input.
 */
export function parseEntityTags(text: string): readonly EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  let needsComma = false;
  let position = 0;
  while (position < text.length) {
    const char = text[position];
    if (char === ' ' || char === '\t' || char === ',') {
      if (char === ',') needsComma = false;
      position += 1;
      continue;
    }
    const isWeak = text.startsWith('W/', position);
    const tagStart = isWeak ? position + 2 : position;
    const tagEnd = text.indexOf('"', tagStart + 1) + 1;
    const opaque = text.slice(tagStart, tagEnd);
    if (needsComma || !OPAQUE_TAG_PATTERN.test(opaque)) return undefined;
    tags.push({ opaque, isWeak });
    needsComma = true;
    position = tagEnd;
  }
  return tags.length === 0 ? undefined : tags;
}
