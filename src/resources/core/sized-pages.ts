import { type RawBuilder, sql } from 'kysely';
import { MAX_SLICE_BYTES, MAX_SLICE_ROWS } from '../../http/routes/page-slices.ts';
import type { Page, Slice } from '../../http/routes/pagination.ts';
import { cursorOf, type Order } from './sorting.ts';

/** Sort key of a record, including its id, and the size of its long texts in bytes. */
export type SizedKey = Readonly<Record<string, unknown>> & { readonly size: number };

/** Total size of text columns in bytes. The database knows it without reading the texts. */
export const sizeOf = (columns: readonly string[]): RawBuilder<number> =>
  sql<number>`${sql.join(
    columns.map((column) => sql`octet_length(${sql.ref(column)})`),
    sql` + `,
  )}`;

/**
 * Loads the records of a page in slices, by keys that one query has found. The keys fix the page's contents and order: a
 * record that moves meanwhile is neither missed nor returned twice, and a deleted one is left out.
 *
 * @param keys the keys of the page's records, plus one more if there is a next page
 * @param load loads records by id, in any order
 */
export function pageOfKeys<Row extends object>(
  keys: readonly SizedKey[],
  { order, limit, id }: { readonly order: Order; readonly limit: number; readonly id: string },
  load: (ids: readonly number[]) => Promise<readonly Row[]>,
): Omit<Page<Row>, 'total'> {
  const pageKeys = keys.slice(0, limit);
  const last = pageKeys.at(-1);
  const idOf = (row: object) => Number(Reflect.get(row, id));
  async function sliceOf(piece: readonly SizedKey[]): Promise<Slice<Row>> {
    const rows = new Map((await load(piece.map(idOf))).map((row) => [idOf(row), row]));
    const found = piece.flatMap((key) => {
      const row = rows.get(idOf(key));
      return row === undefined ? [] : [{ key, row }];
    });
    return {
      rows: found.map(({ row }) => row),
      cursorAfter: (index) => cursorOf(order, found[index]?.key ?? {}),
    };
  }
  async function* slices() {
    for (const piece of inPieces(pageKeys)) yield await sliceOf(piece);
  }
  const bytes = pageKeys.reduce((sum, { size }) => sum + size, 0);
  return {
    slices: slices(),
    isLarge: bytes > MAX_SLICE_BYTES,
    next: last !== undefined && keys.length > limit ? cursorOf(order, last) : undefined,
  };
}

/** Splits records into slices of at most MAX_SLICE_ROWS rows and MAX_SLICE_BYTES bytes, at least one row in each. */
export function inPieces<Sized extends { readonly size: number }>(
  all: readonly Sized[],
): readonly (readonly Sized[])[] {
  const pieces: Sized[][] = [];
  let room = 0;
  for (const one of all) {
    const piece = pieces.at(-1);
    if (piece !== undefined && one.size <= room && piece.length < MAX_SLICE_ROWS) {
      piece.push(one);
      room -= one.size;
      continue;
    }
    pieces.push([one]);
    room = MAX_SLICE_BYTES - one.size;
  }
  return pieces;
}
