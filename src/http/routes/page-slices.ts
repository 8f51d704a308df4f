import { burstDetector } from '../server/connection-burst.ts';
import type { Page, PageSlice, PageSlices } from './pagination.ts';

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
