import { sql } from 'kysely';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import type { StoredRecordOf } from '../../http/fields/field.ts';
import { readOnlyId } from '../../http/fields/reference-fields.ts';
import { readOnlyDigits } from '../../http/fields/scalar-fields.ts';
import { defineListRoute } from '../../http/routes/define-routes.ts';
import { type Page, type PageRequest, waitForSliceTurn } from '../../http/routes/pagination.ts';
import { idParameter, type ParsedParameters } from '../../http/routes/query-parameters.ts';
import type { Route } from '../../http/routes/route.ts';
import type { Caller } from '../../permissions.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { pageStartOf, toPage } from '../core/pagination.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { resolveListedUserId } from '../users/lookup.ts';
import { countAllSql, getLatestIntervals, isDeliveredSql, selectAttempts } from './select-attempts.ts';

/** Response fields: the attempts of one hook in one hour, by outcome. */
const hourFields = {
  hook_id: readOnlyId('The hook.'),
  hour: readOnlyTimestamp('When the hour begins, UTC.'),
  delivered: readOnlyDigits('Attempts that were delivered.'),
  failed: readOnlyDigits('Attempts that failed, without local errors.'),
  milliseconds: readOnlyDigits('Average duration in milliseconds.'),
};

const hourParameters = {
  hook_id: idParameter('Only this hook.'),
  user_id: idParameter('Another user instead of yourself; for admins.'),
};

type HourRow = StoredRecordOf<typeof hourFields>;

const HOUR_MS = 3_600_000;
const HOURS_PER_HOOK = 24;

const orderByHour = ascendingOrder('hour', numberKey('hook_id'), numberKey('hour'));

/**
 * Lists the last 24 hours of each hook, including the current hour and hours without attempts. Every hook has the same
 * number of rows, so a page corresponds to a range of hooks, and only the attempts of these hooks are counted.
 */
async function listHours(
  view: AccountView,
  caller: Caller,
  parameterValues: ParsedParameters<typeof hourParameters>,
  paging: PageRequest,
): Promise<Page<HourRow>> {
  let hooksQuery = view
    .selectFrom('hooks')
    .where('hooks.user_id', '=', resolveListedUserId(caller, parameterValues.user_id));
  if (parameterValues.hook_id !== undefined)
    hooksQuery = hooksQuery.where('hooks.hook_id', '=', parameterValues.hook_id);
  const { total } = await hooksQuery.select(countAllSql.as('total')).executeTakeFirstOrThrow();
  const { offset, sortKey = [0, 0] } = pageStartOf(paging, orderByHour);
  const [afterHookId, afterHour] = sortKey as [number, number];
  const firstHookOffset = Math.floor(offset / HOURS_PER_HOOK);
  const skippedRowCount = offset - firstHookOffset * HOURS_PER_HOOK;
  const hookRows = await hooksQuery
    .select('hooks.hook_id')
    .where('hooks.hook_id', '>=', afterHookId)
    .orderBy('hooks.hook_id')
    .offset(firstHookOffset)
    // Load one more hook, because rows of the first hook may have been on the previous page.
    .limit(Math.ceil((skippedRowCount + paging.limit + 1) / HOURS_PER_HOOK) + 1)
    .execute();
  const hookIds = hookRows.map((row) => row.hook_id);
  const hourRows = await loadHourRows(view, hookIds);
  const rowsAfterCursor = hourRows.filter(
    (hourRow) => Number(hourRow.hook_id) > afterHookId || Number(hourRow.hour) > afterHour,
  );
  return {
    ...toPage(rowsAfterCursor.slice(skippedRowCount, skippedRowCount + paging.limit + 1), orderByHour, paging.limit),
    total: total * HOURS_PER_HOOK,
  };
}

async function loadHourRows(view: AccountView, hookIds: readonly number[]): Promise<HourRow[]> {
  if (hookIds.length === 0) return [];
  const hourIntervals = getLatestIntervals(view.now, HOUR_MS, HOURS_PER_HOOK).toReversed();
  const rowsByHookAndHour = new Map<string, HourRow>();
  for (const hourInterval of hourIntervals) {
    await waitForSliceTurn();
    const attemptSums = await selectAttempts(view, hourInterval, sql`attempts.hook_id in (${sql.join(hookIds)})`)
      .select(['attempts.hook_id', isDeliveredSql.as('delivered'), countAllSql.as('attempts')])
      .select(sql<number>`cast(sum(attempts.milliseconds) as bigint)`.as('milliseconds'))
      .groupBy(['attempts.hook_id', isDeliveredSql])
      .execute();
    for (const [hookId, sumsOfHook] of Map.groupBy(attemptSums, (row) => row.hook_id)) {
      rowsByHookAndHour.set(`${hookId} ${hourInterval.from}`, toHourRow(hookId, hourInterval.from, sumsOfHook));
    }
  }
  return hookIds.flatMap((hookId) =>
    hourIntervals.map(({ from }) => rowsByHookAndHour.get(`${hookId} ${from}`) ?? toHourRow(hookId, from, [])),
  );
}

/**
 * The attempts of one hook in one hour with the same result: delivered if `delivered` is 1, failed if it is 0.
 * `attempts` is their number, and `milliseconds` is their total duration.
 */
type AttemptSums = { readonly delivered: number; readonly attempts: number; readonly milliseconds: number };

function toHourRow(hookId: number, hour: number, attemptSums: readonly AttemptSums[]): HourRow {
  const delivered = attemptSums.find((row) => row.delivered === 1)?.attempts ?? 0;
  const failed = attemptSums.find((row) => row.delivered === 0)?.attempts ?? 0;
  const totalMs = attemptSums.reduce((sum, row) => sum + row.milliseconds, 0);
  const milliseconds = Math.round(totalMs / Math.max(1, delivered + failed));
  return { hook_id: hookId, hour, delivered, failed, milliseconds };
}

/** The route of the hourly statistics, which only the console group serves. */
export const hourlyRoutes: readonly Route[] = [
  defineListRoute({
    path: '/hours',
    description: 'Lists the last 24 hours of your hooks, hour by hour.',
    permission: 'hooks:read',
    parameters: hourParameters,
    fields: hourFields,
    handle: listHours,
  }),
];
