import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';

const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': 'key, domain, content-type, idempotency-key, if-match, if-none-match, last-event-id',
  'access-control-max-age': '600',
};
const EXPOSED = 'link, location, retry-after, etag, idempotency-replayed, ratelimit, ratelimit-policy, x-request-id';

/** What an answer says so that a page of another origin may read it, or of which none may. */
export type CorsHeaders = (request: IncomingMessage) => Readonly<Record<string, string>>;

/**
 * What needs no cookie: the interface, and what is read without a key. Everything else, the console first of all, is
 * closed to pages of other origins. The path is compared as it was sent, so that another spelling is closed as well.
 */
const OPEN_PATHS = /^\/(?:v2(?![^/?])|openapi\.json(?![^?])|(?:healthz|readyz)(?![^?])|problems\/|calendar\/)/;

/** The headers of every answer, refusals too, where pages of these origins may call from a browser (X6). */
export function corsHeadersFor(origins: readonly string[]): CorsHeaders {
  const allowed = new Set(origins);
  if (allowed.size === 0) return () => ({});
  const exposed = { 'access-control-expose-headers': EXPOSED };
  // Also where there is none: a cache must not keep one origin's answer for another.
  const vary = { vary: 'origin' };
  return ({ url = '', headers: { origin } }) => {
    if (!OPEN_PATHS.test(url)) return {};
    if (allowed.has('*')) return { 'access-control-allow-origin': '*', ...exposed };
    if (origin === undefined || !allowed.has(origin)) return vary;
    return { ...vary, 'access-control-allow-origin': origin, ...exposed };
  };
}

/** Lets those pages call: their preflights are answered without a key. To all others nothing changes, and cookies are never asked for. */
export function allowOrigins(app: FastifyInstance, readable: CorsHeaders): void {
  app.addHook('onRequest', (request, reply, done) => {
    const headers = readable(request.raw);
    reply.headers(headers);
    const isAllowed = 'access-control-allow-origin' in headers;
    if (isAllowed && isPreflight(request)) reply.code(204).headers(PREFLIGHT).send();
    else done();
  });
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}
