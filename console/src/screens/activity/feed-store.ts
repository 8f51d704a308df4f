import type { ActivityDelivery, Occurrence } from '../../../../packages/sdk/src/activity.ts';
import { hookKinds } from '../../../../packages/sdk/src/api-types.ts';
import type { FeedEntry } from '../../../../packages/sdk/src/notifications.ts';
import { parseTimestamp } from '../../components/timestamp.tsx';
import { readStatusOf } from '../../delivery/delivery-badges.tsx';

/** A delivered webhook without a read receipt is polled often during this time after its delivery, then slowly. */
const FAST_READ_POLL_PERIOD_MS = 30_000;

/** A delivered webhook without a read receipt is polled until this time after its delivery, and then no longer. */
const READ_POLL_TIMEOUT_MS = 3_600_000;

/** A delivery that is pending for longer than this is polled slowly, because its hook is failing. */
const FAST_PENDING_POLL_PERIOD_MS = 20_000;

/** An occurrence with its deliveries; `deliveries` is undefined until loaded. */
export type ActivityEntry = FeedEntry & { readonly deliveries?: readonly ActivityDelivery[] };

const isHookKind = (kind: string) => hookKinds.some((hookKind) => hookKind === kind);

/**
 * Converts a feed entry to an activity entry. If hooks cannot subscribe to the kind, the entry never has deliveries:
 * `deliveries` is set to an empty list, so that they are not loaded.
 */
export function toActivityEntry(feedEntry: FeedEntry): ActivityEntry {
  return isHookKind(feedEntry.kind) ? feedEntry : { ...feedEntry, deliveries: [] };
}

/** Returns when to poll an entry again: soon, later, or never because its deliveries are final. */
export function pollUrgencyOf({ deliveries }: ActivityEntry, now: number): 'soon' | 'later' | 'never' {
  if (deliveries === undefined) return 'soon';
  const ageMsOf = (timestamp: string) => now - (parseTimestamp(timestamp)?.getTime() ?? 0);
  // A delivery that is pending for longer belongs to a failing hook: the last statement returns `later` for it.
  if (
    deliveries.some(({ state, created_at }) => state === 'pending' && ageMsOf(created_at) < FAST_PENDING_POLL_PERIOD_MS)
  )
    return 'soon';
  const isUnread = (delivery: ActivityDelivery, maxAgeMs: number) =>
    readStatusOf(delivery) === 'never read' && ageMsOf(delivery.date_finalized) < maxAgeMs;
  // A receiver that fetches the record usually does so within seconds of the delivery.
  if (deliveries.some((delivery) => isUnread(delivery, FAST_READ_POLL_PERIOD_MS))) return 'soon';
  return deliveries.some((delivery) => delivery.state === 'pending' || isUnread(delivery, READ_POLL_TIMEOUT_MS))
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

/** Returns the cursor right after an entry. A list request with it as `before` includes the entry itself. */
export function feedCursorAfter(cursor: string): string {
  return String(Number(cursor) + 1);
}
