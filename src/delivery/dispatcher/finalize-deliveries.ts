import { sql } from 'kysely';
import { hasConcurrentWriters, prepareQueryForItems } from '../../store/prepared-queries.ts';
import type { Queries } from '../../store/store.ts';

type DeliveryReference = { readonly deliveryId: number };

const deliveryIdsOf = (deliveries: readonly DeliveryReference[]) => deliveries.map(({ deliveryId }) => deliveryId);

/** The columns that a delivery keeps when it moves from `pending_deliveries` to `finalized_deliveries`. */
const copiedColumns = [
  'account_id',
  'user_id',
  'hook_id',
  'delivery_id',
  'record_id',
  'created_at',
  'kind',
  'position',
  'fields',
] as const;

const finalizedColumns = [...copiedColumns, 'finalized_at', 'state'] as const;

export type Finalization = { readonly finalizedAt: number; readonly state: 'delivered' | 'failed' };

const selectFinalizedColumns = ({ finalizedAt, state }: Finalization) =>
  [...copiedColumns, sql.val(finalizedAt).as('finalized_at'), sql.val(state).as('state')] as const;

const insertFinalizedDeliveries = prepareQueryForItems(
  (queries, deliveries: readonly DeliveryReference[], finalization: Finalization) =>
    queries
      .insertInto('finalized_deliveries')
      .columns(finalizedColumns)
      .expression((from) =>
        from
          .selectFrom('pending_deliveries')
          .where('delivery_id', 'in', deliveryIdsOf(deliveries))
          .select(selectFinalizedColumns(finalization)),
      ),
);

const deletePendingDeliveries = prepareQueryForItems((queries, deliveries: readonly DeliveryReference[]) =>
  queries.deleteFrom('pending_deliveries').where('delivery_id', 'in', deliveryIdsOf(deliveries)),
);

/** Moves deliveries with a single statement, on PostgreSQL. SQLite cannot delete and insert in one statement. */
const movePendingToFinalized = prepareQueryForItems(
  (queries, deliveries: readonly DeliveryReference[], finalization: Finalization) =>
    queries
      .with('gone', (from) =>
        from
          .deleteFrom('pending_deliveries')
          .where('delivery_id', 'in', deliveryIdsOf(deliveries))
          .returning(copiedColumns),
      )
      .insertInto('finalized_deliveries')
      .columns(finalizedColumns)
      .expression((from) => from.selectFrom('gone').select(selectFinalizedColumns(finalization))),
);

/** Moves deliveries from `pending_deliveries` to `finalized_deliveries`. */
export async function finalizeDeliveries(
  queries: Queries,
  deliveryIds: ReadonlySet<number>,
  finalization: Finalization,
): Promise<void> {
  const deliveries = [...deliveryIds].map((deliveryId) => ({ deliveryId }));
  if (hasConcurrentWriters(queries)) await movePendingToFinalized(queries, deliveries, finalization);
  else
    await Promise.all([
      insertFinalizedDeliveries(queries, deliveries, finalization),
      deletePendingDeliveries(queries, deliveries, {}),
    ]);
}
