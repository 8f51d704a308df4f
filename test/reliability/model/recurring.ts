/// <reference lib="esnext.temporal" />
import { NONE, type ResourceType } from './fields.ts';
import type { Account, Recorded, World } from './model.ts';

/** Returns the ids of records that the service has created, by resource type, in order of creation. */
export type NewIds = (resourceType: ResourceType) => string;

const periods: Readonly<Record<string, Temporal.DurationLike>> = {
  ...{ D: { days: 1 }, W: { weeks: 1 }, M: { months: 1 }, Q: { months: 3 }, S: { months: 6 }, Y: { years: 1 } },
};

export const recurs = ({ displayed }: Recorded): boolean => (displayed.recurring ?? '') in periods;

/** C41: creates the next occurrence of a completed record and, for a task, of its subtasks. */
export function repeat(world: World, account: Account, record: Recorded, newIds: NewIds): Recorded[] {
  const period = periods[record.displayed.recurring ?? ''];
  if (period === undefined) return [];
  const parts = world
    .all(account, 'subtask')
    .filter(({ parent }) => record.resourceType === 'task' && parent === record.id);
  const copied = (before: Recorded, parent: string) => {
    const dates = ['start_date', 'due_date'].map((field) => [field, moved(before.displayed[field] ?? NONE, period)]);
    const shown = { ...before.displayed, ...Object.fromEntries(dates), completed: '0', date_completed: NONE };
    const stamped = { ...shown, date_created: world.time, date_modified: NONE };
    return world.add(account, before.resourceType, newIds(before.resourceType), stamped, before.users, parent);
  };
  const next = copied(record, record.parent);
  const copies = parts.map((part) => copied(part, next.id));
  for (const one of [record, ...parts]) one.displayed.recurring = '';
  return [next, ...copies];
}

function moved(date: string, period: Temporal.DurationLike): string {
  if (date === NONE) return date;
  const next = Temporal.PlainDateTime.from(date.replace(' ', 'T')).add(period);
  return `${next.toPlainDate()} ${next.toPlainTime()}`;
}
