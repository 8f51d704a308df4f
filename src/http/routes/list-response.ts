import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LargePages } from './large-page-slots.ts';
import { isLoaded, nextSlice, slicesOf } from './page-slices.ts';
import type { Page, Paging, Slice } from './pagination.ts';

/** The most bytes of one page. A page of a single record may be larger. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Room for what stands around the records. */
const MAX_ENVELOPE_BYTES = 256;

/** Bytes that are written in one turn of the event loop. */
const MAX_TURN_BYTES = 512 * 1024;

/** A page that has grown beyond this many bytes waits for a slot before it loads more. */
const LARGE_BYTES = 1024 * 1024;

/** Records that are written at once with the loading of the first slice. */
const MAX_PROMPT_ROWS = 100;

/** A page of a list whose first slice is loaded, unless it is large: then nothing is. */
export type Listing = {
  readonly page: Page<object>;
  readonly paging: Paging;
  readonly present: (row: object) => unknown;
  readonly first: IteratorResult<Slice<object>, unknown> | undefined;
  readonly rest: AsyncGenerator<Slice<object>, unknown>;
};

/** A page as it is sent, and what the page behind it is asked for with. */
export type WrittenPage = { readonly body: string | Buffer; readonly next: Paging | undefined };

/** Loads the first slice of a page: most pages are complete with it. */
export async function beginListing<Row extends object>(
  page: Page<Row>,
  paging: Paging,
  present: (row: Row) => unknown,
): Promise<Listing> {
  const rest = slicesOf(page);
  const first = page.isLarge ? undefined : await rest.next();
  return { page, paging, present: present as Listing['present'], first, rest };
}

/** Whose page it is, the slots for large pages, and whether the caller has gone away. */
export type WritePorts = {
  readonly accountId: number;
  readonly largePages: Pick<LargePages, 'enter'>;
  readonly isGone: () => boolean;
  /** Whether the caller reads what it is sent; otherwise there is no room for one more page. */
  readonly hasRoom: () => boolean;
  /** Throws the problem of a caller for whom there is no room. */
  readonly mustHaveRoom: () => void;
};

/**
 * Writes a page as JSON. The page ends before the record that would make it larger than `MAX_PAGE_BYTES`: its `limit` is
 * then the number of its records, and the next page begins behind the last of them.
 */
export async function writeListing(listing: Listing, ports: WritePorts): Promise<WrittenPage> {
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
      if (writer.count > 0 || read.value.rows.length > MAX_PROMPT_ROWS) await nextSlice();
      await writer.add(read.value, present);
      if (writer.isFull || isGone()) break;
      if (writer.bytes <= LARGE_BYTES) continue;
      if (!isLoaded(page.slices)) leave ??= await enter();
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

/** Answers a written page. `list` is the address of its list. */
export function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, next }: WrittenPage,
  list: string,
): FastifyReply {
  // The request was given up and answered meanwhile.
  if (reply.sent) return reply;
  if (next !== undefined) reply.header('link', `<${linkTo(request, list, next)}>; rel="next"`);
  return reply.code(200).type('application/json; charset=utf-8').send(body);
}

/** C7: the address of the next page. No list has an id in its path. */
function linkTo(request: FastifyRequest, list: string, { offset, limit, after = '' }: Paging): string {
  const [, query = ''] = /\?(.*)$/s.exec(request.url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('offset', String(offset));
  parameters.set('limit', String(limit));
  parameters.set('after', after);
  return `${list}?${parameters}`;
}

/** Puts the texts of records together, as long as there is room for them. */
class PageWriter {
  /** There was no room for a record. */
  isFull = false;
  bytes = MAX_ENVELOPE_BYTES;
  count = 0;
  /** What has been written since the last turn of the event loop. */
  #texts: string[] = [];
  #textBytes = 0;
  readonly #written: Buffer[] = [];
  #last: { readonly slice: Slice<object>; readonly index: number } | undefined;

  /** What a page begins `after` that goes on behind this one. */
  get cursor(): string | undefined {
    return this.#last?.slice.cursorAfter(this.#last.index);
  }

  async add(slice: Slice<object>, present: Listing['present']): Promise<void> {
    for (const [index, row] of slice.rows.entries()) {
      const text = JSON.stringify(present(row));
      const bytes = Buffer.byteLength(text) + 1;
      this.isFull = this.count > 0 && this.bytes + bytes > MAX_PAGE_BYTES;
      if (this.isFull) return;
      this.#texts.push(text);
      this.#textBytes += bytes;
      this.bytes += bytes;
      this.count += 1;
      this.#last = { slice, index };
      if (this.#textBytes < MAX_TURN_BYTES) continue;
      this.#flush();
      await nextSlice();
    }
  }

  /** A page of one turn stays a text. A large page becomes bytes as it grows: its texts can be collected. */
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
