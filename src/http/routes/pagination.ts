import type { JsonSchema } from '../fields/field.ts';
import { burstDetector } from '../server/connection-burst.ts';
import type { QueryParameter } from './query-parameters.ts';

/** Maximum and default number of records of a page (limit of the specification). */
export const MAX_RECORDS_PER_PAGE = 1_000;

/**
 * The page that a request asks for. With a cursor in `after` (keyset pagination), the page begins after the record of
 * the cursor, and `offset` is only informative.
 */
export type PageRequest = { readonly offset: number; readonly limit: number; readonly after?: string | undefined };

/** Records of a page that are loaded together. */
export type PageSlice<Row> = {
  readonly rows: readonly Row[];
  /** Returns the cursor of the row at this index. A page that is requested with this cursor begins after the row. */
  readonly cursorAfter: (index: number) => string;
};

/** The slices of a page: all loaded, or loaded one after the other while they are iterated. */
type PageSlices<Row> = readonly PageSlice<Row>[] | AsyncIterable<PageSlice<Row>>;

/**
 * One page of a list, and the total number of records. Slices are loaded on demand, so that loading stops when the
 * response is full. `next` is the cursor for the next page, if there is one.
 */
export type Page<Row> = {
  readonly slices: PageSlices<Row>;
  /** Whether the page has more than one slice: it needs a permit before it is loaded (`createLargePageSemaphore`). */
  readonly isLarge?: boolean;
  /** Number of records on all pages. */
  readonly total: number;
  /** The cursor for the next page; undefined on the last page. */
  readonly next?: string | undefined;
};

/** The parameters of every list. A limit above MAX_RECORDS_PER_PAGE is clamped (C7). */
export const pagingParameters = {
  limit: {
    description: 'Maximum number of records to return; values above 1000 are treated as 1000.',
    schema: { type: 'integer', minimum: 1, default: MAX_RECORDS_PER_PAGE },
    errorMessage: 'must be a whole number of at least 1',
    parse(text) {
      const limit = parseWholeNumber(text);
      return limit === undefined || limit < 1 ? undefined : Math.min(limit, MAX_RECORDS_PER_PAGE);
    },
  },
  offset: {
    description: 'Number of records to skip.',
    schema: { type: 'integer', minimum: 0, default: 0 },
    errorMessage: 'must be a whole number of at least 0',
    parse: parseWholeNumber,
  },
  after: {
    description:
      'Cursor from the `Link` header of the previous page: the page begins right after the last record of that page, even if records were added or removed in the meantime.',
    schema: { type: 'string', minLength: 1, maxLength: 4_000 },
    errorMessage: 'must be a cursor from the Link header of a page',
    parse: (text) => (/^[\w-]{1,4000}$/.test(text) ? text : undefined),
  },
} as const satisfies Record<string, QueryParameter<number> | QueryParameter<string>>;

function parseWholeNumber(text: string): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  // A number beyond the safe integers is clamped like any other large number.
  return /^\d+$/.test(text) ? Number.MAX_SAFE_INTEGER : undefined;
}

/** Creates the schema of a list response. */
export function createListResponseSchema(recordSchema: JsonSchema): JsonSchema {
  const countSchema = { type: 'integer', minimum: 0 };
  return {
    type: 'object',
    required: ['paging', 'data'],
    properties: {
      paging: {
        title: 'Paging',
        type: 'object',
        required: ['offset', 'limit', 'total_records'],
        properties: {
          offset: countSchema,
          limit: { type: 'integer', minimum: 1, maximum: MAX_RECORDS_PER_PAGE },
          total_records: countSchema,
        },
      },
      data: { type: 'array', items: recordSchema },
    },
  };
}

/** Creates the schema of a response with one record. */
export function createRecordResponseSchema(recordSchema: JsonSchema): JsonSchema {
  return { type: 'object', required: ['data'], properties: { data: recordSchema } };
}

/** Maximum bytes of the long texts of one slice. A slice of a single record may have more bytes. */
export const MAX_SLICE_BYTES = 512 * 1024;
/** Maximum number of rows of one slice. */
export const MAX_SLICE_ROWS = 500;

