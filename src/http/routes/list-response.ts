import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LargePageSlots } from './large-page-slots.ts';
import { areSlicesLoaded, slicesOf, waitForNextSlice } from './page-slices.ts';
import type { Page, PageRequest, PageSlice } from './pagination.ts';

/** Maximum size of a page. A page of a single record may be larger. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Maximum size of the JSON around the records of a page. */
const MAX_ENVELOPE_BYTES = 256;

/** Maximum number of bytes that are serialized in one event-loop iteration. */
const MAX_ITERATION_BYTES = 512 * 1024;

/** A page with more bytes than this waits for a slot before it loads another slice. */
const LARGE_PAGE_BYTES = 1024 * 1024;

/** Maximum number of records that are serialized in the same event-loop iteration in which their slice was loaded. */
const MAX_IMMEDIATE_ROWS = 100;

/** A page of which only the first slice is loaded, or nothing if the page is large. */
export type PendingPage = {
  readonly page: Page<object>;
  readonly paging: PageRequest;
  readonly present: (row: object) => unknown;
  readonly first: IteratorResult<PageSlice<object>, unknown> | undefined;
  readonly rest: AsyncGenerator<PageSlice<object>, unknown>;
};

/** A serialized page, and the paging parameters of the next page, if there is one. */
export type SerializedPage = { readonly body: string | Buffer; readonly next: PageRequest | undefined };

/** Loads the first slice of a page, unless the page is large. Most pages have no other slice. */
export async function loadFirstSlice<Row extends object>(
  page: Page<Row>,
  paging: PageRequest,
  present: (row: Row) => unknown,
): Promise<PendingPage> {
  const rest = slicesOf(page);
  const first = page.isLarge ? undefined : await rest.next();
  return { page, paging, present: present as PendingPage['present'], first, rest };
}

export type SerializePagePorts = {
  readonly accountId: number;
  readonly largePages: Pick<LargePageSlots, 'enter'>;
  /** Whether the client has disconnected or the request was answered. */
  readonly isGone: () => boolean;
  /** Whether the caller's unread responses leave room for another page. */
  readonly hasRoom: () => boolean;
  /** Throws `overloaded` if the caller's unread responses leave no room for another page. */
  readonly mustHaveRoom: () => void;
};

/**
 * Serializes a page to JSON. The page ends before the record that would make it larger than `MAX_PAGE_BYTES`.
 * Its `limit` is then the number of its records, and the next page begins after the last of them.
 */
export async function serializePage(listing: PendingPage, ports: SerializePagePorts): Promise<SerializedPage> {
  const { page, paging, present, rest } = listing;
  const { accountId, largePages, isGone, hasRoom, mustHaveRoom } = ports;
  const writer = new PageWriter();
  const enter = () => largePages.enter(accountId, () => isGone() || !hasRoom());
  let leave: (() => void) | undefined;
  try {
    if (page.isLarge) {
      leave = await enter();
      mustHaveRoom();
    }
    for (let read = listing.first ?? (await rest.next()); read.done !== true; read = await rest.next()) {
      if (writer.count > 0 || read.value.rows.length > MAX_IMMEDIATE_ROWS) await waitForNextSlice();
      await writer.add(read.value, present);
      if (writer.isFull || isGone()) break;
      if (writer.bytes <= LARGE_PAGE_BYTES) continue;
      if (!areSlicesLoaded(page.slices)) leave ??= await enter();
      mustHaveRoom();
    }
  } finally {
    leave?.();
    await rest.return(undefined);
  }
  const { offset } = paging;
  const limit = writer.isFull ? writer.count : paging.limit;
  const after = writer.isFull ? writer.cursor : page.next;
  const envelope = JSON.stringify({ offset, limit, total_records: page.total });
  return {
    body: writer.end(`{"paging":${envelope},"data":[`, ']}'),
    next: after === undefined ? undefined : { offset: offset + limit, limit: paging.limit, after },
  };
}

/** Sends a page. `listUrl` is the URL of the list without a query. */
export function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, next }: SerializedPage,
  listUrl: string,
): FastifyReply {
  // The request timeout may have sent a response already.
  if (reply.sent) return reply;
  if (next !== undefined) reply.header('link', `<${nextPageUrl(request, listUrl, next)}>; rel="next"`);
  return reply.code(200).type('application/json; charset=utf-8').send(body);
}

/** Returns the URL of the next page (C7). The URL of a list needs no ids, because no list has an id in its path. */
function nextPageUrl(request: FastifyRequest, listUrl: string, { offset, limit, after = '' }: PageRequest): string {
  const [, query = ''] = /\?(.*)$/s.exec(request.url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('offset', String(offset));
  parameters.set('limit', String(limit));
  parameters.set('after', after);
  return `${listUrl}?${parameters}`;
}

/** Collects serialized records up to MAX_PAGE_BYTES. */
class PageWriter {
  /** Whether the page is complete because another record did not fit. */
  isFull = false;
  bytes = MAX_ENVELOPE_BYTES;
  count = 0;
  /** Serialized records that are not encoded to bytes yet. */
  #texts: string[] = [];
  #textBytes = 0;
  readonly #written: Buffer[] = [];
  #lastRecord: { readonly slice: PageSlice<object>; readonly index: number } | undefined;

  /** The cursor of the last record, after which the next page begins. */
  get cursor(): string | undefined {
    return this.#lastRecord?.slice.cursorAfter(this.#lastRecord.index);
  }

  async add(slice: PageSlice<object>, present: PendingPage['present']): Promise<void> {
    for (const [index, row] of slice.rows.entries()) {
      const text = JSON.stringify(present(row));
      const bytes = Buffer.byteLength(text) + 1;
      this.isFull = this.count > 0 && this.bytes + bytes > MAX_PAGE_BYTES;
      if (this.isFull) return;
      this.#texts.push(text);
      this.#textBytes += bytes;
      this.bytes += bytes;
      this.count += 1;
      this.#lastRecord = { slice, index };
      if (this.#textBytes < MAX_ITERATION_BYTES) continue;
      this.#flush();
      await waitForNextSlice();
    }
  }

  /**
   * Returns the whole page. A small page stays a string; a large page is encoded as it grows, so that its strings can
   * be garbage-collected.
   */
  end(head: string, tail: string): string | Buffer {
    if (this.#written.length === 0) return `${head}${this.#texts.join(',')}${tail}`;
    this.#flush();
    const all = this.#written.flatMap((part, index) => (index === 0 ? [part] : [COMMA, part]));
    return Buffer.concat([Buffer.from(head), ...all, Buffer.from(tail)]);
  }

  #flush(): void {
    if (this.#texts.length > 0) this.#written.push(Buffer.from(this.#texts.join(',')));
    this.#texts = [];
    this.#textBytes = 0;
  }
}

const COMMA = Buffer.from(',');
