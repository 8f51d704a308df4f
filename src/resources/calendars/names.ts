import { nextSlice } from '../../http/routes/page-slices.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { ASSIGNMENT_BATCH_SIZE, type AssignableResourceType, usersOf } from '../core/assignments.ts';

/** Maximum number of assigned users that an entry names. */
const MAX_NAMES = 20;

/** Records looked up before yielding to the event loop. */
const RECORDS_PER_TICK = 50;

/** For each record, the names of its assigned users, joined by commas. */
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
