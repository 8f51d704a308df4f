import type { Store } from '../../../src/store/store.ts';
import { eventually } from '../../kit/eventually.ts';

/** Maximum time until every pending delivery is finalized. */
const DELIVERY_TIMEOUT_MS = 60_000;

/** Inserts hooks for new events directly, without the target check of a subscription; returns their ids. */
export async function writeHooks({ write }: Store, targets: readonly string[]): Promise<number[]> {
  return write(async ({ queries }) => {
    const owner = await queries.selectFrom('users').select(['account_id', 'user_id']).executeTakeFirstOrThrow();
    const none = { due_at: null, retry_delivery_id: null, date_ended: null, ended_position: null };
    const rows = targets.map((target) => ({
      ...owner,
      ...none,
      ...{ kind: 'new_event', target, date_created: Date.now() },
    }));
    const made = await queries.insertInto('hooks').values(rows).returning('hook_id').execute();
    return made.map(({ hook_id }) => hook_id);
  });
}

/**
 * Waits until no live hook has pending deliveries; returns how many are left. A delivery to an unreachable
 * address stays pending: a missing route is a local error.
 */
export async function stillPending({ read }: Store): Promise<number> {
  const pending = () =>
    read
      .selectFrom('pending_deliveries')
      .innerJoin('hooks', 'hooks.hook_id', 'pending_deliveries.hook_id')
      .where('hooks.date_ended', 'is', null)
      .select('pending_deliveries.delivery_id')
      .execute();
  const left = await eventually(pending, (rows) => rows.length === 0, DELIVERY_TIMEOUT_MS).catch(pending);
  return left.length;
}

/** Outcomes of all attempts, by hook. */
export async function outcomesOf({ read }: Store): Promise<Map<number, string[]>> {
  const found = new Map<number, string[]>();
  for (const { hook_id, outcome } of await read.selectFrom('attempts').select(['hook_id', 'outcome']).execute()) {
    found.set(hook_id, [...(found.get(hook_id) ?? []), outcome]);
  }
  return found;
}
