import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../clock.ts';
import { notFound, Problem } from '../../problems.ts';
import { AccountView } from '../../store/account-scope.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import type { RequestSlots } from '../server/request-slots.ts';
import { evaluatePreconditions, readPreconditions } from './respond.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account whose document is read by a capability URL; undefined for authenticated requests. */
    ownerAccountId?: number;
  }
}

/** The document at a capability URL, streamed in chunks. */
export type CapabilityDocument = {
  readonly accountId: number;
  /** ETag of the current version. */
  readonly etag: string;
  streamBody(view: AccountView): AsyncIterable<string | Buffer>;
};

/** A type of capability URL. The URL itself contains the secret, so requests need no key or cookie. */
export type CapabilityUrl = {
  /** The path prefix, such as `/calendar` for `/calendar/{file}`. */
  readonly pathPrefix: string;
  readonly mediaType: string;
  readonly downloadName: string;
  /** Finds a document; undefined for any invalid URL, so that a client cannot learn why the URL is invalid. */
  findDocument(queries: Queries, fileName: string, now: number): Promise<CapabilityDocument | undefined>;
};

type CapabilityUrlDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly rateLimits: Pick<RateLimits, 'countCall'>;
  readonly requestSlots: Pick<RequestSlots, 'acquireCalendarSlot'>;
};

/** Timeout for reading the whole document. After this time, the connection is closed. */
const DOCUMENT_TIMEOUT_MS = 5 * 60_000;

/** Response headers that forbid shared caching, framing, referrers and indexing. */
const DOCUMENT_HEADERS = {
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
};

/** Mounts a type of capability URL. The log contains the route, never the secret file name. */
export function mountCapabilityUrl(app: FastifyInstance, capabilityUrl: CapabilityUrl, deps: CapabilityUrlDeps): void {
  const { store, clock, rateLimits, requestSlots } = deps;
  app.get(`${capabilityUrl.pathPrefix}/:file`, async (request, reply) => {
    const { file } = request.params as { file: string };
    const now = clock.now();
    const document = await capabilityUrl.findDocument(store.read, file, now);
    if (document === undefined) throw notFound();
    request.ownerAccountId = document.accountId;
    rateLimits.countCall({ accountId: document.accountId, keyId: 0 }, 'reads', reply);
    reply.headers(DOCUMENT_HEADERS).header('etag', document.etag);
    const preconditions = readPreconditions(request.raw);
    const evaluation = preconditions === undefined ? 'holds' : evaluatePreconditions(preconditions, document.etag);
    if (evaluation === 'differs') throw new Problem('precondition_failed');
    if (evaluation === 'matched') return reply.code(304).send();
    requestSlots.acquireCalendarSlot(request, reply, document.accountId);
    reply
      .type(capabilityUrl.mediaType)
      .header('content-disposition', `inline; filename="${capabilityUrl.downloadName}"`);
    // Stream an empty body to omit Content-Length, because 0 would mean an empty document (RFC 9110, 8.6).
    if (request.method === 'HEAD') return reply.send(Readable.from([]));
    const cancelTimeout = clock.after(DOCUMENT_TIMEOUT_MS, () => reply.raw.destroy());
    reply.raw.once('close', cancelTimeout);
    return reply.send(
      Readable.from(document.streamBody(new AccountView(store.read, document.accountId, now)), { objectMode: false }),
    );
  });
}
