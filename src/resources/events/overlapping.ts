import { type SqlBool, sql } from 'kysely';
import type { AccountView } from '../../store/account-scope.ts';

/** How far an event reaches; an index holds it, word for word: `events_by_reach`. */
export const REACH = `case when substr(due_date, 1, 10) <= substr(start_date, 1, 10) then 0
    when substr(due_date, 1, 7) = substr(start_date, 1, 7) then 1
    when substr(due_date, 1, 4) = substr(start_date, 1, 4) then 2
    when substr(due_date, 1, 3) = substr(start_date, 1, 3) then 3
    else 4 end`;

/** The first day on which an event of a reach can have begun that is under way on a day: of its month, its year, its decade. */
const earliest: readonly ((day: string) => string)[] = [
  (day) => `${day.slice(0, 7)}-01`,
  (day) => `${day.slice(0, 4)}-01-01`,
  (day) => (day < '0010' ? '0001-01-01' : `${day.slice(0, 3)}0-01-01`),
  () => '0001-01-01',
];

/**
 * The ids of the events that began on a day or before, and are due on a later day or after. Those that reach over that
 * day are looked for where they can be, and nowhere else: neither all that began before, nor all that are due after.
 */
export function overlapping(view: AccountView, { startTo, dueFrom }: { startTo: string; dueFrom: string }) {
  const [first, ...others] = earliest.map((begin, index) =>
    view
      .selectFrom('events')
      .select('events.event_id')
      .where(sql<SqlBool>`${sql.raw(REACH)} = ${sql.lit(index + 1)}`)
      .where('events.start_date', '>=', `${begin(dueFrom)} 00:00:00`)
      .where('events.start_date', '<=', `${startTo} 23:59:59`)
      .where('events.due_date', '>=', `${dueFrom} 00:00:00`),
  );
  if (first === undefined) throw new Error('there are reaches');
  return others.reduce((all, one) => all.unionAll(one), first);
}
