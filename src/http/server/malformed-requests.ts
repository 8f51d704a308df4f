import type { Duplex } from 'node:stream';
import { notFound, Problem, type ProblemCode, problems } from '../../problems.ts';
import { authenticateRequest, KEY_CHALLENGE, type RouteGroup } from '../auth/route-groups.ts';
import { createProblemBody, problemOf } from '../errors/problem-response.ts';

/**
 * The error that Node emits for bytes that are not HTTP: its code, the received bytes, and the position of the error in
 * them.
 */
type MalformedRequestError = Error & {
  readonly code?: string | undefined;
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
};

/** Responds to bytes that Node cannot parse as HTTP, and closes the connection. Such bytes never reach the app. */
export async function respondToMalformed(
  error: MalformedRequestError,
  socket: Duplex,
  {
    routeGroups,
    baseUrl,
    reportError,
  }: { routeGroups: readonly RouteGroup[]; baseUrl: string; reportError: (error: unknown) => void },
): Promise<void> {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const methodRejection =
    error.code === 'HPE_INVALID_METHOD' ? await problemForUnknownMethod(error, routeGroups) : undefined;
  const problem = methodRejection?.problem ?? new Problem(problemCodeOf(error.code));
  if (problem.cause !== undefined) reportError(problem.cause);
  closeWithProblem(socket, problem, baseUrl, methodRejection?.challenge);
}

/** Writes a problem response directly to a socket, without the framework, and closes the socket. */
export function closeWithProblem(socket: Duplex, problem: Problem, baseUrl: string, challenge = KEY_CHALLENGE): void {
  // The socket has no other error listener, and an unhandled error after a reset would end the process.
  socket.on('error', () => socket.destroy());
  const body = JSON.stringify(createProblemBody(problem, baseUrl));
  const challengeHeader = problem.status === 401 ? `www-authenticate: ${challenge}\r\n` : '';
  socket.end(
    `HTTP/1.1 ${problem.status} ${problems[problem.code].title}\r\ncontent-type: application/problem+json\r\n` +
      `${challengeHeader}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

const REQUEST_LINE_PATTERN = /^([\w!#$%&'*+.^`|~-]+) (\/\S*) HTTP\/1\.[01]$/;

/**
 * Returns the problem for a well-formed request with a method that Node does not know. It is handled like an unknown
 * route: 404 (C4), or 401 without a valid key (C1). Undefined if the bytes are not a request.
 */
async function problemForUnknownMethod(
  error: MalformedRequestError,
  routeGroups: readonly RouteGroup[],
): Promise<{ problem: Problem; challenge: string | undefined } | undefined> {
  if (!(error.rawPacket instanceof Uint8Array)) return undefined;
  const [requestHead = ''] = Buffer.from(error.rawPacket).toString('latin1').split('\r\n\r\n', 1);
  const [requestLine = '', ...headerFields] = requestHead.split('\r\n');
  const [, method = '', path] = REQUEST_LINE_PATTERN.exec(requestLine) ?? [];
  // If the error is after the method, it is in a later request of the same packet.
  if (path === undefined || (error.bytesParsed ?? 0) > method.length) return undefined;
  const group = routeGroups.find(({ prefix }) => path.startsWith(prefix));
  const rawHeaders = headerFields.flatMap((field) => {
    const colonIndex = field.indexOf(':');
    return [field.slice(0, colonIndex), field.slice(colonIndex + 1).trim()];
  });
  let problem = notFound();
  try {
    if (group !== undefined) await authenticateRequest(group, { rawHeaders, method: '' });
  } catch (error) {
    problem = problemOf(error) ?? new Problem('internal', { cause: error });
  }
  return { problem, challenge: group?.challenge };
}

function problemCodeOf(code: string | undefined): ProblemCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout';
  return 'malformed_request';
}
