import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The `Content-Type` header as it was sent; undefined if it is missing or empty. */
    bodyType: string | undefined;
  }
}

/**
 * Disables Fastify's body parsing. Each route reads its body itself, so that a response that does not depend on the
 * body is sent before the body has arrived. Fastify's `bodyLimit` has no effect: `BodyReader` in `read-body.ts` limits
 * the size. The hook also hides the `Content-Type` header from Fastify, which would check the media type before the
 * route is known.
 */
export function disableBodyParsing(app: FastifyInstance): void {
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

/** Throws unless the headers declare uncompressed JSON in UTF-8. A missing `Content-Type` is accepted (C4). */
export function requireJson({ bodyType, headers }: Pick<FastifyRequest, 'bodyType' | 'headers'>): void {
  const contentEncoding = headers['content-encoding'];
  if (!isJson(bodyType) || !isUncompressed(contentEncoding)) throw new Problem('unsupported_media_type');
}

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return true;
  const [mediaType = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (mediaType !== 'application/json') return false;
  return parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter));
}

function isUncompressed(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || ['', 'identity'].includes(contentEncoding.trim().toLowerCase());
}
