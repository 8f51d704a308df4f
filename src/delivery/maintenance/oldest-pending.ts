import { sql } from 'kysely';
import type { Queries } from '../../store/store.ts';

/** Number of hook queues per query, so that a query does not block other requests for long. */
const QUEUES_PER_QUERY = 1_000;
/** Maximum number of hook queues that are looked at. */
const MAX_QUEUES = 20_000;

/**
 * Returns when the oldest pending delivery of a live and enabled hook was created; undefined if there is none. Goes from
 * hook to hook along an index and looks only at the first delivery of each, however many a disabled hook holds.
 */
export async function findOldestPending(read: Queries): Promise<number | undefined> {
  let oldestAt: number | undefined;
  let lastHookId = 0;
  for (let count = 0; count < MAX_QUEUES; count += QUEUES_PER_QUERY) {
    const { rows } = await selectOldestOfQueues(lastHookId).execute(read);
    for (const { created_at: createdAt } of rows)
      if (createdAt !== null) oldestAt = Math.min(createdAt, oldestAt ?? createdAt);
    if (rows.length < QUEUES_PER_QUERY) break;
    lastHookId = rows.at(-1)?.hook_id ?? lastHookId;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return oldestAt;
}

/** Selects the next hooks with pending deliveries, and the creation time of the oldest one, if the hook may deliver it. */
export const selectOldestOfQueues = (lastHookId: number) => sql<{ hook_id: number; created_at: number | null }>`
  with recursive found (hook_id) as (
    select min(hook_id) from pending_deliveries where hook_id > ${lastHookId}
    union all
    select (select min(hook_id) from pending_deliveries where pending_deliveries.hook_id > found.hook_id)
    from found where found.hook_id is not null
  )
  select queues.hook_id, case when hooks.date_ended is null and hooks.enabled = 1 then
    (select created_at from pending_deliveries where pending_deliveries.hook_id = queues.hook_id
      order by position limit 1) end as created_at
  from (select hook_id from found where hook_id is not null limit ${QUEUES_PER_QUERY}) as queues
  cross join hooks where hooks.hook_id = queues.hook_id order by queues.hook_id`;
