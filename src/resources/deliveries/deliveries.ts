import { sql } from 'kysely';
import { buildResourceUrl, type DeliveryKind, occurrenceKinds } from '../../delivery/outbox/event-kinds.ts';
import { requestRedelivery } from '../../delivery/outbox/restore-hook.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import type { StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId, readOnlyRecords } from '../../http/fields/reference-fields.ts';
import { readOnlyDigits, readOnlyEnum, readOnlyFlag, readOnlyText } from '../../http/fields/scalar-fields.ts';
import { defineActionRoute, defineGetRoute, defineListRoute } from '../../http/routes/define-routes.ts';
import { mapRows, type Page, type PageRequest } from '../../http/routes/pagination.ts';
import { enumParameter, idParameter, type ParsedParameters } from '../../http/routes/query-parameters.ts';
import type { Route } from '../../http/routes/route.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { pageStartOf, toPage } from '../core/pagination.ts';
import { addOrderBy, ascendingOrder, buildKeysetCondition, numberKey } from '../core/sorting.ts';
import { resolveListedUserId } from '../users/lookup.ts';
import {
  buildFinalizedOfHookCondition,
  findLastAttempts,
  selectFinalizedDeliveries,
  selectPendingDeliveries,
} from './select-deliveries.ts';

export const deliveryStates = ['pending', 'delivered', 'undelivered', 'failed'] as const;

/** Fields of a delivery: one occurrence (domain event) that is sent to one hook (X3). */
export const deliveryFields = {
  id: ownRecordId('Identifier of the delivery; its Webhook-Id in every attempt.'),
  hook_id: readOnlyId('The hook.'),
  event: readOnlyEnum('The kind of occurrence, or test.', [...occurrenceKinds, 'test']),
  resource_url: readOnlyText('The address of the record, as in the notification.'),
  cursor: readOnlyDigits('The position of the occurrence in the feed; 0 for a test.'),
  state: readOnlyEnum(
    'pending; delivered; undelivered: the hook ended before; failed: a test that was not answered with 200.',
    deliveryStates,
  ),
  date_created: readOnlyTimestamp('When it became pending, UTC.'),
  date_finalized: readOnlyTimestamp('When it was finalized, UTC.'),
  last_outcome: readOnlyText('Outcome of the last attempt; empty before the first.'),
};

const attemptFields = {
  attempted_at: readOnlyTimestamp('When it began, UTC.'),
  outcome: readOnlyText('Outcome: a status, or one word.'),
  milliseconds: readOnlyDigits('Duration in milliseconds.'),
  counted: readOnlyFlag('Whether it counted as a failure.'),
  reason: readOnlyText('Explanation.'),
  response: readOnlyText('The first KiB of the response of a failed attempt; control characters are replaced.'),
};

/** Maximum number of attempts in the response for one delivery. If there are more, the last attempts are returned. */
const MAX_LISTED_ATTEMPTS = 1_000;

const attemptsField = readOnlyRecords(
  'The attempts, oldest first; at most the last 1000.',
  attemptFields,
  'DeliveryAttempt',
);

const deliveryDetailFields = { ...deliveryFields, attempts: attemptsField };

const deliveryParameters = {
  hook_id: idParameter('Only deliveries of this hook.'),
  state: enumParameter('Only deliveries in this state.', deliveryStates),
  user_id: idParameter('Another user instead of yourself; for admins.'),
};

type DeliveryRow = StoredRecordOf<typeof deliveryFields>;
type DeliveryDetailRow = StoredRecordOf<typeof deliveryDetailFields>;

type StoredDelivery = {
  id: number;
  hook_id: number;
  user_id: number;
  kind: string;
  record_id: number;
  /** Null for a test. */
  cursor: number | null;
  date_created: number;
  date_finalized: number | null;
  state: string;
};

function toDeliveryRow(row: StoredDelivery, lastOutcome: string | undefined, baseUrl: string): DeliveryRow {
  const { kind, record_id, user_id: _, ...rest } = row;
  return {
    ...rest,
    event: kind,
    resource_url: buildResourceUrl(baseUrl, kind as DeliveryKind, record_id),
    last_outcome: lastOutcome ?? '',
  };
}

const orderById = ascendingOrder('id', numberKey('id'));
const pendingOrderById = ascendingOrder('id', numberKey('pending_deliveries.delivery_id'));
const finalizedOrderById = ascendingOrder('id', numberKey('finalized_deliveries.delivery_id'));

/**
 * Lists the deliveries of the caller's hooks, in the order of their creation (X3). Admins can list the deliveries of
 * another user's hooks.
 */