/** Resolves in the next iteration of the event loop. */
export function waitForNextIteration(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Callbacks of the waiting slices, in order. While there are any, a call of `runNextSlice` is scheduled. */
const waitingSlices: (() => void)[] = [];

/**
 * Number of event-loop iterations per slice. Node accepts one connection per iteration. With a slice in each iteration,
 * a new connection would wait one slice for each connection that is queued before it.
 */
const ITERATIONS_PER_SLICE = 8;

/** Maximum time for which a burst of new connections delays a slice. */
const MAX_SLICE_DELAY_MS = 20;

let iterationIndex = 0;

/**
 * Resolves when the next slice of a response may be produced. SQLite queries and serialization block the event loop, so
 * each event-loop iteration runs at most one slice. Many long responses therefore delay a short response no more than
 * one long response does.
 */
export function waitForSliceTurn(): Promise<void> {
  return new Promise((resolve) => {
    waitingSlices.push(resolve);
    if (waitingSlices.length === 1) setImmediate(runNextSlice);
  });
}

function runNextSlice(): void {
  iterationIndex = (iterationIndex + 1) % ITERATIONS_PER_SLICE;
  if (iterationIndex !== 1) {
    setImmediate(runNextSlice);
    return;
  }
  burstDetector.runAfterBurst(MAX_SLICE_DELAY_MS, () => {
    waitingSlices.shift()?.();
    if (waitingSlices.length > 0) setImmediate(runNextSlice);
  });
}

/** Returns a page with each row converted. */
export function mapRows<Row, ResultRow>(page: Page<Row>, convert: (row: Row) => ResultRow): Page<ResultRow> {
  const { slices, ...rest } = page;
  if (areSlicesLoaded(slices))
    return { ...rest, slices: slices.map((slice) => ({ ...slice, rows: slice.rows.map(convert) })) };
  return expandRows(page, async function* (rows) {
    yield rows.map(convert);
  });
}

/**
 * Returns a page whose rows have additional data. A slice may become several slices.
 *
 * @param load returns the rows of a slice with their additional data, in the same order and in one or more parts
 */
export function expandRows<Row, ResultRow>(
  page: Page<Row>,
  load: (rows: readonly Row[]) => AsyncIterable<readonly ResultRow[]>,
): Page<ResultRow> {
  async function* expandSlices() {
    for await (const slice of page.slices) yield* splitSlice(slice, load(slice.rows));
  }
  return { ...page, slices: expandSlices() };
}

/** Replaces a slice by consecutive slices, one for each part of its rows. */
async function* splitSlice<ResultRow>(
  { cursorAfter }: PageSlice<unknown>,
  parts: AsyncIterable<readonly ResultRow[]>,
): AsyncGenerator<PageSlice<ResultRow>, void> {
  let nextIndex = 0;
  for await (const rows of parts) {
    const firstIndex = nextIndex;
    yield { rows, cursorAfter: (index) => cursorAfter(firstIndex + index) };
    nextIndex += rows.length;
  }
}

/**
 * Returns a page whose rows have additional data. A slice that is too large is split into halves until each part fits.
 * If the first slice is too large, the page is marked as large.
 *
 * @param load returns the rows with their additional data, in the same order; undefined if they are too large together.
 * A single row is never too large.
 */
export async function expandInHalves<Row, ResultRow>(
  page: Page<Row>,
  load: (rows: readonly Row[]) => Promise<readonly ResultRow[] | undefined>,
): Promise<Page<ResultRow>> {
  if (page.isLarge) return expandRows(page, (rows) => loadInHalves(rows, load));
  const sliceIterator = iterateSlices(page);
  const firstResult = await sliceIterator.next();
  if (firstResult.done === true) return { ...page, slices: [] };
  const loadedRows = await load(firstResult.value.rows);
  if (loadedRows !== undefined && areSlicesLoaded(page.slices))
    return { ...page, slices: [{ ...firstResult.value, rows: loadedRows }] };
  async function* expandSlices(slice: PageSlice<Row>) {
    yield* splitSlice(slice, loadedRows === undefined ? loadInHalves(slice.rows, load) : yieldOnce(loadedRows));
    for await (const nextSlice of sliceIterator) yield* splitSlice(nextSlice, loadInHalves(nextSlice.rows, load));
  }
  return { ...page, slices: expandSlices(firstResult.value), isLarge: loadedRows === undefined };
}

async function* yieldOnce<ResultRow>(rows: readonly ResultRow[]): AsyncGenerator<readonly ResultRow[], void> {
  yield rows;
}

export async function* iterateSlices<Row>({ slices }: Page<Row>): AsyncGenerator<PageSlice<Row>, void> {
  yield* slices;
}

async function* loadInHalves<Row, ResultRow>(
  rows: readonly Row[],
  load: (rows: readonly Row[]) => Promise<readonly ResultRow[] | undefined>,
): AsyncGenerator<readonly ResultRow[], void> {
  const loadedRows = await load(rows);
  if (loadedRows !== undefined) {
    yield loadedRows;
    return;
  }
  if (rows.length < 2) throw new Error('a single row must not be too large');
  await waitForSliceTurn();
  const middle = rows.length >> 1;
  yield* loadInHalves(rows.slice(0, middle), load);
  yield* loadInHalves(rows.slice(middle), load);
}

export function areSlicesLoaded<Row>(
  slices: PageSlices<Row>,
): slices is Exclude<PageSlices<Row>, AsyncIterable<unknown>> {
  return Array.isArray(slices);
}
