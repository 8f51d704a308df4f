import { type DeliveryKind, resourceTypeOf } from '../../delivery/outbox/event-kinds.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import type { StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId } from '../../http/fields/reference-fields.ts';
import { readOnlyDigits, readOnlyEnum, readOnlyText } from '../../http/fields/scalar-fields.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { deliveryStates } from '../deliveries/deliveries.ts';
import {
  findLastAttempts,
  selectFinalizedDeliveries,
  selectPendingDeliveries,
} from '../deliveries/select-deliveries.ts';
import type { Occurrence } from '../notifications/notifications.ts';

/** Response fields of one delivery in an activity entry: its hook, its state and its last attempt. */
export const activityDeliveryFields = {
  id: ownRecordId('Identifier of the delivery.'),
  hook_id: readOnlyId('The hook.'),
  target_url: readOnlyText('The target of the hook; empty if the hook is no longer stored.'),
  user_id: readOnlyId('The user of the hook.'),
  state: readOnlyEnum('The state of the delivery.', deliveryStates),
  last_outcome: readOnlyText('Outcome of the last attempt; empty before the first.'),
  attempts: readOnlyDigits('Number of attempts.'),
  milliseconds: readOnlyDigits('Duration of the last attempt in milliseconds.'),
  created_at: readOnlyTimestamp('When it became pending, UTC.'),
  date_finalized: readOnlyTimestamp('When it was finalized, UTC.'),
  fetched_at: readOnlyTimestamp(
    'When a key of the user last fetched the record, if after the delivery became pending, UTC.',
  ),
};

type ActivityDeliveryRow = StoredRecordOf<typeof activityDeliveryFields>;

/**
 * Maximum number of pending deliveries on one page, and likewise of finalized deliveries. A page ends before the entry
 * that would exceed one of the two. Even if all target URLs have their maximum length, such a page is below the size
 * limit of a list page.
 */
const MAX_DELIVERIES_PER_PAGE = 500;

type DeliveriesByPosition = ReadonlyMap<number, readonly ActivityDeliveryRow[]>;

/** Which deliveries to load: those of one hook, and those of the hooks of one user; undefined for all. */
type DeliverySelection = { readonly hookId: number | undefined; readonly userId: number | undefined };

/**
 * Loads the deliveries of occurrences, grouped by feed position. Deliveries of positions below `firstCompletePosition`
 * may be missing.
 */
export async function loadDeliveries(
  view: AccountView,
  occurrences: readonly Occurrence[],
  selection: DeliverySelection,
): Promise<{ deliveriesByPosition: DeliveriesByPosition; firstCompletePosition: number }> {
  if (occurrences.length === 0) return { deliveriesByPosition: new Map(), firstCompletePosition: 0 };
  const positions = occurrences.map(({ position }) => position);
  const [pendingRows, finalizedRows] = [
    await loadPendingDeliveries(view, positions, selection),
    await loadFinalizedDeliveries(view, positions, selection),
  ];
  const firstCompletePosition = Math.max(...[pendingRows, finalizedRows].map(findFirstCompletePosition));
  const foundDeliveries = [...pendingRows, ...finalizedRows].sort((one, other) => one.id - other.id);
  const deliveryIds = foundDeliveries.map(({ id }) => id);
  const [lastAttempts, fetchTimes] = [
    await findLastAttempts(view, deliveryIds),
    await loadLastFetchTimes(view, foundDeliveries),
  ];
  const positionedDeliveryRows = foundDeliveries.map((row) => {
    const fetchedAt = fetchTimes.get(userRecordKeyOfDelivery(row)) ?? 0;
    return {
      position: row.position ?? 0,
      deliveryRow: {
        id: row.id,
        hook_id: row.hook_id,
        target_url: row.target_url,
        user_id: row.user_id,
        state: row.state,
        last_outcome: lastAttempts.get(row.id)?.outcome ?? '',
        attempts: lastAttempts.get(row.id)?.attempts ?? 0,
        milliseconds: lastAttempts.get(row.id)?.milliseconds ?? 0,
        created_at: row.date_created,
        date_finalized: row.date_finalized,
        fetched_at: fetchedAt >= row.date_created ? fetchedAt : null,
      },
    };
  });
  const deliveryRowsByPosition = Map.groupBy(positionedDeliveryRows, ({ position }) => position);
  const deliveriesByPosition = new Map(
    [...deliveryRowsByPosition].map(([position, rowsAtPosition]) => [
      position,
      rowsAtPosition.map(({ deliveryRow }) => deliveryRow),
    ]),
  );
  return { deliveriesByPosition, firstCompletePosition };
}

