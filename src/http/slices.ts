import type { Page, Slices } from './paging.ts';

/** Bytes of stored text that are loaded at once. A single record may have more. */
export const MAX_SLICE_BYTES = 512 * 1024;

/** Resolves in the next iteration of the event loop. */
export function nextIteration(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The slices that wait for their iteration, in order. While there are any, the next iteration is scheduled. */
const waiting: (() => void)[] = [];

/**
 * Resolves when the next slice of a response may be made. A query on SQLite, and every computation, holds the event loop
 * until it ends, so each iteration runs one slice: many long responses delay a short one no more than one does.
 */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(runNextSlice);
  });
}

function runNextSlice(): void {
  waiting.shift()?.();
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
    for await (const { rows, cursorAfter } of page.slices) {
      let begin = 0;
      for await (const some of load(rows)) {
        const first = begin;
        yield { rows: some, cursorAfter: (index: number) => cursorAfter(first + index) };
        begin += some.length;
      }
    }
  }
  return { ...page, slices: expanded() };
}

export function isLoaded<Row>(slices: Slices<Row>): slices is Exclude<Slices<Row>, AsyncIterable<unknown>> {
  return Array.isArray(slices);
}
