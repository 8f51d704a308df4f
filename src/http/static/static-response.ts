import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A response with fixed bytes: gzip if the client accepts it, 304 if its ETag matches. */
export class StaticResponse {
  readonly #bytes: Buffer;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #etag: string;
  #compressed: Buffer | undefined;

  constructor(bytes: Buffer, headers: Readonly<Record<string, string>>) {
    this.#bytes = bytes;
    this.#etag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
    this.#headers = { 'x-content-type-options': 'nosniff', ...headers, etag: this.#etag, vary: 'accept-encoding' };
  }

  answer(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.headers(this.#headers);
    if (request.headers['if-none-match'] === this.#etag) return reply.code(304).send();
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(this.#bytes);
    this.#compressed ??= gzipSync(this.#bytes, { level: 9 });
    return reply.header('content-encoding', 'gzip').send(this.#compressed);
  }
}
