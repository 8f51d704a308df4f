import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The media type of its body, as it was sent; undefined where none is named. */
    bodyType: string | undefined;
  }
}

/**
 * Leaves bodies alone until a route asks for one: a response that needs none does not wait for it. The framework sees no
 * media type, since it would judge it before the route is known.
 */
export function leaveBodies(app: FastifyInstance): void {
  app.decorateRequest('bodyType', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw;
    if (headers['content-type'] !== undefined) {
      // An empty one names none.
      request.bodyType = headers['content-type'] || undefined;
      headers['content-type'] = undefined;
    }
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

/** Bodies are JSON in UTF-8, with or without a Content-Type (C4), and as they are: nothing is unpacked here. */
export function mustBeJson({ bodyType, headers }: Pick<FastifyRequest, 'bodyType' | 'headers'>): void {
  const coding = headers['content-encoding'];
  if (!isJson(bodyType) || !isPlain(coding)) throw new Problem('unsupported_media_type');
}

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return true;
  const [media = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (media !== 'application/json') return false;
  return parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter));
}

function isPlain(coding: string | undefined): boolean {
  return coding === undefined || ['', 'identity'].includes(coding.trim().toLowerCase());
}
