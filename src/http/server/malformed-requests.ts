import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { notFound, Problem, type ProblemCode, problems } from '../../problems.ts';
import { authenticateRequest, KEY_CHALLENGE, type RouteGroup } from '../auth/route-groups.ts';
import { problemBody, problemOf } from '../errors/problem-response.ts';
import { isNamed } from './headers.ts';

/** What Node could not read: its word for why, the bytes it was reading, and how far it came. */
export type MalformedRequestError = Error & {
  readonly code?: string | undefined;
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
};

/** Methods of RTSP: Node reads them, and does not say that it was another protocol. */
const OF_RTSP = new Set(
  'DESCRIBE ANNOUNCE SETUP PLAY PAUSE TEARDOWN REDIRECT RECORD FLUSH GET_PARAMETER SET_PARAMETER'.split(' '),
);

/** What no host has in it (RFC 9112, 3.2): a space, a path, a user, anything beyond ASCII. */
const NO_HOST = /[^\x21-\x7e]|[/\\@?#"<>`{}|^]/;

/** What Node lets pass and a reader before or behind us might understand otherwise; undefined if there is nothing. */
export function ambiguityOf({ rawHeaders, httpVersion, url = '', method }: IncomingMessage): string | undefined {
  if (method === undefined || OF_RTSP.has(method)) return 'This is not HTTP/1.1.';
  let [hosts, types] = [0, 0];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (isNamed(name, 'host')) {
      hosts += 1;
      if (NO_HOST.test(rawHeaders[index + 1] ?? '')) return 'The header host is no host.';
    }
    if (isNamed(name, 'content-type')) types += 1;
    // Node takes `gzip, chunked`, and hands on what is still compressed.
    const isCoded = isNamed(name, 'transfer-encoding');
    if (isCoded && (httpVersion === '1.0' || rawHeaders[index + 1]?.toLowerCase() !== 'chunked'))
      return 'A body comes with its length, or chunked and nothing else.';
  }
  if (hosts > 1) return 'The header host stands more than once.';
  if (types > 1) return 'The header content-type stands more than once.';
  if (url.includes('#')) return 'An address is sent without its fragment.';
  if (url === '*' && method !== 'OPTIONS') return 'An address begins with /.';
  if (httpVersion === '1.1') return hosts === 1 ? undefined : 'The header host is missing.';
  return httpVersion === '1.0' ? undefined : 'This is not HTTP/1.1.';
}

/** What Node could not read as HTTP never reaches the app; it is answered by hand and the connection ends. */
export async function respondToMalformed(
  error: MalformedRequestError,
  socket: Duplex,
  { doors, baseUrl, failed }: { doors: readonly RouteGroup[]; baseUrl: string; failed: (error: unknown) => void },
): Promise<void> {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const unknown = error.code === 'HPE_INVALID_METHOD' ? await classifyUnknownMethod(error, doors) : undefined;
  const problem = unknown?.problem ?? new Problem(brokenCode(error.code));
  if (problem.cause !== undefined) failed(problem.cause);
  endWith(socket, problem, baseUrl, unknown?.challenge);
}

/** Answers a problem on a bare connection, which ends with it. */
export function endWith(socket: Duplex, problem: Problem, baseUrl: string, challenge = KEY_CHALLENGE): void {
  // Nobody else listens on a bare connection: what it says after a reset would end the process.
  socket.on('error', () => socket.destroy());
  const body = JSON.stringify(problemBody(problem, baseUrl));
  const authenticate = problem.status === 401 ? `www-authenticate: ${challenge}\r\n` : '';
  socket.end(
    `HTTP/1.1 ${problem.status} ${problems[problem.code].title}\r\ncontent-type: application/problem+json\r\n` +
      `${authenticate}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

const REQUEST_LINE = /^([\w!#$%&'*+.^`|~-]+) (\/\S*) HTTP\/1\.[01]$/;

/**
 * C4: a method that Node has never heard of is an unknown one like any other, if all else is as it should be: 404, and
 * 401 for whoever has no key (C1). Undefined if it is no request at all.
 */
async function classifyUnknownMethod(
  error: MalformedRequestError,
  doors: readonly RouteGroup[],
): Promise<{ problem: Problem; challenge: string | undefined } | undefined> {
  if (!(error.rawPacket instanceof Uint8Array)) return undefined;
  const [head = ''] = Buffer.from(error.rawPacket).toString('latin1').split('\r\n\r\n', 1);
  const [line = '', ...fields] = head.split('\r\n');
  const [, method = '', path] = REQUEST_LINE.exec(line) ?? [];
  // Beyond the first method it stumbled over what came behind this request.
  if (path === undefined || (error.bytesParsed ?? 0) > method.length) return undefined;
  const door = doors.find(({ prefix }) => path.startsWith(prefix));
  const rawHeaders = fields.flatMap((field) => {
    const colon = field.indexOf(':');
    return [field.slice(0, colon), field.slice(colon + 1).trim()];
  });
  let problem = notFound();
  try {
    if (door !== undefined) await authenticateRequest(door, { rawHeaders, method: '' });
  } catch (refused) {
    problem = problemOf(refused) ?? new Problem('internal', { cause: refused });
  }
  return { problem, challenge: door?.challenge };
}

function brokenCode(code: string | undefined): ProblemCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout';
  return 'malformed_request';
}
