import { connectionBurst } from '../server/connection-burst.ts';
import type { Page, PageSlice, PageSlices } from './pagination.ts';

/** Maximum bytes of the long texts of one slice. A single record may have more bytes. */
export const MAX_SLICE_BYTES = 512 * 1024;
/** Maximum number of rows of one slice. */
export const MAX_SLICE_ROWS = 500;

/** Resolves in the next iteration of the event loop. */
export function nextIteration(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Slices that wait for an event-loop iteration, in order. While the list is not empty, an iteration is scheduled. */
const waitingSlices: (() => void)[] = [];

/**
 * Number of event-loop iterations per slice. Node accepts one connection per iteration. With a slice in each iteration,
 * a new connection would wait one slice for each connection that is queued before it.
 */
const ITERATIONS_PER_SLICE = 8;

/** Maximum time for which a burst of new connections delays a slice. */
const MAX_BURST_DELAY_MS = 20;

let iteration = 0;

/**
 * Resolves when the next slice of a response may be produced. SQLite queries and serialization block the event
 * loop, so an iteration runs at most one slice: many long responses delay a short one no more than a single one
 * does.
 */
export function waitForNextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waitingSlices.push(resolve);
    if (waitingSlices.length === 1) setImmediate(runNextSlice);
  });
}

function runNextSlice(): void {
  iteration = (iteration + 1) % ITERATIONS_PER_SLICE;
  if (iteration !== 1) {
    setImmediate(runNextSlice);
    return;
  }
  connectionBurst.runAfterBurst(MAX_BURST_DELAY_MS, () => {
    waitingSlices.shift()?.();
    if (waitingSlices.length > 0) setImmediate(runNextSlice);
  });
}

/** Maps the rows of a page. */
export function mapRows<Row, Shown>(page: Page<Row>, convert: (row: Row) => Shown): Page<Shown> {
  const { slices, ...rest } = page;
  if (areSlicesLoaded(slices))
    return { ...rest, slices: slices.map((slice) => ({ ...slice, rows: slice.rows.map(convert) })) };
  return expandRows(page, async function* (rows) {
    yield rows.map(convert);
  });
}

/**
 * Returns a page with more data for each row, in as many slices as necessary.
 *
 * @param load returns every row of a slice with more data, in the same order
 */
export function expandRows<Row, Shown>(
  page: Page<Row>,
  load: (rows: readonly Row[]) => AsyncIterable<readonly Shown[]>,
): Page<Shown> {
  async function* expanded() {
    for await (const slice of page.slices) yield* splitSlice(slice, load(slice.rows));
  }
  return { ...page, slices: expanded() };
}

/** Splits a slice into consecutive parts. */
async function* splitSlice<Shown>(
  { cursorAfter }: PageSlice<unknown>,
  parts: AsyncIterable<readonly Shown[]>,
): AsyncGenerator<PageSlice<Shown>, void> {
  let begin = 0;
  for await (const rows of parts) {
    const first = begin;
    yield { rows, cursorAfter: (index) => cursorAfter(first + index) };
    begin += rows.length;
  }
}

/**
 * Returns a page with more data for each row. A slice that is too large is split into halves until each part fits. If
 * the first slice is too large, the page is marked as large.
 *
 * @param load returns every row with more data, in the same order; undefined if the rows are too large together, which
 * is never the case for a single row
 */
export async function expandInHalves<Row, Shown>(
  page: Page<Row>,
  load: (rows: readonly Row[]) => Promise<readonly Shown[] | undefined>,
): Promise<Page<Shown>> {
  if (page.isLarge) return expandRows(page, (rows) => loadInHalves(rows, load));
  const source = slicesOf(page);
  const first = await source.next();
  if (first.done === true) return { ...page, slices: [] };
  const loaded = await load(first.value.rows);
  if (loaded !== undefined && areSlicesLoaded(page.slices))
    return { ...page, slices: [{ ...first.value, rows: loaded }] };
  async function* expanded(slice: PageSlice<Row>) {
    yield* splitSlice(slice, loaded === undefined ? loadInHalves(slice.rows, load) : yieldOnce(loaded));
    for await (const next of source) yield* splitSlice(next, loadInHalves(next.rows, load));
  }
  return { ...page, slices: expanded(first.value), isLarge: loaded === undefined };
}

async function* yieldOnce<Shown>(rows: readonly Shown[]): AsyncGenerator<readonly Shown[], void> {
  yield rows;
}

export async function* slicesOf<Row>({ slices }: Page<Row>): AsyncGenerator<PageSlice<Row>, void> {
  yield* slices;
}

async function* loadInHalves<Row, Shown>(
  rows: readonly Row[],
  load: (rows: readonly Row[]) => Promise<readonly Shown[] | undefined>,
): AsyncGenerator<readonly Shown[], void> {
  const loaded = await load(rows);
  if (loaded !== undefined) {
    yield loaded;
    return;
  }
  if (rows.length < 2) throw new Error('a single row must not be too large');
  await waitForNextSlice();
  const middle = rows.length >> 1;
  yield* loadInHalves(rows.slice(0, middle), load);
  yield* loadInHalves(rows.slice(middle), load);
}

export function areSlicesLoaded<Row>(
  slices: PageSlices<Row>,
): slices is Exclude<PageSlices<Row>, AsyncIterable<unknown>> {
  return Array.isArray(slices);
}
