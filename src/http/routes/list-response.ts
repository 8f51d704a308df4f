import { FairSemaphore } from '../../async/fair-semaphore.ts';
import type { Clock } from '../../clock.ts';
import {
  areSlicesLoaded,
  iterateSlices,
  type Page,
  type PageRequest,
  type PageSlice,
  waitForSliceTurn,
} from './pagination.ts';

/** Maximum size of a page. A page of a single record may be larger. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Maximum time that a request waits before it loads a large page. */
const MAX_LARGE_PAGE_WAIT_MS = 10_000;

/** Maximum size of the JSON around the records of a page. */
const MAX_ENVELOPE_BYTES = 256;

/** Maximum number of bytes that are serialized in one event-loop iteration. */
const MAX_ITERATION_BYTES = 512 * 1024;

/** A page with more bytes than this waits for a slot before it loads another slice. */
const LARGE_PAGE_BYTES = 1024 * 1024;

/** Maximum number of records that are serialized in the same event-loop iteration in which their slice was loaded. */
const MAX_IMMEDIATE_ROWS = 100;

/** A page of which only the first slice is loaded, or no slice if the page is large. */
export type PendingPage = {
  readonly page: Page<object>;
  readonly pageRequest: PageRequest;
  readonly serializeRow: (row: object) => unknown;
  readonly firstSlice: IteratorResult<PageSlice<object>, unknown> | undefined;
  readonly remainingSlices: AsyncGenerator<PageSlice<object>, unknown>;
};

/** A serialized page, and the paging parameters of the next page, if there is one. */
export type SerializedPage = { readonly body: string | Buffer; readonly nextPageRequest: PageRequest | undefined };

/** Loads the first slice of a page, unless the page is large. Most pages have only one slice. */
export async function loadFirstSlice<Row extends object>(
  page: Page<Row>,
  pageRequest: PageRequest,
  serializeRow: (row: Row) => unknown,
): Promise<PendingPage> {
  const remainingSlices = iterateSlices(page);
  const firstSlice = page.isLarge ? undefined : await remainingSlices.next();
  return {
    page,
    pageRequest,
    serializeRow: serializeRow as PendingPage['serializeRow'],
    firstSlice,
    remainingSlices,
  };
}

/**
 * Creates the semaphore for loading large pages. Its groups are accounts. A large page has more than one slice and
 * occupies megabytes until it is complete.
 */
export const createLargePageSemaphore = (clock: Pick<Clock, 'monotonic'>) =>
  new FairSemaphore<number>({
    maxActive: 4,
    maxActivePerGroup: 2,
    timeout: { maxWaitMs: MAX_LARGE_PAGE_WAIT_MS, clock },
  });

export type SerializePageDeps = {
  readonly accountId: number;
  /** Limits the large pages that are loaded concurrently, by account. */
  readonly largePageSemaphore: Pick<FairSemaphore<number>, 'acquire'>;
  /** Whether the client has disconnected or the request was answered. */
  readonly isRequestOver: () => boolean;
  /** The quota of the caller's unread responses. `requireCapacity` throws `overloaded`. */
  readonly responseCapacity: { hasCapacity(): boolean; requireCapacity(): void };
};

/**
 * Serializes a page to JSON. The page ends before the record that would make it larger than `MAX_PAGE_BYTES`. In this
 * case, `limit` in the response is the number of records in the page, and the next page begins after the last of them.
 */
