import type { Page, Slice, Slices } from './pagination.ts';

/** Bytes of long texts, and rows, that are loaded at once. A single record may have more. */
export const MAX_SLICE_BYTES = 512 * 1024;
export const MAX_SLICE_ROWS = 500;

/** Resolves in the next iteration of the event loop. */
export function nextIteration(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The slices that wait for their iteration, in order. While there are any, the next iteration is scheduled. */
const waiting: (() => void)[] = [];

/**
 * The iterations for each slice. Only one connection is accepted in each: with a slice in every one of them, newcomers
 * would wait for as many slices as there are connections before theirs.
 */
const ITERATIONS_PER_SLICE = 8;
let iteration = 0;

/**
 * Resolves when the next slice of a response may be made. A query on SQLite, and every computation, holds the event loop
 * until it ends, so an iteration runs at most one slice: many long responses delay a short one no more than one does.
 */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(runNextSlice);
  });
}

function runNextSlice(): void {
  iteration = (iteration + 1) % ITERATIONS_PER_SLICE;
  if (iteration === 1) waiting.shift()?.();
  if (waiting.length > 0) setImmediate(runNextSlice);
}

/** The same page with each row converted. */
export function mapRows<Row, Shown>(page: Page<Row>, convert: (row: Row) => Shown): Page<Shown> {
  const { slices, ...rest } = page;
  if (isLoaded(slices))
    return { ...rest, slices: slices.map((slice) => ({ ...slice, rows: slice.rows.map(convert) })) };
  return expandRows(page, async function* (rows) {
    yield rows.map(convert);
  });
}

/**
 * The same page with more loaded for each row, in as many slices as that takes.
 *
 * @param load gives every row of a slice back, in the same order
 */
export function expandRows<Row, Shown>(
  page: Page<Row>,
  load: (rows: readonly Row[]) => AsyncIterable<readonly Shown[]>,
): Page<Shown> {
  async function* expanded() {
    for await (const slice of page.slices) yield* partsOf(slice, load(slice.rows));
  }
  return { ...page, slices: expanded() };
}

/** The rows of a slice, in parts that follow each other. */
async function* partsOf<Shown>(
  { cursorAfter }: Slice<unknown>,
  parts: AsyncIterable<readonly Shown[]>,
): AsyncGenerator<Slice<Shown>, void> {
  let begin = 0;
  for await (const rows of parts) {
    const first = begin;
    yield { rows, cursorAfter: (index) => cursorAfter(first + index) };
    begin += rows.length;
  }
}

/**
 * The same page with more loaded for each row: for all rows of a slice together, or for each half of them where that is
 * too much. Where it is too much for the first slice, the page is large.
 *
 * @param load gives every row back, in the same order; undefined where that is too much, and never for a single row
 */
export async function expandInHalves<Row, Shown>(
  page: Page<Row>,
  load: (rows: readonly Row[]) => Promise<readonly Shown[] | undefined>,
): Promise<Page<Shown>> {
  if (page.isLarge) return expandRows(page, (rows) => inHalves(rows, load));
  const source = slicesOf(page);
  const first = await source.next();
  if (first.done === true) return { ...page, slices: [] };
  const loaded = await load(first.value.rows);
  if (loaded !== undefined && isLoaded(page.slices)) return { ...page, slices: [{ ...first.value, rows: loaded }] };
  async function* expanded(slice: Slice<Row>) {
    yield* partsOf(slice, loaded === undefined ? inHalves(slice.rows, load) : only(loaded));
    for await (const next of source) yield* partsOf(next, inHalves(next.rows, load));
  }
  return { ...page, slices: expanded(first.value), isLarge: loaded === undefined };
}

async function* only<Shown>(rows: readonly Shown[]): AsyncGenerator<readonly Shown[], void> {
  yield rows;
}

export async function* slicesOf<Row>({ slices }: Page<Row>): AsyncGenerator<Slice<Row>, void> {
  yield* slices;
}

async function* inHalves<Row, Shown>(
  rows: readonly Row[],
  load: (rows: readonly Row[]) => Promise<readonly Shown[] | undefined>,
): AsyncGenerator<readonly Shown[], void> {
  const loaded = await load(rows);
  if (loaded !== undefined) {
    yield loaded;
    return;
  }
  if (rows.length < 2) throw new Error('a single row is never too much');
  await nextSlice();
  const middle = rows.length >> 1;
  yield* inHalves(rows.slice(0, middle), load);
  yield* inHalves(rows.slice(middle), load);
}

export function isLoaded<Row>(slices: Slices<Row>): slices is Exclude<Slices<Row>, AsyncIterable<unknown>> {
  return Array.isArray(slices);
}
