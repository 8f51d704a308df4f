import { type Day, type DayRange, daysBetween, plusDays, type TimeSpan } from './time-math.ts';

/** An entry of the calendar, with the days on which the grid shows it. */
export type LayoutEntry = TimeSpan & { readonly id: string; readonly title: string; readonly days: DayRange };

/** The entries that fit into the rows, and the number of hidden entries per day. */
type FittedEntries<T> = {
  readonly shownEntries: readonly T[];
  readonly hiddenCountByDay: ReadonlyMap<Day, number>;
};

/** Compares two entries by layout order: earlier start first, then all-day before timed, then longer first. */
export function compareEntries(a: LayoutEntry, b: LayoutEntry): number {
  if (a.start !== b.start) return a.start < b.start ? -1 : 1;
  if (a.isAllDay !== b.isAllDay) return a.isAllDay ? -1 : 1;
  if (a.end !== b.end) return a.end > b.end ? -1 : 1;
  if (a.title !== b.title) return a.title < b.title ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/**
 * Selects the entries that fit into weeks with `rowCount` rows each. It follows the placement rules of the calendar
 * library: entries that begin on the same day are stacked, below entries that continue from earlier days. On a day
 * with hidden entries, the last row is reserved for their number ("3 more").
 */
export function fitEntriesIntoRows<T extends LayoutEntry>(
  entries: readonly T[],
  days: DayRange,
  rowCount: number,
): FittedEntries<T> {
  const columnsByEntry = entries.map((entry) => dayIndexesOf(entry, days));
  const overflowingColumns = new Set<number>();
  // Reserving the last row of an overflowing day may hide further entries: repeat until no other day overflows.
  while (true) {
    const rowGrid = new RowGrid(rowCount, overflowingColumns);
    const shownEntries = entries.filter((_, index) => rowGrid.placeEntry(columnsByEntry[index] ?? []));
    const previousSize = overflowingColumns.size;
    for (const column of rowGrid.hiddenCountByColumn.keys()) overflowingColumns.add(column);
    if (overflowingColumns.size > previousSize) continue;
    return {
      shownEntries,
      hiddenCountByDay: new Map(
        [...rowGrid.hiddenCountByColumn].map(([column, count]) => [plusDays(days.from, column), count]),
      ),
    };
  }
}

/** Returns the indexes of the visible days of an entry; 0 is the first visible day. */
function dayIndexesOf({ days }: LayoutEntry, { from, to }: DayRange): readonly number[] {
  const firstIndex = Math.max(daysBetween(from, days.from), 0);
  const lastIndex = Math.min(daysBetween(from, days.to), daysBetween(from, to));
  return Array.from({ length: Math.max(lastIndex - firstIndex + 1, 0) }, (_, index) => firstIndex + index);
}

/** The rows of the visible weeks. It assigns a row in each week to each entry. Columns are indexes of visible days. */
class RowGrid {
  readonly hiddenCountByColumn = new Map<number, number>();
  readonly #takenRowsByColumn = new Map<number, Set<number>>();
  /** First row below the segments that begin on a day. */
  readonly #nextRowByColumn = new Map<number, number>();
  readonly #rowCount: number;
  readonly #overflowingColumns: ReadonlySet<number>;

  constructor(rowCount: number, overflowingColumns: ReadonlySet<number>) {
    this.#rowCount = rowCount;
    this.#overflowingColumns = overflowingColumns;
  }

  /** Places an entry in all of its weeks, or in none. Returns whether it fits. */
  placeEntry(columns: readonly number[]): boolean {
    // An entry that spans weeks has one segment in each week, with its own row. These days begin the segments.
    const segmentStarts = columns.filter((column, index) => index === 0 || column % 7 === 0);
    const rowByWeek = new Map(segmentStarts.map((column) => [Math.floor(column / 7), this.#findFreeRow(column)]));
    const rowOf = (column: number) => rowByWeek.get(Math.floor(column / 7)) ?? 0;
    if (columns.some((column) => rowOf(column) >= this.#rowCount - (this.#overflowingColumns.has(column) ? 1 : 0))) {
      for (const column of columns)
        this.hiddenCountByColumn.set(column, (this.hiddenCountByColumn.get(column) ?? 0) + 1);
      return false;
    }
    for (const column of segmentStarts) this.#nextRowByColumn.set(column, rowOf(column) + 1);
    for (const column of columns) {
      const takenRows = this.#takenRowsByColumn.get(column) ?? new Set();
      this.#takenRowsByColumn.set(column, takenRows.add(rowOf(column)));
    }
    return true;
  }

  /** Returns the first free row of a day, below the already placed segments that begin on this day. */
  #findFreeRow(column: number): number {
    let row = this.#nextRowByColumn.get(column) ?? 0;
    while (this.#takenRowsByColumn.get(column)?.has(row) === true) row += 1;
    return row;
  }
}
