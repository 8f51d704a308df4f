import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Returns the values of a request header, one per header line. Node's `headers` joins or drops repeated headers. */
export function readHeaderValues(request: Pick<IncomingMessage, 'rawHeaders'>, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    if (isHeaderNamed(request.rawHeaders[index], name)) values.push(request.rawHeaders[index + 1] ?? '');
  }
  return values;
}

/** Whether a header has this name, which must be in lower case. */
export function isHeaderNamed(header: string | undefined, name: string): boolean {
  return header?.toLowerCase() === name;
}

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': 'key, domain, content-type, idempotency-key, if-match, if-none-match, last-event-id',
  'access-control-max-age': '600',
};
const EXPOSED_HEADERS =
  'link, location, retry-after, etag, idempotency-replayed, ratelimit, ratelimit-policy, x-request-id';

/** Returns the CORS headers for the response to a request; an empty object if no cross-origin access is allowed. */
export type CorsPolicy = (request: IncomingMessage) => Readonly<Record<string, string>>;

/**
 * Matches paths that never use a cookie: the API and the public documents. All other paths, especially those of the
 * console, deny cross-origin access. The raw path is matched, so an unusual spelling of one of these paths is denied,
 * too.
 */
const CROSS_ORIGIN_PATHS = /^\/(?:v2(?![^/?])|openapi\.json(?![^?])|(?:healthz|readyz)(?![^?])|problems\/|calendar\/)/;

/**
 * Creates the CORS policy: pages of these origins may call the API and read its responses, including errors (X6). `*`
 * allows all origins.
 */
export function createCorsPolicy(origins: readonly string[]): CorsPolicy {
  const allowedOrigins = new Set(origins);
  if (allowedOrigins.size === 0) return () => ({});
  const exposeHeaders = { 'access-control-expose-headers': EXPOSED_HEADERS };
  // `vary` is also sent if a request has no origin: a cache must not serve the response for one origin to another.
  const varyHeader = { vary: 'origin' };
  return ({ url = '', headers: { origin } }) => {
    if (!CROSS_ORIGIN_PATHS.test(url)) return {};
    if (allowedOrigins.has('*')) return { 'access-control-allow-origin': '*', ...exposeHeaders };
    if (origin === undefined || !allowedOrigins.has(origin)) return varyHeader;
    return { ...varyHeader, 'access-control-allow-origin': origin, ...exposeHeaders };
  };
}

/** Adds the CORS headers to responses and answers preflights without a key. Credentials (cookies) are never allowed. */
export function addCorsHeaders(app: FastifyInstance, corsPolicy: CorsPolicy): void {
  app.addHook('onRequest', (request, reply, done) => {
    const corsHeaders = corsPolicy(request.raw);
    reply.headers(corsHeaders);
    const isOriginAllowed = 'access-control-allow-origin' in corsHeaders;
    if (isOriginAllowed && isPreflight(request)) reply.code(204).headers(PREFLIGHT_HEADERS).send();
    else done();
  });
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}
