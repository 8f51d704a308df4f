import type { FastifyInstance, FastifyRequest } from 'fastify';

const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': 'key, domain, content-type, idempotency-key, if-match, if-none-match, last-event-id',
  'access-control-max-age': '600',
};
const EXPOSED = 'link, location, retry-after, etag, idempotency-replayed, ratelimit, ratelimit-policy, x-request-id';

/**
 * Lets pages of these origins call from a browser (X6): their preflights are answered without a key, and answers to
 * them, refusals too, can be read. To all others nothing changes. Cookies are never asked for.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const allowed = new Set(origins);
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers;
    // Also where there is none: a cache must not keep one origin's answer for another.
    reply.header('vary', 'origin');
    if (origin === undefined || !allowed.has(origin)) return undefined;
    reply.header('access-control-allow-origin', origin);
    if (isPreflight(request)) return reply.code(204).headers(PREFLIGHT).send();
    reply.header('access-control-expose-headers', EXPOSED);
    return undefined;
  });
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}
