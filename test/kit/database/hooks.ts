import type { Insertable, Selectable } from 'kysely';
import { toSubscriptionRows } from '../../../src/delivery/outbox/subscriptions.ts';
import type { Queries } from '../../../src/store/store.ts';
import type { Tables } from '../../../src/store/tables.ts';

/** Columns of a hook. `events`: the kinds that it reports. */
export type NewHook = Pick<Insertable<Tables['hooks']>, 'account_id' | 'user_id' | 'events' | 'target'> &
  Partial<Insertable<Tables['hooks']>>;

/** Inserts a hook with its subscriptions, without a target check, and returns it. */
export async function insertHook(queries: Queries, hook: NewHook): Promise<Selectable<Tables['hooks']>> {
  const state = { date_created: 0, due_at: null, retry_delivery_id: null, date_ended: null, ended_position: null };
  const row = await queries
    .insertInto('hooks')
    .values({ ...state, ...hook })
    .returningAll()
    .executeTakeFirstOrThrow();
  const subscriptions = toSubscriptionRows(row).map((one) => ({ ...one, account_id: row.account_id }));
  if (row.date_ended === null) await queries.insertInto('subscriptions').values(subscriptions).execute();
  return row;
}
