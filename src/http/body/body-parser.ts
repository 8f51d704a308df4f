import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The `Content-Type` header as it was sent; undefined if it is missing or empty. */
    bodyType: string | undefined;
  }
}

/**
 * Disables Fastify's body parsing: each route reads its body itself, so that a response that does not depend on the
 * body is sent without waiting for it. The media type is hidden from Fastify, which would check it before the route is
 * known.
 */
export function skipBodyParsing(app: FastifyInstance): void {
  app.decorateRequest('bodyType', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw;
    if (headers['content-type'] !== undefined) {
      request.bodyType = headers['content-type'] || undefined;
      headers['content-type'] = undefined;
    }
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

/** Throws unless the body is declared as uncompressed JSON in UTF-8, or not declared at all (C4). */
export function requireJson({ bodyType, headers }: Pick<FastifyRequest, 'bodyType' | 'headers'>): void {
  const encoding = headers['content-encoding'];
  if (!isJson(bodyType) || !isUncompressed(encoding)) throw new Problem('unsupported_media_type');
}

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return true;
  const [media = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (media !== 'application/json') return false;
  return parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter));
}

function isUncompressed(encoding: string | undefined): boolean {
  return encoding === undefined || ['', 'identity'].includes(encoding.trim().toLowerCase());
}
