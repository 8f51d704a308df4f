import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../clock.ts';
import { notFound, Problem } from '../../problems.ts';
import { AccountView } from '../../store/account-scope.ts';
import type { Queries, Store } from '../../store/store.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import type { Work } from '../server/request-slots.ts';
import { conditionsOf, evaluatePreconditions } from './etag.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose document is read; undefined where somebody calls. */
    ownerAccountId?: number;
  }
}

/** What an address leads to: the state of it in a word, and its text, a piece at a time. */
export type CapabilityDocument = {
  readonly accountId: number;
  /** The same as before: whoever has it need not have it again. */
  readonly tag: string;
  body(view: AccountView): AsyncIterable<string | Buffer>;
};

/** Documents that programs read by an address which is the secret itself: there is no caller, no key and no cookie. */
export type CapabilityUrl = {
  /** Where they are: `/calendar` for `/calendar/{file}`. */
  readonly folder: string;
  readonly type: string;
  readonly fileName: string;
  /** Undefined for whatever is wrong with it, so that nothing can be probed. */
  find(read: Queries, file: string, now: number): Promise<CapabilityDocument | undefined>;
};

export type CapabilityUrlPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Pick<RateLimits, 'take'>;
  readonly work: Pick<Work, 'beginCalendar'>;
};

/** A reader who is not through by then is cut off. */
const RESPONSE_TIMEOUT_MS = 5 * 60_000;

/** What is nobody else's to keep, to show as a page, or to hear of where it came from. */
const HEADERS = {
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
};

/** Mounts addresses that open themselves. What the log has of a request is the route, and never the file. */
export function mountCapabilityUrl(app: FastifyInstance, row: CapabilityUrl, ports: CapabilityUrlPorts): void {
  const { store, clock, limits, work } = ports;
  app.get(`${row.folder}/:file`, async (request, reply) => {
    const { file } = request.params as { file: string };
    const now = clock.now();
    const found = await row.find(store.read, file, now);
    if (found === undefined) throw notFound();
    request.ownerAccountId = found.accountId;
    limits.take({ accountId: found.accountId, keyId: 0 }, 'reads', reply);
    reply.headers(HEADERS).header('etag', found.tag);
    const conditions = conditionsOf(request.raw);
    const verdict = conditions === undefined ? 'holds' : evaluatePreconditions(conditions, found.tag);
    if (verdict === 'differs') throw new Problem('precondition_failed');
    if (verdict === 'matched') return reply.code(304).send();
    work.beginCalendar(request, reply, found.accountId);
    reply.type(row.type).header('content-disposition', `inline; filename="${row.fileName}"`);
    // Without a length, as the answer itself has none: 0 would say that there is nothing (RFC 9110, 8.6).
    if (request.method === 'HEAD') return reply.send(Readable.from([]));
    const cancel = clock.after(RESPONSE_TIMEOUT_MS, () => reply.raw.destroy());
    reply.raw.once('close', cancel);
    return reply.send(
      Readable.from(found.body(new AccountView(store.read, found.accountId, now)), { objectMode: false }),
    );
  });
}