export async function serializePage(pendingPage: PendingPage, deps: SerializePageDeps): Promise<SerializedPage> {
  const { page, pageRequest, serializeRow, remainingSlices } = pendingPage;
  const { accountId, largePageSemaphore, isRequestOver, responseCapacity } = deps;
  const pageWriter = new PageWriter();
  const isAbandoned = () => isRequestOver() || !responseCapacity.hasCapacity();
  const acquirePermit = () => largePageSemaphore.acquire(accountId, isAbandoned);
  let releasePermit: (() => void) | undefined;
  try {
    if (page.isLarge) {
      releasePermit = await acquirePermit();
      responseCapacity.requireCapacity();
    }
    for (
      let sliceResult = pendingPage.firstSlice ?? (await remainingSlices.next());
      sliceResult.done !== true;
      sliceResult = await remainingSlices.next()
    ) {
      if (pageWriter.recordCount > 0 || sliceResult.value.rows.length > MAX_IMMEDIATE_ROWS) await waitForSliceTurn();
      await pageWriter.addSlice(sliceResult.value, serializeRow);
      if (pageWriter.isFull || isRequestOver()) break;
      if (pageWriter.pageBytes <= LARGE_PAGE_BYTES) continue;
      if (!areSlicesLoaded(page.slices)) releasePermit ??= await acquirePermit();
      responseCapacity.requireCapacity();
    }
  } finally {
    releasePermit?.();
    await remainingSlices.return(undefined);
  }
  const { offset } = pageRequest;
  const limit = pageWriter.isFull ? pageWriter.recordCount : pageRequest.limit;
  const nextCursor = pageWriter.isFull ? pageWriter.lastCursor : page.next;
  const pagingJson = JSON.stringify({ offset, limit, total_records: page.total });
  return {
    body: pageWriter.finish(`{"paging":${pagingJson},"data":[`, ']}'),
    nextPageRequest:
      nextCursor === undefined ? undefined : { offset: offset + limit, limit: pageRequest.limit, after: nextCursor },
  };
}

/** Collects serialized records up to MAX_PAGE_BYTES. */
class PageWriter {
  /** Whether the page is complete because another record did not fit. */
  isFull = false;
  pageBytes = MAX_ENVELOPE_BYTES;
  recordCount = 0;
  /** Serialized records that are not encoded to bytes yet. */
  #recordTexts: string[] = [];
  #textBytes = 0;
  readonly #encodedParts: Buffer[] = [];
  #lastRecord: { readonly slice: PageSlice<object>; readonly index: number } | undefined;

  /** The cursor of the last record, after which the next page begins. */
  get lastCursor(): string | undefined {
    return this.#lastRecord?.slice.cursorAfter(this.#lastRecord.index);
  }

  async addSlice(slice: PageSlice<object>, serializeRow: PendingPage['serializeRow']): Promise<void> {
    for (const [index, row] of slice.rows.entries()) {
      const recordText = JSON.stringify(serializeRow(row));
      const recordBytes = Buffer.byteLength(recordText) + 1;
      this.isFull = this.recordCount > 0 && this.pageBytes + recordBytes > MAX_PAGE_BYTES;
      if (this.isFull) return;
      this.#recordTexts.push(recordText);
      this.#textBytes += recordBytes;
      this.pageBytes += recordBytes;
      this.recordCount += 1;
      this.#lastRecord = { slice, index };
      if (this.#textBytes < MAX_ITERATION_BYTES) continue;
      this.#encodeTexts();
      await waitForSliceTurn();
    }
  }

  /**
   * Returns the whole page. A small page stays a string; a large page is encoded as it grows, so that its strings can
   * be garbage-collected.
   */
  finish(head: string, tail: string): string | Buffer {
    if (this.#encodedParts.length === 0) return `${head}${this.#recordTexts.join(',')}${tail}`;
    this.#encodeTexts();
    const separatedParts = this.#encodedParts.flatMap((part, index) => (index === 0 ? [part] : [COMMA, part]));
    return Buffer.concat([Buffer.from(head), ...separatedParts, Buffer.from(tail)]);
  }

  #encodeTexts(): void {
    if (this.#recordTexts.length > 0) this.#encodedParts.push(Buffer.from(this.#recordTexts.join(',')));
    this.#recordTexts = [];
    this.#textBytes = 0;
  }
}

const COMMA = Buffer.from(',');
