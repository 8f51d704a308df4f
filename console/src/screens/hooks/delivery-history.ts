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
  readonly byDeliveryId: Map<string, DeliveryWithOccurrence>;
  olderPageCursor: string | undefined;
};

const MAX_REQUESTS = 5;

/**
 * Loads the activity of a hook until the occurrences of the given deliveries are found, with at most `MAX_REQUESTS`
 * requests. Older deliveries are shown without their occurrence. The newest page is always reloaded, because its read
 * receipts change.
 */
export async function loadActivity(
  cache: ActivityCache,
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
      for (const delivery of occurrence.deliveries) cache.byDeliveryId.set(delivery.id, { occurrence, delivery });
    return next;
  };
  const hasUncachedDelivery = () => deliveries.some(({ id, event }) => event !== 'test' && !cache.byDeliveryId.has(id));
  if (deliveries.length === 0) return;
  const olderCursor = await loadPage();
  cache.olderPageCursor ??= olderCursor;
  for (
    let requestCount = 1;
    requestCount < MAX_REQUESTS && cache.olderPageCursor !== '' && hasUncachedDelivery();
    requestCount += 1
  ) {
    cache.olderPageCursor = await loadPage(cache.olderPageCursor);
  }
}

const ATTEMPT_TIMEOUT_MS = 30_000;
const FIRST_POLL_DELAY_MS = 300;
const POLL_INTERVAL_MS = 1_000;

/** Polls a delivery until it has more than `attemptsBefore` attempts; returns undefined after the timeout. */
async function waitForAttempt(deliveryId: string, attemptsBefore: number): Promise<DeliveryDetail | undefined> {
  const deadline = Date.now() + ATTEMPT_TIMEOUT_MS;
  for (let waitMs = FIRST_POLL_DELAY_MS; Date.now() < deadline; waitMs = POLL_INTERVAL_MS) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const delivery = await client.deliveries.get(deliveryId);
    if (delivery.attempts.length > attemptsBefore) return delivery;
  }
  return undefined;
}

/** Shows the outcome of a manual attempt as a toast. */
export async function showAttemptOutcome(attemptName: string, deliveryId: string, attemptsBefore = 0): Promise<void> {
  const lastAttempt = (await waitForAttempt(deliveryId, attemptsBefore))?.attempts.at(-1);
  if (lastAttempt === undefined) {
    showToast(`${attemptName} is on its way; no answer yet.`);
    return;
  }
  const message = `${attemptName}: ${describeOutcome(lastAttempt.outcome)} after ${formatDuration(Number(lastAttempt.milliseconds))}.`;
  const advice = getOutcomeAdvice(lastAttempt.outcome);
  showToast(advice === undefined ? message : `${message} ${advice}`, { isError: lastAttempt.outcome !== '200' });
}
