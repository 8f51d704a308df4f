import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as it arrived; undefined if there was none. */
    sent: Uint8Array | undefined;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/**
 * Bodies are JSON in UTF-8, with or without a Content-Type (C4). An empty body is none; `__proto__` as a key is
 * refused, since no honest client writes it.
 */
export function takeJson(app: FastifyInstance): void {
  app.decorateRequest('sent', undefined);
  // An empty Content-Type names none.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers['content-type'] === '') delete request.headers['content-type'];
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    const { 'content-type': type, 'content-encoding': coding } = request.headers;
    if (!isJson(type) || !isPlain(coding)) throw new Problem('unsupported_media_type');
    request.sent = body;
    return body.length === 0 ? undefined : parse(body);
  });
}

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return true;
  const [media = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (media !== 'application/json') return false;
  return parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter));
}

/** Whether a body stands there as it is: nothing is unpacked here, and nobody is taken at another word than their own. */
function isPlain(coding: string | undefined): boolean {
  return coding === undefined || ['', 'identity'].includes(coding.trim().toLowerCase());
}

function parse(body: Buffer): unknown {
  try {
    const text = decoder.decode(body);
    return SUSPECT.test(text) ? JSON.parse(text, refuseProto) : JSON.parse(text);
  } catch (error) {
    throw error instanceof Problem ? error : new Problem('malformed_body');
  }
}

/** Could hold the key `__proto__`, plain or escaped; only then is every key looked at. */
const SUSPECT = /__proto__|\\u005f/i;

function refuseProto(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new Problem('malformed_body');
  return value;
}
