import { type RawBuilder, sql } from 'kysely';
import { MAX_SLICE_BYTES, MAX_SLICE_ROWS } from '../../http/routes/page-slices.ts';
import type { Page, Slice } from '../../http/routes/pagination.ts';
import { cursorOf, type Order } from './sorting.ts';

/** The keys of a record in the order of its list, its id among them, and the bytes of its long texts. */
export type SizedKey = Readonly<Record<string, unknown>> & { readonly size: number };

/** The bytes of columns, which the database knows without reading them. */
export const sizeOf = (columns: readonly string[]): RawBuilder<number> =>
  sql<number>`${sql.join(
    columns.map((column) => sql`octet_length(${sql.ref(column)})`),
    sql` + `,
  )}`;

/**
 * A page whose keys are known and whose records are loaded in pieces. Which records are on the page, and in which order,
 * is of one moment: a record that moves meanwhile is neither missed nor shown twice, and one that is deleted is left out.
 *
 * @param keys of the records of the page, and of the one behind it where there is one
 * @param load the records with these ids, in any order
 */
export function pageOfKeys<Row extends object>(
  keys: readonly SizedKey[],
  { order, limit, id }: { readonly order: Order; readonly limit: number; readonly id: string },
  load: (ids: readonly number[]) => Promise<readonly Row[]>,
): Omit<Page<Row>, 'total'> {
  const shown = keys.slice(0, limit);
  const last = shown.at(-1);
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
    for (const piece of inPieces(shown)) yield await sliceOf(piece);
  }
  const bytes = shown.reduce((sum, { size }) => sum + size, 0);
  return {
    slices: slices(),
    isLarge: bytes > MAX_SLICE_BYTES,
    next: last !== undefined && keys.length > limit ? cursorOf(order, last) : undefined,
  };
}

/** The same in pieces of as many as are loaded at once; at least one in each. */
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
