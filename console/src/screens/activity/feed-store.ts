import type { ActivityDelivery, Occurrence } from '../../../../packages/sdk/src/activity.ts';
import type { FeedEntry } from '../../../../packages/sdk/src/notifications.ts';
import { parseTimestamp } from '../../components/timestamp.tsx';
import { receiptStatusOf } from '../../delivery/delivery-badges.tsx';

/** Time after a delivery during which a missing read receipt is polled often; after that it is polled slowly. */
const FAST_READ_POLL_PERIOD_MS = 30_000;

/** Time after a delivery at which the polling for a missing read receipt stops. */
const READ_POLL_TIMEOUT_MS = 3_600_000;

/** Time during which a pending delivery is polled often; later it is polled slowly, because its hook is failing. */
const FAST_PENDING_POLL_PERIOD_MS = 20_000;

/** An occurrence (domain event) of the feed, with its deliveries; `deliveries` is undefined until loaded. */
export type ActivityEntry = FeedEntry & { readonly deliveries?: readonly ActivityDelivery[] };

/** Returns how soon to poll the deliveries of an entry again; `never` means that no further change is expected. */
export function pollUrgencyOf({ deliveries }: ActivityEntry, now: number): 'soon' | 'later' | 'never' {
  if (deliveries === undefined) return 'soon';
  const ageMsOf = (timestamp: string) => now - (parseTimestamp(timestamp)?.getTime() ?? 0);
  // A delivery that is pending for longer belongs to a failing hook: the last statement returns `later` for it.
  if (
    deliveries.some(({ state, created_at }) => state === 'pending' && ageMsOf(created_at) < FAST_PENDING_POLL_PERIOD_MS)
  )
    return 'soon';
  const isRecentAndUnread = (delivery: ActivityDelivery, maxAgeMs: number) =>
    receiptStatusOf(delivery) === 'never read' && ageMsOf(delivery.date_finalized) < maxAgeMs;
  // A receiver that fetches the record usually does so within seconds of the delivery.
  if (deliveries.some((delivery) => isRecentAndUnread(delivery, FAST_READ_POLL_PERIOD_MS))) return 'soon';
  return deliveries.some(
    (delivery) => delivery.state === 'pending' || isRecentAndUnread(delivery, READ_POLL_TIMEOUT_MS),
  )
    ? 'later'
    : 'never';
}

/**
 * Updates entries with loaded deliveries. Unchanged entries keep their identity, so that their rows are not rendered
 * again.
 */
export function mergeDeliveries(
  entries: readonly ActivityEntry[],
  loadedOccurrences: readonly Occurrence[],
): readonly ActivityEntry[] {
  const occurrenceByCursor = new Map(loadedOccurrences.map((occurrence) => [occurrence.cursor, occurrence]));
  let hasChanged = false;
  const mergedEntries = entries.map((entry) => {
    const loadedOccurrence = occurrenceByCursor.get(entry.cursor);
    if (
      loadedOccurrence === undefined ||
      JSON.stringify(loadedOccurrence.deliveries) === JSON.stringify(entry.deliveries)
    )
      return entry;
    hasChanged = true;
    return loadedOccurrence;
  });
  return hasChanged ? mergedEntries : entries;
}

/** Returns the feed cursor right after an entry. A list request with this cursor as `before` includes the entry. */
export function feedCursorAfter(cursor: string): string {
  return String(Number(cursor) + 1);
}