/**
 * Returns the lowest feed position for which a query has returned all rows. If the query has reached its row limit,
 * rows of its last position may be missing.
 */
function findFirstCompletePosition(rows: readonly { readonly position: number | null }[]): number {
  return rows.length < MAX_DELIVERIES_PER_PAGE ? 0 : (rows.at(-1)?.position ?? 0) + 1;
}

function loadPendingDeliveries(view: AccountView, positions: readonly number[], { hookId, userId }: DeliverySelection) {
  let query = selectPendingDeliveries(view)
    .select(['pending_deliveries.position', 'hooks.target as target_url'])
    .where('pending_deliveries.position', 'in', positions);
  if (hookId !== undefined) query = query.where('pending_deliveries.hook_id', '=', hookId);
  if (userId !== undefined) query = query.where('pending_deliveries.user_id', '=', userId);
  return query.orderBy('pending_deliveries.position', 'desc').limit(MAX_DELIVERIES_PER_PAGE).execute();
}

function loadFinalizedDeliveries(
  view: AccountView,
  positions: readonly number[],
  { hookId, userId }: DeliverySelection,
) {
  let query = selectFinalizedDeliveries(view)
    .leftJoin('hooks', 'hooks.hook_id', 'finalized_deliveries.hook_id')
    .select(['finalized_deliveries.position', 'hooks.target as target_url'])
    .where('finalized_deliveries.position', 'in', positions);
  if (hookId !== undefined) query = query.where('finalized_deliveries.hook_id', '=', hookId);
  if (userId !== undefined) query = query.where('finalized_deliveries.user_id', '=', userId);
  return query.orderBy('finalized_deliveries.position', 'desc').limit(MAX_DELIVERIES_PER_PAGE).execute();
}

type DeliveryUserAndRecord = {
  readonly id: number;
  readonly user_id: number;
  readonly kind: string;
  readonly record_id: number;
};

type UserAndRecordColumns = { readonly user_id: number; readonly resource_type: string; readonly record_id: number };

const formatUserRecordKey = ({ user_id, resource_type, record_id }: UserAndRecordColumns) =>
  `${user_id} ${resource_type} ${record_id}`;

function userRecordKeyOfDelivery({ user_id, kind, record_id }: DeliveryUserAndRecord): string {
  return formatUserRecordKey({ user_id, resource_type: resourceTypeOf(kind as DeliveryKind), record_id });
}

/** Loads the times at which the users of deliveries last fetched the records, by `formatUserRecordKey`. */
async function loadLastFetchTimes(
  view: AccountView,
  foundDeliveries: readonly DeliveryUserAndRecord[],
): Promise<ReadonlyMap<string, number>> {
  if (foundDeliveries.length === 0) return new Map();
  const removeDuplicates = <T>(values: readonly T[]) => [...new Set(values)];
  const receiptRows = await view
    .selectFrom('read_receipts')
    .select([
      'read_receipts.user_id',
      'read_receipts.resource_type',
      'read_receipts.record_id',
      'read_receipts.fetched_at',
    ])
    .where('read_receipts.user_id', 'in', removeDuplicates(foundDeliveries.map(({ user_id }) => user_id)))
    .where(
      'read_receipts.resource_type',
      'in',
      removeDuplicates(foundDeliveries.map(({ kind }) => resourceTypeOf(kind as DeliveryKind))),
    )
    .where('read_receipts.record_id', 'in', removeDuplicates(foundDeliveries.map(({ record_id }) => record_id)))
    .execute();
  return new Map(receiptRows.map((row) => [formatUserRecordKey(row), row.fetched_at]));
}
