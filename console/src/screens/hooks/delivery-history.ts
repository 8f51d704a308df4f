import type { ActivityDelivery, Delivery, DeliveryDetail, Occurrence } from '../../../../packages/sdk/src/activity.ts';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { formatDuration } from '../../components/timestamp.tsx';
import { showToast } from '../../components/toast.tsx';
import { describeOutcome, getOutcomeAdvice } from '../../delivery/delivery-text.ts';

/** A delivery with its read receipt, and the occurrence that is delivered. */
export type DeliveryWithOccurrence = { readonly occurrence: Occurrence; readonly delivery: ActivityDelivery };

/**
 * Activity of a hook that is loaded so far, by delivery id. `olderPageCursor` is the feed cursor of the next older
 * page: undefined until the first page is loaded, empty after the last page.
 */
export type ActivityCache = {
  readonly deliveryWithOccurrenceById: Map<string, DeliveryWithOccurrence>;
  olderPageCursor: string | undefined;
};

const MAX_PAGE_REQUESTS = 5;

/**
 * Loads the activity of a hook until the occurrences of the given deliveries are found, with at most
 * `MAX_PAGE_REQUESTS` requests. Older deliveries are shown without their occurrence. The newest page is always
 * reloaded, because its read receipts change.
 */
export async function loadHookActivity(
  activityCache: ActivityCache,
  hook: Hook,
  deliveries: readonly Delivery[],
  signal: AbortSignal,
): Promise<void> {
  const loadPage = async (beforeCursor?: string) => {
    const { data, next } = await client.activity.list(
      { hook_id: hook.id, limit: 100, before: beforeCursor },
      { signal },
    );
    for (const occurrence of data)
      for (const delivery of occurrence.deliveries)
        activityCache.deliveryWithOccurrenceById.set(delivery.id, { occurrence, delivery });
    return next;
  };
  const hasUncachedDelivery = () =>
    deliveries.some(({ id, event }) => event !== 'test' && !activityCache.deliveryWithOccurrenceById.has(id));
  if (deliveries.length === 0) return;
  const secondPageCursor = await loadPage();
  activityCache.olderPageCursor ??= secondPageCursor;
  for (
    let requestCount = 1;
    requestCount < MAX_PAGE_REQUESTS && activityCache.olderPageCursor !== '' && hasUncachedDelivery();
    requestCount += 1
  ) {
    activityCache.olderPageCursor = await loadPage(activityCache.olderPageCursor);
  }
}

const ATTEMPT_WAIT_TIMEOUT_MS = 30_000;
const FIRST_POLL_DELAY_MS = 300;
const ATTEMPT_POLL_INTERVAL_MS = 1_000;

/** Polls a delivery until it has a new attempt, and returns the delivery; undefined after the timeout. */
async function waitForAttempt(deliveryId: string, previousAttemptCount: number): Promise<DeliveryDetail | undefined> {
  const deadlineMs = Date.now() + ATTEMPT_WAIT_TIMEOUT_MS;
  for (let waitMs = FIRST_POLL_DELAY_MS; Date.now() < deadlineMs; waitMs = ATTEMPT_POLL_INTERVAL_MS) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const delivery = await client.deliveries.get(deliveryId);
    if (delivery.attempts.length > previousAttemptCount) return delivery;
  }
  return undefined;
}

/** Shows the outcome of a manual attempt as a toast. */
export async function showAttemptOutcome(
  attemptName: string,
  deliveryId: string,
  previousAttemptCount = 0,
): Promise<void> {
  const lastAttempt = (await waitForAttempt(deliveryId, previousAttemptCount))?.attempts.at(-1);
  if (lastAttempt === undefined) {
    showToast(`${attemptName} is on its way; no answer yet.`);
    return;
  }
  const toastText = `${attemptName}: ${describeOutcome(lastAttempt.outcome)} after ${formatDuration(Number(lastAttempt.milliseconds))}.`;
  const advice = getOutcomeAdvice(lastAttempt.outcome);
  showToast(advice === undefined ? toastText : `${toastText} ${advice}`, { isError: lastAttempt.outcome !== '200' });
}
