import { nextSlice } from '../../http/routes/page-slices.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { ASSIGNMENT_BATCH_SIZE, type AssignableResourceType, usersOf } from '../core/assignments.ts';

/** Names that an entry shows of those who are assigned. */
const MAX_NAMES = 20;

/** Records that are looked up between two turns of the event loop. */
const RECORDS_PER_TICK = 50;

/** The names of those who are assigned to each of these records, in one text. */
export async function assignedNames(
  view: AccountView,
  resourceType: AssignableResourceType,
  recordIds: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  let users = await usersOf(view, resourceType, recordIds);
  if (users.length > ASSIGNMENT_BATCH_SIZE) {
    users = [];
    for (const [index, id] of recordIds.entries()) {
      users.push(...(await usersOf(view, resourceType, [id], MAX_NAMES + 1)));
      if (index % RECORDS_PER_TICK === 0) await nextSlice();
    }
  }
  const byRecord = Map.groupBy(users, ({ record_id }) => record_id);
  return new Map([...byRecord].map(([id, some]) => [id, textOf(some.map(({ user_name }) => user_name))]));
}

function textOf(names: readonly string[]): string {
  if (names.length <= MAX_NAMES) return names.join(', ');
  return `${names.slice(0, MAX_NAMES).join(', ')} and others`;
}
