import { useState } from 'preact/hooks';
import type { DeliveryState } from '../../../../packages/sdk/src/activity.ts';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { currentRoute, hrefTo, updateQueryParams } from '../../app/router.ts';
import { usePolling, useQuery } from '../../app/use-query.ts';
import { LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { EmptyState } from '../../components/page.tsx';
import { capitalize } from '../../delivery/delivery-badges.tsx';
import { formatCountWithNoun, shownStateOf } from '../../delivery/delivery-text.ts';
import { type ActivityCache, loadHookActivity } from './delivery-history.ts';
import { DeliveryRow } from './delivery-row.tsx';

export const HOOK_POLL_INTERVAL_MS = 4_000;
const DELIVERIES_PER_PAGE = 20;

const deliveryStates = ['pending', 'delivered', 'undelivered', 'failed'] as const satisfies readonly DeliveryState[];

/** Paginated deliveries of the hook, filtered by state. */
export function Deliveries({ hook }: { readonly hook: Hook }) {
  const { query } = currentRoute.value;
  const state = query.get('state') ?? '';
  const pageIndex = Math.max(0, (Number(query.get('page')) || 1) - 1);
  const [activityCache] = useState<ActivityCache>(() => ({
    deliveryWithOccurrenceById: new Map(),
    olderPageCursor: undefined,
  }));
  const { data, errorText, reload } = useQuery(
    (signal) => loadDeliveryPage(hook, state, pageIndex, activityCache, signal),
    [hook.id, state, pageIndex, hook.state],
  );
  usePolling(HOOK_POLL_INTERVAL_MS, reload);
  const pageCount = Math.ceil((data?.total ?? 0) / DELIVERIES_PER_PAGE);
  const showPage = (newPageIndex: number) =>
    updateQueryParams({ page: newPageIndex <= 0 ? undefined : String(newPageIndex + 1) });
  return (
    <section class="stack" aria-label="Deliveries">
      <div class="row spread">
        <h2>Deliveries</h2>
        <RadioGroup
          label="State"
          value={state}
          options={[{ value: '', text: 'All' }, ...deliveryStates.map((value) => ({ value, text: capitalize(value) }))]}
          onChange={(value) => updateQueryParams({ state: value, page: undefined })}
        />
      </div>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      {data === undefined && errorText === undefined && <LoadingSkeleton />}
      {data?.deliveries.length === 0 && <NoDeliveries hook={hook} state={state} />}
      {data !== undefined && data.deliveries.length > 0 && (
        <ul class="card lines">
          {data.deliveries.map((delivery) => (
            <DeliveryRow
              key={delivery.id}
              delivery={delivery}
              deliveryWithOccurrence={activityCache.deliveryWithOccurrenceById.get(delivery.id)}
              hookState={shownStateOf(hook)}
              targetUrl={hook.target_url}
              onRedelivered={reload}
            />
          ))}
        </ul>
      )}
      {pageCount > 1 && (
        <nav class="row" aria-label="Pages of deliveries">
          <Button disabled={pageIndex === 0} onClick={() => showPage(pageIndex - 1)}>
            Newer
          </Button>
          <span class="soft small number">
            Page {pageIndex + 1} of {pageCount}, {formatCountWithNoun(data?.total ?? 0, 'delivery', 'deliveries')}
          </span>
          <Button disabled={pageIndex + 1 >= pageCount} onClick={() => showPage(pageIndex + 1)}>
            Older
          </Button>
        </nav>
      )}
    </section>
  );
}

/** Loads a page of deliveries, newest first. The API lists oldest first, so pages are counted from the end. */
async function loadDeliveryPage(
  hook: Hook,
  state: string,
  pageIndex: number,
  activityCache: ActivityCache,
  signal: AbortSignal,
) {
  const stateFilter = deliveryStates.find((deliveryState) => deliveryState === state);
  const filters = { hook_id: hook.id, user_id: hook.user_id, ...(stateFilter && { state: stateFilter }) };
  const { total_records: total } = (await client.deliveries.list({ ...filters, limit: 1 }, { signal })).paging;
  const endOffset = Math.max(0, total - pageIndex * DELIVERIES_PER_PAGE);
  const offset = Math.max(0, endOffset - DELIVERIES_PER_PAGE);
  const { data } =
    endOffset === 0
      ? { data: [] }
      : await client.deliveries.list({ ...filters, offset, limit: endOffset - offset }, { signal });
  const deliveries = data.toReversed();
  await loadHookActivity(activityCache, hook, deliveries, signal);
  return { deliveries, total };
}

function NoDeliveries({ hook, state }: { readonly hook: Hook; readonly state: string }) {
  if (state !== '') return <EmptyState icon="check" title={`Nothing is ${state}`} />;
  return (
    <EmptyState icon="bell" title="No deliveries yet">
      <p>
        {hook.state === 'ended'
          ? 'Deliveries are kept for 30 days.'
          : 'Send a test, or cause one of its events. The delivery and the response appear here.'}
      </p>
      <ButtonLink href={hrefTo('activity')}>Open the activity</ButtonLink>
    </EmptyState>
  );
}
