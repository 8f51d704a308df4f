import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Pages may load files only from this service, and send requests only to this service. Only the calendar component may
 * turn text into HTML, through its own Trusted Types policy.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types svelte-trusted-html',
].join('; ');

const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

/** Matches files whose name contains a hash of their content, so that they can be cached forever. */
const HASHED_FILE_PATTERN = /^assets\/.*-[\w-]{8}\.\w+$/;

/** The built console, held in memory. Files are served by exact name, so path traversal is impossible. */
export class ConsoleFiles {
  readonly #filesByName: ReadonlyMap<string, StaticResponse>;

  private constructor(files: ReadonlyMap<string, StaticResponse>) {
    this.#filesByName = files;
  }

  /** Reads the build output; undefined if the console was not built. */
  static read(folder: string): ConsoleFiles | undefined {
    if (!existsSync(join(folder, 'index.html'))) return undefined;
    const fileNames = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
      name.replaceAll('\\', '/'),
    );
    const servedNames = fileNames.filter((name) => MEDIA_TYPES[extname(name)] !== undefined);
    return new ConsoleFiles(
      new Map(servedNames.map((name) => [name, createStaticResponse(name, readFileSync(join(folder, name)))])),
    );
  }

  /** Adds a route for each file except the index, which `addKeylessRoutes` serves at `/`. */
  addFileRoutes(app: FastifyInstance): void {
    for (const [name, file] of this.#filesByName) {
      if (name !== 'index.html') app.get(`/${name}`, (request, reply) => file.send(request, reply));
    }
  }

  sendIndex(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const file = this.#filesByName.get('index.html');
    if (file === undefined) throw new Error('index.html is missing');
    return file.send(request, reply);
  }
}

function createStaticResponse(name: string, bytes: Buffer): StaticResponse {
  return new StaticResponse(bytes, {
    ...PAGE_HEADERS,
    'content-type': MEDIA_TYPES[extname(name)] ?? 'application/octet-stream',
    'cache-control': HASHED_FILE_PATTERN.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
}

/** A response with fixed bytes: gzip if the client accepts it, 304 if its ETag matches. */
export class StaticResponse {
  readonly #bytes: Buffer;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #etag: string;
  #gzippedBytes: Buffer | undefined;

  constructor(bytes: Buffer, headers: Readonly<Record<string, string>>) {
    this.#bytes = bytes;
    this.#etag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
    this.#headers = { 'x-content-type-options': 'nosniff', ...headers, etag: this.#etag, vary: 'accept-encoding' };
  }

  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.headers(this.#headers);
    if (request.headers['if-none-match'] === this.#etag) return reply.code(304).send();
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(this.#bytes);
    this.#gzippedBytes ??= gzipSync(this.#bytes, { level: 9 });
    return reply.header('content-encoding', 'gzip').send(this.#gzippedBytes);
  }
}
