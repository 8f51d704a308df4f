import type { FastifyReply } from 'fastify';
import { Problem, type ProblemCode, problems } from '../../problems.ts';
import { KEY_CHALLENGE } from '../auth/route-groups.ts';

/** Default `Retry-After` of responses with status 503, in seconds. */
export const DEFAULT_RETRY_AFTER_S = 1;

/** Creates the body of a problem response: `application/problem+json` as in RFC 9457 (C6). */
export function createProblemBody(problem: Problem, baseUrl: string): Record<string, unknown> {
  const { status, title } = problems[problem.code];
  const body = { type: `${baseUrl}/problems/${problem.code}`, title, status, detail: problem.message };
  const fieldErrors = problem.errors.length > 0 ? { errors: problem.errors } : {};
  // `message` repeats the detail for existing integrations.
  return { ...body, code: problem.code, message: problem.message, ...fieldErrors };
}

/** Sends a problem with the headers that its status needs. */
export function sendProblem(reply: FastifyReply, problem: Problem, baseUrl: string): FastifyReply {
  if (problem.status === 401) reply.header('www-authenticate', reply.request.routeGroup?.challenge ?? KEY_CHALLENGE);
  const retryAfterS = problem.retryAfterS ?? (problem.status === 503 ? DEFAULT_RETRY_AFTER_S : undefined);
  // The rest of the request was not received, so the connection cannot be reused.
  if (problem.status === 408) reply.header('connection', 'close');
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS));
  return reply
    .code(problem.status)
    .type('application/problem+json')
    .send(JSON.stringify(createProblemBody(problem, baseUrl)));
}

/** Problem codes for errors of Node and Fastify, by error code. */
const problemCodeByErrorCode: Readonly<Record<string, ProblemCode>> = {
  // The client disconnected while it sent the body.
  ECONNRESET: 'malformed_request',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'malformed_body',
  FST_ERR_CTP_INVALID_JSON_BODY: 'malformed_body',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
  // A QUERY request without a media type. No route has this method.
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: 'not_found',
};

/** Returns the problem for a thrown error; undefined for an internal error, which is logged and sent as `internal`. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!(error instanceof Error)) return undefined;
  const problemCode = 'code' in error ? problemCodeByErrorCode[String(error.code)] : undefined;
  return problemCode === undefined ? undefined : new Problem(problemCode);
}