async function listDeliveries(
  view: AccountView,
  caller: Caller,
  parameterValues: ParsedParameters<typeof deliveryParameters>,
  paging: PageRequest,
  baseUrl: string,
): Promise<Page<DeliveryRow>> {
  const userId = resolveListedUserId(caller, parameterValues.user_id);
  let pendingQuery = selectPendingDeliveries(view).where('pending_deliveries.user_id', '=', userId);
  let finalizedQuery = selectFinalizedDeliveries(view);
  if (parameterValues.hook_id === undefined)
    finalizedQuery = finalizedQuery.where('finalized_deliveries.user_id', '=', userId);
  else {
    pendingQuery = pendingQuery.where('pending_deliveries.hook_id', '=', parameterValues.hook_id);
    finalizedQuery = finalizedQuery.where(buildFinalizedOfHookCondition(view, userId, parameterValues.hook_id));
  }
  if (parameterValues.state !== undefined) {
    const dateEndedOperator = parameterValues.state === 'undelivered' ? 'is not' : 'is';
    pendingQuery = pendingQuery.where('hooks.date_ended', dateEndedOperator, null);
    finalizedQuery = finalizedQuery.where('finalized_deliveries.state', '=', parameterValues.state);
    if (parameterValues.state !== 'pending' && parameterValues.state !== 'undelivered')
      pendingQuery = pendingQuery.where(sql<boolean>`1 = 0`);
  }
  const { offset, sortKey } = pageStartOf(paging, orderById);
  const countSql = sql<number>`count(*)`.as('total');
  const [pendingCount, finalizedCount] = [
    await pendingQuery.clearSelect().select(countSql).executeTakeFirstOrThrow(),
    await finalizedQuery.clearSelect().select(countSql).executeTakeFirstOrThrow(),
  ];
  if (sortKey !== undefined) {
    pendingQuery = pendingQuery.where(buildKeysetCondition(pendingOrderById, sortKey));
    finalizedQuery = finalizedQuery.where(buildKeysetCondition(finalizedOrderById, sortKey));
  }
  const rows: StoredDelivery[] = await addOrderBy(pendingQuery.unionAll(finalizedQuery), orderById)
    .limit(paging.limit + 1)
    .offset(offset)
    .execute();
  const lastAttempts = await findLastAttempts(
    view,
    rows.map(({ id }) => id),
  );
  const page = { ...toPage(rows, orderById, paging.limit), total: pendingCount.total + finalizedCount.total };
  return mapRows(page, (row) => toDeliveryRow(row, lastAttempts.get(row.id)?.outcome, baseUrl));
}

async function requireVisibleDelivery(view: AccountView, caller: Caller, deliveryId: number): Promise<StoredDelivery> {
  const row =
    (await selectPendingDeliveries(view).where('pending_deliveries.delivery_id', '=', deliveryId).executeTakeFirst()) ??
    (await selectFinalizedDeliveries(view)
      .where('finalized_deliveries.delivery_id', '=', deliveryId)
      .executeTakeFirst());
  if (row === undefined) throw notFound();
  if (row.user_id !== caller.userId && !isAdmin(caller)) {
    throw new Problem('not_permitted', { detail: 'This delivery belongs to another user.' });
  }
  return row;
}

/** Returns a delivery with its attempts (X3). */
export async function getDelivery(
  view: AccountView,
  caller: Caller,
  deliveryId: number,
  baseUrl: string,
): Promise<DeliveryDetailRow> {
  const row = await requireVisibleDelivery(view, caller, deliveryId);
  const attempts = await view
    .selectFrom('attempts')
    .select([
      'attempts.attempted_at',
      'attempts.outcome',
      'attempts.milliseconds',
      'attempts.counted',
      'attempts.reason',
      'attempts.response',
    ])
    .where('attempts.delivery_id', '=', deliveryId)
    .orderBy('attempts.attempt_id', 'desc')
    .limit(MAX_LISTED_ATTEMPTS)
    .execute();
  return { ...toDeliveryRow(row, attempts[0]?.outcome, baseUrl), attempts: attempts.reverse() };
}

/**
 * Requests one more attempt with the same delivery id (X3). It never counts as a failure. Throws 409 if the hook has
 * ended or is disabled.
 */
async function redeliver(
  write: AccountWrite,
  caller: Caller,
  deliveryId: number,
  baseUrl: string,
): Promise<DeliveryRow> {
  const row = await requireVisibleDelivery(write, caller, deliveryId);
  await requestRedelivery(write, { deliveryId, hookId: row.hook_id });
  return getDelivery(write, caller, deliveryId, baseUrl);
}

export function createDeliveryRoutes({ baseUrl }: { baseUrl: () => string }): readonly Route[] {
  return [
    defineListRoute({
      path: '/deliveries',
      description: 'Lists the deliveries of your hooks, for 30 days.',
      permission: 'hooks:read',
      parameters: deliveryParameters,
      fields: deliveryFields,
      handle: (view, caller, parameterValues, paging) =>
        listDeliveries(view, caller, parameterValues, paging, baseUrl()),
    }),
    defineGetRoute({
      path: '/deliveries/{delivery_id}',
      description: 'Returns a delivery with its attempts.',
      permission: 'hooks:read',
      fields: deliveryDetailFields,
      handle: (view, caller, ids) => getDelivery(view, caller, ids.delivery_id, baseUrl()),
    }),
    defineActionRoute({
      path: '/deliveries/{delivery_id}/redeliver',
      description: 'Sends a delivery again immediately, with the same Webhook-Id. A failure does not count.',
      permission: 'hooks:write',
      status: 202,
      fields: deliveryFields,
      problems: ['hook_ended', 'hook_disabled'],
      handle: (write, caller, ids) => redeliver(write, caller, ids.delivery_id, baseUrl()),
    }),
  ];
}
