import type { FastifyReply } from 'fastify';
import { Problem, type ProblemCode, problems } from '../../problems.ts';
import { KEY_CHALLENGE } from '../auth/route-groups.ts';

/** How many seconds a caller that was shed is asked to wait. */
export const RETRY_AFTER_S = 1;

/** A problem as RFC 9457 `application/problem+json` (C6). */
export function problemBody(problem: Problem, baseUrl: string): Record<string, unknown> {
  const { status, title } = problems[problem.code];
  const body = { type: `${baseUrl}/problems/${problem.code}`, title, status, detail: problem.message };
  const named = problem.errors.length > 0 ? { errors: problem.errors } : {};
  // `message` repeats the detail: existing integrations read it.
  return { ...body, code: problem.code, message: problem.message, ...named };
}

/** Answers a problem, with the headers its status asks for. */
export function sendProblem(reply: FastifyReply, problem: Problem, baseUrl: string): FastifyReply {
  if (problem.status === 401) reply.header('www-authenticate', reply.request.door?.challenge ?? KEY_CHALLENGE);
  const retryAfterS = problem.retryAfterS ?? (problem.status === 503 ? RETRY_AFTER_S : undefined);
  // What is left of the request will never come.
  if (problem.status === 408) reply.header('connection', 'close');
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS));
  return reply
    .code(problem.status)
    .type('application/problem+json')
    .send(JSON.stringify(problemBody(problem, baseUrl)));
}

/** What the framework throws, by its code, as our problems. */
const frameworkProblems: Readonly<Record<string, ProblemCode>> = {
  // The caller went away in the middle of the body.
  ECONNRESET: 'malformed_request',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'malformed_body',
  FST_ERR_CTP_INVALID_JSON_BODY: 'malformed_body',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
  // QUERY without a media type; no route takes the method.
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: 'not_found',
};

/** Whatever was thrown, as a problem; undefined if it is a fault of ours, to be logged and answered as `internal`. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? frameworkProblems[String(error.code)] : undefined;
  return code === undefined ? undefined : new Problem(code);
}
