import { sql } from 'kysely';
import type { OutputOf } from '../../http/fields/field.ts';
import { readOnlyId, readOnlyNumber, readOnlyTimestamp } from '../../http/fields/field-types.ts';
import { nextSlice } from '../../http/routes/page-slices.ts';
import type { Page, Paging } from '../../http/routes/pagination.ts';
import { type Given, idParameter } from '../../http/routes/query-parameters.ts';
import { list, type Route } from '../../http/routes/route.ts';
import type { Caller } from '../../permissions.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { beginOf, pageIn } from '../core/pagination.ts';
import { ascending, number } from '../core/sorting.ts';
import { attemptsIn, count, isDelivered, lastBuckets } from '../deliveries/deliveries.ts';
import { resolveHookOwner } from '../users/lookup.ts';

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

const byHour = ascending('hour', number('hook_id'), number('hour'));

/**
 * Lists the last 24 hours of each hook, including the current hour and hours without attempts. Every hook has the same
 * number of rows, so a page corresponds to a range of hooks, and only the attempts of these hooks are counted.
 */
export async function listHours(
  view: AccountView,
  caller: Caller,
  given: Given<typeof hourParameters>,
  paging: Paging,
): Promise<Page<HourRow>> {
  let hooks = view.selectFrom('hooks').where('hooks.user_id', '=', resolveHookOwner(caller, given.user_id));
  if (given.hook_id !== undefined) hooks = hooks.where('hooks.hook_id', '=', given.hook_id);
  const { total } = await hooks.select(count.as('total')).executeTakeFirstOrThrow();
  const { offset, place = [0, 0] } = beginOf(paging, byHour);
  const [hookId, hour] = place as [number, number];
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
  const hours = await hoursOf(view, hookIds);
  const found = hours.filter((one) => Number(one.hook_id) > hookId || Number(one.hour) > hour);
  return { ...pageIn(found.slice(skipped, skipped + paging.limit + 1), byHour, paging.limit), total: total * HOURS };
}

async function hoursOf(view: AccountView, hookIds: readonly number[]): Promise<HourRow[]> {
  if (hookIds.length === 0) return [];
  const buckets = lastBuckets(view.now, HOUR_MS, HOURS).toReversed();
  const found = new Map<string, HourRow>();
  for (const bucket of buckets) {
    await nextSlice();
    const sums = await attemptsIn(view, bucket, sql`attempts.hook_id in (${sql.join(hookIds)})`)
      .select(['attempts.hook_id', isDelivered.as('delivered'), count.as('attempts')])
      .select(sql<number>`cast(sum(attempts.milliseconds) as bigint)`.as('milliseconds'))
      .groupBy(['attempts.hook_id', isDelivered])
      .execute();
    for (const [hookId, sumsOfHook] of Map.groupBy(sums, (row) => row.hook_id)) {
      found.set(`${hookId} ${bucket.from}`, hourOf(hookId, bucket.from, sumsOfHook));
    }
  }
  return hookIds.flatMap((hookId) =>
    buckets.map(({ from }) => found.get(`${hookId} ${from}`) ?? hourOf(hookId, from, [])),
  );
}

type Sums = { readonly delivered: number; readonly attempts: number; readonly milliseconds: number };

function hourOf(hookId: number, hour: number, sums: readonly Sums[]): HourRow {
  const delivered = sums.find((row) => row.delivered === 1)?.attempts ?? 0;
  const failed = sums.find((row) => row.delivered === 0)?.attempts ?? 0;
  const totalMs = sums.reduce((sum, row) => sum + row.milliseconds, 0);
  const milliseconds = Math.round(totalMs / Math.max(1, delivered + failed));
  return { hook_id: hookId, hour, delivered, failed, milliseconds };
}

/** Routes that only the console group serves. */
export const hourRoutes: readonly Route[] = [
  list({
    path: '/hours',
    description: 'Lists the last 24 hours of your hooks, hour by hour.',
    permission: 'hooks:read',
    parameters: hourParameters,
    fields: hourFields,
    call: listHours,
  }),
];
