import { type Day, type Days, type Drawn, daysFrom, plusDays } from './time-math.ts';

/** Something that is drawn over days. */
export type Placed = Drawn & { readonly id: string; readonly title: string; readonly days: Days };

/** What finds room, and how many do not on each day. */
export type Fitting<T> = { readonly shown: readonly T[]; readonly more: ReadonlyMap<Day, number> };

/** The order in which entries are laid out: by their begin, whole days before times, what lasts longer first. */
export function inOrder(a: Placed, b: Placed): number {
  if (a.start !== b.start) return a.start < b.start ? -1 : 1;
  if (a.isAllDay !== b.isAllDay) return a.isAllDay ? -1 : 1;
  if (a.end !== b.end) return a.end > b.end ? -1 : 1;
  if (a.title !== b.title) return a.title < b.title ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/**
 * What of the entries, in order, finds room in weeks with so many rows each, placed as the calendar places them: one
 * below the other where they begin on the same day, and below those that reach in from before. On a day where some are
 * left out, the last row is kept for how many they are.
 */
export function fit<T extends Placed>(entries: readonly T[], days: Days, rows: number): Fitting<T> {
  const columns = entries.map((entry) => columnsOf(entry, days));
  const full = new Set<number>();
  // Days that overflow give up a row, which may leave out others; so it is done again until nothing changes.
  while (true) {
    const grid = new Grid(rows, full);
    const shown = entries.filter((_, index) => grid.place(columns[index] ?? []));
    const before = full.size;
    for (const column of grid.left.keys()) full.add(column);
    if (full.size > before) continue;
    return { shown, more: new Map([...grid.left].map(([column, count]) => [plusDays(days.from, column), count])) };
  }
}

/** The days that an entry is on, counted from the first that is shown. */
function columnsOf({ days }: Placed, { from, to }: Days): readonly number[] {
  const first = Math.max(daysFrom(from, days.from), 0);
  const last = Math.min(daysFrom(from, days.to), daysFrom(from, to));
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, index) => first + index);
}

class Grid {
  readonly left = new Map<number, number>();
  readonly #taken = new Map<number, Set<number>>();
  readonly #below = new Map<number, number>();
  readonly #rows: number;
  readonly #full: ReadonlySet<number>;

  constructor(rows: number, full: ReadonlySet<number>) {
    this.#rows = rows;
    this.#full = full;
  }

  /** Takes a place for an entry in each of its weeks; or leaves it out of all of them. */
  place(columns: readonly number[]): boolean {
    // An entry begins anew in each week.
    const begins = columns.filter((column, index) => index === 0 || column % 7 === 0);
    const rows = new Map(begins.map((column) => [Math.floor(column / 7), this.#rowAt(column)]));
    const rowOf = (column: number) => rows.get(Math.floor(column / 7)) ?? 0;
    if (columns.some((column) => rowOf(column) >= this.#rows - (this.#full.has(column) ? 1 : 0))) {
      for (const column of columns) this.left.set(column, (this.left.get(column) ?? 0) + 1);
      return false;
    }
    for (const column of begins) this.#below.set(column, rowOf(column) + 1);
    for (const column of columns) {
      const taken = this.#taken.get(column) ?? new Set();
      this.#taken.set(column, taken.add(rowOf(column)));
    }
    return true;
  }

  /** The first free row of a day, below those that begin there. */
  #rowAt(column: number): number {
    let row = this.#below.get(column) ?? 0;
    while (this.#taken.get(column)?.has(row) === true) row += 1;
    return row;
  }
}
