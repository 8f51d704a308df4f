import { type Day, type DayRange, daysBetween, plusDays, type TimeSpan } from './time-math.ts';

/** An entry that the grid places on its days. */
export type LayoutEntry = TimeSpan & { readonly id: string; readonly title: string; readonly days: DayRange };

/** The entries that fit into the rows, and the number of hidden entries per day. */
export type FittedRows<T> = { readonly shown: readonly T[]; readonly more: ReadonlyMap<Day, number> };

/** Compares two entries by layout order: earlier start first, then all-day before timed, then longer first. */
export function compareEntries(a: LayoutEntry, b: LayoutEntry): number {
  if (a.start !== b.start) return a.start < b.start ? -1 : 1;
  if (a.isAllDay !== b.isAllDay) return a.isAllDay ? -1 : 1;
  if (a.end !== b.end) return a.end > b.end ? -1 : 1;
  if (a.title !== b.title) return a.title < b.title ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/**
 * Selects the entries that fit into weeks with `rows` rows each. It follows the placement rules of the calendar
 * library: entries that begin on the same day are stacked, below entries that continue from earlier days. On a day
 * with hidden entries, the last row is reserved for their number ("3 more").
 */
export function fitRows<T extends LayoutEntry>(entries: readonly T[], days: DayRange, rows: number): FittedRows<T> {
  const columns = entries.map((entry) => dayIndexesOf(entry, days));
  const full = new Set<number>();
  // Reserving the last row of an overflowing day may hide further entries: repeat until no other day overflows.
  while (true) {
    const grid = new RowGrid(rows, full);
    const shown = entries.filter((_, index) => grid.place(columns[index] ?? []));
    const before = full.size;
    for (const column of grid.hiddenCounts.keys()) full.add(column);
    if (full.size > before) continue;
    return {
      shown,
      more: new Map([...grid.hiddenCounts].map(([column, count]) => [plusDays(days.from, column), count])),
    };
  }
}

/** Returns the indexes of the visible days of an entry; 0 is the first visible day. */
function dayIndexesOf({ days }: LayoutEntry, { from, to }: DayRange): readonly number[] {
  const first = Math.max(daysBetween(from, days.from), 0);
  const last = Math.min(daysBetween(from, days.to), daysBetween(from, to));
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, index) => first + index);
}

class RowGrid {
  readonly hiddenCounts = new Map<number, number>();
  readonly #takenRows = new Map<number, Set<number>>();
  readonly #nextRow = new Map<number, number>();
  readonly #rows: number;
  readonly #overflowingDays: ReadonlySet<number>;

  constructor(rows: number, full: ReadonlySet<number>) {
    this.#rows = rows;
    this.#overflowingDays = full;
  }

  /** Places an entry in all of its weeks, or in none. Returns whether it fits. */
  place(columns: readonly number[]): boolean {
    // First day of the entry in each week: in each week, the entry is a separate segment with its own row.
    const segmentStarts = columns.filter((column, index) => index === 0 || column % 7 === 0);
    const rows = new Map(segmentStarts.map((column) => [Math.floor(column / 7), this.#rowAt(column)]));
    const rowOf = (column: number) => rows.get(Math.floor(column / 7)) ?? 0;
    if (columns.some((column) => rowOf(column) >= this.#rows - (this.#overflowingDays.has(column) ? 1 : 0))) {
      for (const column of columns) this.hiddenCounts.set(column, (this.hiddenCounts.get(column) ?? 0) + 1);
      return false;
    }
    for (const column of segmentStarts) this.#nextRow.set(column, rowOf(column) + 1);
    for (const column of columns) {
      const taken = this.#takenRows.get(column) ?? new Set();
      this.#takenRows.set(column, taken.add(rowOf(column)));
    }
    return true;
  }

  /** Returns the first free row of a day, below the entries that were placed before and begin on that day. */
  #rowAt(column: number): number {
    let row = this.#nextRow.get(column) ?? 0;
    while (this.#takenRows.get(column)?.has(row) === true) row += 1;
    return row;
  }
}
