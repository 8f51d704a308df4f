import { type SqlBool, sql } from 'kysely';
import type { AccountView } from '../../store/account-scope.ts';

/**
 * SQL for the smallest calendar unit that contains the whole event: 0 for a day, 1 for a month, 2 for a year, 3 for a
 * decade, 4 for none of these. The index `events_by_reach` has exactly this expression.
 */
export const SMALLEST_UNIT_SQL = `case when substr(due_date, 1, 10) <= substr(start_date, 1, 10) then 0
    when substr(due_date, 1, 7) = substr(start_date, 1, 7) then 1
    when substr(due_date, 1, 4) = substr(start_date, 1, 4) then 2
    when substr(due_date, 1, 3) = substr(start_date, 1, 3) then 3
    else 4 end`;

/**
 * One function for each of the units 1 to 4 of SMALLEST_UNIT_SQL. It returns the earliest possible start of an event
 * that is in progress on a day: the first day of the month, year or decade, or year 1 for unit 4.
 */
const earliestStartGetters: readonly ((day: string) => string)[] = [
  (day) => `${day.slice(0, 7)}-01`,
  (day) => `${day.slice(0, 4)}-01-01`,
  (day) => (day < '0010' ? '0001-01-01' : `${day.slice(0, 3)}0-01-01`),
  () => '0001-01-01',
];

/**
 * Selects the ids of the events that start on the day `latestStartDay` or before, and are due on the later day
 * `earliestDueDay` or after. For each unit, one index scan covers only the possible starts, instead of all earlier
 * starts or all later due dates.
 */
export function selectOverlappingEventIds(
  view: AccountView,
  { latestStartDay, earliestDueDay }: { latestStartDay: string; earliestDueDay: string },
) {
  const [firstScan, ...otherScans] = earliestStartGetters.map((getEarliestStart, index) =>
    view
      .selectFrom('events')
      .select('events.event_id')
      .where(sql<SqlBool>`${sql.raw(SMALLEST_UNIT_SQL)} = ${sql.lit(index + 1)}`)
      .where('events.start_date', '>=', `${getEarliestStart(earliestDueDay)} 00:00:00`)
      .where('events.start_date', '<=', `${latestStartDay} 23:59:59`)
      .where('events.due_date', '>=', `${earliestDueDay} 00:00:00`),
  );
  if (firstScan === undefined) throw new Error('there is no unit of length');
  return otherScans.reduce((union, scan) => union.unionAll(scan), firstScan);
}
