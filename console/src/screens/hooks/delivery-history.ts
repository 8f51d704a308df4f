import type { Delivery, DeliveryDetail, HookDelivery, Occurrence } from '../../../../packages/sdk/src/activity.ts';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { formatDuration } from '../../components/timestamp.tsx';
import { showToast } from '../../components/toast.tsx';
import { describeOutcome, outcomeAdvice } from '../../delivery/delivery-text.ts';

/** A delivery with its read receipt, and the occurrence that it is about. */
export type DeliveryWithOccurrence = { readonly occurrence: Occurrence; readonly delivery: HookDelivery };

/** Activity of a hook that was loaded so far, by delivery id; `before` is the cursor of the next older page. */
export type ActivityCache = { readonly byDeliveryId: Map<string, DeliveryWithOccurrence>; before: string | undefined };

const MAX_REQUESTS = 5;

/**
 * Loads the activity of a hook back to the given deliveries, with at most `MAX_REQUESTS` requests; even older
 * deliveries are shown without their occurrence. The newest page is always reloaded, because its read receipts change.
 */
export async function loadActivity(
  cache: ActivityCache,
  hook: Hook,
  deliveries: readonly Delivery[],
  signal: AbortSignal,
): Promise<void> {
  const loadPage = async (before?: string) => {
    const { data, next } = await client.activity.list({ hook_id: hook.id, limit: 100, before }, { signal });
    for (const occurrence of data)
      for (const delivery of occurrence.deliveries) cache.byDeliveryId.set(delivery.id, { occurrence, delivery });
    return next;
  };
  const isMissing = () => deliveries.some(({ id, event }) => event !== 'test' && !cache.byDeliveryId.has(id));
  if (deliveries.length === 0) return;
  const next = await loadPage();
  cache.before ??= next;
  for (let requests = 1; requests < MAX_REQUESTS && cache.before !== '' && isMissing(); requests += 1) {
    cache.before = await loadPage(cache.before);
  }
}

const ATTEMPT_TIMEOUT_MS = 30_000;
const FIRST_POLL_DELAY_MS = 300;
const POLL_INTERVAL_MS = 1_000;

/** Polls a delivery until it has more than `before` attempts; returns undefined after the timeout. */
async function waitForAttempt(deliveryId: string, before: number): Promise<DeliveryDetail | undefined> {
  const deadline = Date.now() + ATTEMPT_TIMEOUT_MS;
  for (let waitMs = FIRST_POLL_DELAY_MS; Date.now() < deadline; waitMs = POLL_INTERVAL_MS) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const delivery = await client.deliveries.get(deliveryId);
    if (delivery.attempts.length > before) return delivery;
  }
  return undefined;
}

/** Shows the outcome of a manual attempt as a toast. */
export async function showAttemptOutcome(what: string, deliveryId: string, before = 0): Promise<void> {
  const last = (await waitForAttempt(deliveryId, before))?.attempts.at(-1);
  if (last === undefined) {
    showToast(`${what} is on its way; no answer yet.`);
    return;
  }
  const words = `${what}: ${describeOutcome(last.outcome)} after ${formatDuration(Number(last.milliseconds))}.`;
  const advice = outcomeAdvice(last.outcome);
  showToast(advice === undefined ? words : `${words} ${advice}`, { isBad: last.outcome !== '200' });
}
