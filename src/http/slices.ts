import type { Page, Slices } from './paging.ts';

/** Bytes of stored text that are loaded at once. A single record may have more. */
export const MAX_SLICE_BYTES = 512 * 1024;

/** Lets the event loop serve others. A query on SQLite, and every computation, holds the loop until it ends. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
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
