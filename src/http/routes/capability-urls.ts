import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../clock.ts';
import { notFound, Problem } from '../../problems.ts';
import { AccountView } from '../../store/account-scope.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import type { RequestSlots } from '../server/request-slots.ts';
import { evaluatePreconditions, preconditionsOf } from './etag.ts';

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
  body(view: AccountView): AsyncIterable<string | Buffer>;
};

/** Documents at capability URLs: the URL itself is the secret, and there is no key or cookie. */
export type CapabilityUrl = {
  /** The path prefix, such as `/calendar` for `/calendar/{file}`. */
  readonly pathPrefix: string;
  readonly type: string;
  readonly fileName: string;
  /** Finds a document; undefined for any invalid URL, so that a probe cannot tell the reasons apart. */
  find(read: Queries, file: string, now: number): Promise<CapabilityDocument | undefined>;
};

export type CapabilityUrlPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Pick<RateLimits, 'take'>;
  readonly requestSlots: Pick<RequestSlots, 'beginCalendar'>;
};

/** Time within which a client has to read the whole document; then its connection is closed. */
const RESPONSE_TIMEOUT_MS = 5 * 60_000;

/** Response headers that forbid shared caching, framing, referrers and indexing. */
const DOCUMENT_HEADERS = {
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
};

/** Mounts capability URLs. The log contains the route, never the secret file name. */
export function mountCapabilityUrl(app: FastifyInstance, url: CapabilityUrl, ports: CapabilityUrlPorts): void {
  const { store, clock, limits, requestSlots } = ports;
  app.get(`${url.pathPrefix}/:file`, async (request, reply) => {
    const { file } = request.params as { file: string };
    const now = clock.now();
    const document = await url.find(store.read, file, now);
    if (document === undefined) throw notFound();
    request.ownerAccountId = document.accountId;
    limits.take({ accountId: document.accountId, keyId: 0 }, 'reads', reply);
    reply.headers(DOCUMENT_HEADERS).header('etag', document.etag);
    const conditions = preconditionsOf(request.raw);
    const result = conditions === undefined ? 'holds' : evaluatePreconditions(conditions, document.etag);
    if (result === 'differs') throw new Problem('precondition_failed');
    if (result === 'matched') return reply.code(304).send();
    requestSlots.beginCalendar(request, reply, document.accountId);
    reply.type(url.type).header('content-disposition', `inline; filename="${url.fileName}"`);
    // Send no Content-Length, as in the streamed GET response: 0 would mean an empty document (RFC 9110, 8.6).
    if (request.method === 'HEAD') return reply.send(Readable.from([]));
    const cancel = clock.after(RESPONSE_TIMEOUT_MS, () => reply.raw.destroy());
    reply.raw.once('close', cancel);
    return reply.send(
      Readable.from(document.body(new AccountView(store.read, document.accountId, now)), { objectMode: false }),
    );
  });
}
