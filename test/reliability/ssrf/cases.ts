import type { Store } from '../../../src/store/store.ts';
import { eventually } from '../../kit/eventually.ts';

/** How long what is pending may take to be told, or given up. */
const DELIVERY_TIMEOUT_MS = 60_000;

/** Targets as hooks for new events, written by hand: no check of a subscription has seen them. */
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
 * Waits until no hook that lives is pending anything; answers how many deliveries came to no end. One whose target was dialled at an
 * address that no connection can be made to is tried for ever: no route is no failure.
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

/** What each attempt of a hook came to, by hook. */
export async function outcomesOf({ read }: Store): Promise<Map<number, string[]>> {
  const found = new Map<number, string[]>();
  for (const { hook_id, outcome } of await read.selectFrom('attempts').select(['hook_id', 'outcome']).execute()) {
    found.set(hook_id, [...(found.get(hook_id) ?? []), outcome]);
  }
  return found;
}
