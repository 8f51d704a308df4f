import { waitForSliceTurn } from '../../http/routes/pagination.ts';
import { addDays } from '../../ical/days.ts';
import type { AccountView } from '../../store/account-scope.ts';
import {
  type CalendarDefinition,
  createEventReaders,
  type DayRange,
  type EntrySortKey,
  type ReadBatch,
  readSubtasks,
  readTasks,
} from './collect-entries.ts';

/** Maximum number of entries of each type in a calendar: events, tasks and subtasks. */
export const MAX_ENTRIES_PER_TYPE = 10_000;

/**
 * Number of rows per query. It is small because each concurrent reader of a calendar holds this number of rows in
 * memory.
 */
const ROWS_PER_QUERY = 100;

/**
 * Number of days per query. It bounds the duration of a query that scans many entries of an account to find the few
 * entries of one user.
 */
const DAYS_PER_QUERY = 31;

/** Entries older than this number of days come after all future entries. */
const RECENT_DAYS = 31;

/**
 * Yields the iCalendar text of all entries, type by type. Within a type, recent and future days come before the earlier
 * days, so that MAX_ENTRIES_PER_TYPE cuts off the most distant days.
 */
export async function* streamEntries(
  view: AccountView,
  calendarDefinition: CalendarDefinition,
  today: string,
): AsyncGenerator<Buffer> {
  const { permissions } = calendarDefinition;
  const dayRanges = splitCalendarDays(calendarDefinition, today);
  if (permissions.has('events:read')) yield* readAllBatches(createEventReaders(view, calendarDefinition, dayRanges));
  if (!permissions.has('tasks:read')) return;
  yield* readAllBatches(
    dayRanges.map((dayRange) => (batchRequest) => readTasks(view, calendarDefinition, dayRange, batchRequest)),
  );
  yield* readAllBatches(
    dayRanges.map((dayRange) => (batchRequest) => readSubtasks(view, calendarDefinition, dayRange, batchRequest)),
  );
}

/**
 * Splits the days of a calendar into ranges: first from RECENT_DAYS ago to the end, then the earlier days, newest
 * first.
 */
function splitCalendarDays({ firstDay, lastDay }: CalendarDefinition, today: string): readonly DayRange[] {
  const firstRecentDay = addDays(today, -RECENT_DAYS);
  return [
    ...splitIntoDayRanges(firstRecentDay, lastDay),
    ...splitIntoDayRanges(firstDay, addDays(firstRecentDay, -1)).reverse(),
  ];
}

function splitIntoDayRanges(startDay: string, endDay: string): DayRange[] {
  const dayRanges: DayRange[] = [];
  for (let rangeStart = startDay; rangeStart <= endDay; rangeStart = addDays(rangeStart, DAYS_PER_QUERY)) {
    const rangeEnd = addDays(rangeStart, DAYS_PER_QUERY - 1);
    dayRanges.push({ first: rangeStart, last: rangeEnd < endDay ? rangeEnd : endDay });
  }
  return dayRanges;
}

/** Calls the readers one after the other, each until its last batch, up to MAX_ENTRIES_PER_TYPE entries in total. */
async function* readAllBatches(batchReaders: readonly ReadBatch[]): AsyncGenerator<Buffer> {
  let remainingEntryCount = MAX_ENTRIES_PER_TYPE;
  for (const readBatch of batchReaders) {
    let lastReadKey: EntrySortKey;
    do {
      const { icsBytes, entryCount, lastKey } = await readBatch({
        afterKey: lastReadKey,
        limit: Math.min(ROWS_PER_QUERY, remainingEntryCount),
      });
      if (entryCount > 0) yield icsBytes;
      remainingEntryCount -= entryCount;
      if (remainingEntryCount === 0) return;
      lastReadKey = lastKey;
      await waitForSliceTurn();
    } while (lastReadKey !== undefined);
  }
}
