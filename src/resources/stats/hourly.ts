import { sql } from 'kysely';
import type { OutputOf } from '../../http/fields/field.ts';
import { readOnlyId, readOnlyNumber, readOnlyTimestamp } from '../../http/fields/field-types.ts';
import { waitForNextSlice } from '../../http/routes/page-slices.ts';
import type { Page, PageRequest } from '../../http/routes/pagination.ts';
import { idParameter, type ParsedParameters } from '../../http/routes/query-parameters.ts';
import { list, type Route } from '../../http/routes/route.ts';
import type { Caller } from '../../permissions.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { pageStartOf, toPage } from '../core/pagination.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { countAll, isDeliveredSql, latestBuckets, selectAttempts } from '../deliveries/deliveries.ts';
import { resolveListedUser } from '../users/lookup.ts';

/** Response fields: the attempts of one hook in one hour, by outcome. */
export const hourFields = {
  hook_id: readOnlyId('The hook.'),
  hour: readOnlyTimestamp('When the hour begins, UTC.'),
  delivered: readOnlyNumber('Attempts that were delivered.'),
  failed: readOnlyNumber('Attempts that failed, without local errors.'),
  milliseconds: readOnlyNumber('Average duration in milliseconds.'),
};

export const hourParameters = {
  hook_id: idParameter('Only this hook.'),
  user_id: idParameter('Another user instead of yourself; for admins.'),
};

type HourRow = OutputOf<typeof hourFields>;

const HOUR_MS = 3_600_000;
const HOURS = 24;

const byHour = ascendingOrder('hour', numberKey('hook_id'), numberKey('hour'));

/**
 * Lists the last 24 hours of each hook, including the current hour and hours without attempts. Every hook has the same
 * number of rows, so a page corresponds to a range of hooks, and only the attempts of these hooks are counted.
 */
export async function listHours(
  view: AccountView,
  caller: Caller,
  given: ParsedParameters<typeof hourParameters>,
  paging: PageRequest,
): Promise<Page<HourRow>> {
  let hooks = view.selectFrom('hooks').where('hooks.user_id', '=', resolveListedUser(caller, given.user_id));
  if (given.hook_id !== undefined) hooks = hooks.where('hooks.hook_id', '=', given.hook_id);
  const { total } = await hooks.select(countAll.as('total')).executeTakeFirstOrThrow();
  const { offset, sortKey = [0, 0] } = pageStartOf(paging, byHour);
  const [hookId, hour] = sortKey as [number, number];
  const first = Math.floor(offset / HOURS);
  const skipped = offset - first * HOURS;
  const rows = await hooks
    .select('hooks.hook_id')
    .where('hooks.hook_id', '>=', hookId)
    .orderBy('hooks.hook_id')
    .offset(first)
    // Load one more hook, because rows of the first hook may have been on the previous page.
    .limit(Math.ceil((skipped + paging.limit + 1) / HOURS) + 1)
    .execute();
  const hookIds = rows.map((row) => row.hook_id);
  const hours = await loadHours(view, hookIds);
  const found = hours.filter((one) => Number(one.hook_id) > hookId || Number(one.hour) > hour);
  return { ...toPage(found.slice(skipped, skipped + paging.limit + 1), byHour, paging.limit), total: total * HOURS };
}

async function loadHours(view: AccountView, hookIds: readonly number[]): Promise<HourRow[]> {
  if (hookIds.length === 0) return [];
  const buckets = latestBuckets(view.now, HOUR_MS, HOURS).toReversed();
  const found = new Map<string, HourRow>();
  for (const bucket of buckets) {
    await waitForNextSlice();
    const sums = await selectAttempts(view, bucket, sql`attempts.hook_id in (${sql.join(hookIds)})`)
      .select(['attempts.hook_id', isDeliveredSql.as('delivered'), countAll.as('attempts')])
      .select(sql<number>`cast(sum(attempts.milliseconds) as bigint)`.as('milliseconds'))
      .groupBy(['attempts.hook_id', isDeliveredSql])
      .execute();
    for (const [hookId, sumsOfHook] of Map.groupBy(sums, (row) => row.hook_id)) {
      found.set(`${hookId} ${bucket.from}`, toHourRow(hookId, bucket.from, sumsOfHook));
    }
  }
  return hookIds.flatMap((hookId) =>
    buckets.map(({ from }) => found.get(`${hookId} ${from}`) ?? toHourRow(hookId, from, [])),
  );
}

type AttemptSums = { readonly delivered: number; readonly attempts: number; readonly milliseconds: number };

function toHourRow(hookId: number, hour: number, sums: readonly AttemptSums[]): HourRow {
  const delivered = sums.find((row) => row.delivered === 1)?.attempts ?? 0;
  const failed = sums.find((row) => row.delivered === 0)?.attempts ?? 0;
  const totalMs = sums.reduce((sum, row) => sum + row.milliseconds, 0);
  const milliseconds = Math.round(totalMs / Math.max(1, delivered + failed));
  return { hook_id: hookId, hour, delivered, failed, milliseconds };
}

/** Routes that only the console group serves. */
export const hourlyRoutes: readonly Route[] = [
  list({
    path: '/hours',
    description: 'Lists the last 24 hours of your hooks, hour by hour.',
    permission: 'hooks:read',
    parameters: hourParameters,
    fields: hourFields,
    call: listHours,
  }),
];
