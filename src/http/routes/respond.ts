import type { FastifyReply } from 'fastify';
import { Problem } from '../../problems.ts';
import { MIN_LARGE_RESPONSE_BYTES } from '../server/unread-responses.ts';
import { etagOf, evaluatePreconditions, omitFields } from './etag.ts';
import type { SerializedPage } from './list-response.ts';
import type { PageRequest } from './pagination.ts';
import type { CompiledRoute, RequestContext } from './request-context.ts';
import type { RouteResult } from './route.ts';

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
