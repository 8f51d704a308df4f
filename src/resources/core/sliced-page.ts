import { type RawBuilder, sql } from 'kysely';
import { MAX_SLICE_BYTES, MAX_SLICE_ROWS, type Page, type PageSlice } from '../../http/routes/pagination.ts';
import { encodePageCursor, type ListOrder } from './sorting.ts';

/** Sort key of a record, including its id, and the size of its long texts in bytes. */
export type SizedKey = Readonly<Record<string, unknown>> & { readonly size: number };

/** SQL for the total size of text columns in bytes. The database computes the size without reading the texts. */
export const totalByteLengthSql = (columns: readonly string[]): RawBuilder<number> =>
  sql<number>`${sql.join(
    columns.map((column) => sql`octet_length(${sql.ref(column)})`),
    sql` + `,
  )}`;

/**
 * Loads the records of a page in slices, by keys that one query has found. The keys fix the contents and the order of
 * the page: a record that changes its place in the list meanwhile is neither missed nor returned twice. A deleted
 * record is left out.
 *
 * @param keys the keys of the page's records, plus one more if there is a next page
 * @param loadRecords loads records by id, in any order
 */
export function createSlicedPage<Row extends object>(
  keys: readonly SizedKey[],
  { order, limit, idColumnName }: { readonly order: ListOrder; readonly limit: number; readonly idColumnName: string },
  loadRecords: (ids: readonly number[]) => Promise<readonly Row[]>,
): Omit<Page<Row>, 'total'> {
  const pageKeys = keys.slice(0, limit);
  const lastKey = pageKeys.at(-1);
  const idOf = (row: object) => Number(Reflect.get(row, idColumnName));
  async function loadSlice(sliceKeys: readonly SizedKey[]): Promise<PageSlice<Row>> {
    const rowsById = new Map((await loadRecords(sliceKeys.map(idOf))).map((row) => [idOf(row), row]));
    const foundRecords = sliceKeys.flatMap((key) => {
      const row = rowsById.get(idOf(key));
      return row === undefined ? [] : [{ key, row }];
    });
    return {
      rows: foundRecords.map(({ row }) => row),
      cursorAfter: (index) => encodePageCursor(order, foundRecords[index]?.key ?? {}),
    };
  }
  async function* generateSlices() {
    for (const sliceKeys of splitBySize(pageKeys)) yield await loadSlice(sliceKeys);
  }
  const totalBytes = pageKeys.reduce((sum, { size }) => sum + size, 0);
  return {
    slices: generateSlices(),
    isLarge: totalBytes > MAX_SLICE_BYTES,
    next: lastKey !== undefined && keys.length > limit ? encodePageCursor(order, lastKey) : undefined,
  };
}

/** Splits records into slices of at most MAX_SLICE_ROWS rows and MAX_SLICE_BYTES bytes, at least one row in each. */
export function splitBySize<Sized extends { readonly size: number }>(
  items: readonly Sized[],
): readonly (readonly Sized[])[] {
  const slices: Sized[][] = [];
  let remainingBytes = 0;
  for (const item of items) {
    const lastSlice = slices.at(-1);
    if (lastSlice !== undefined && item.size <= remainingBytes && lastSlice.length < MAX_SLICE_ROWS) {
      lastSlice.push(item);
      remainingBytes -= item.size;
      continue;
    }
    slices.push([item]);
    remainingBytes = MAX_SLICE_BYTES - item.size;
  }
  return slices;
}
