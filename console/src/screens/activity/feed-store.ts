import type { HookDelivery, Occurrence } from '../../../../packages/sdk/src/activity.ts';
import { hookKinds } from '../../../../packages/sdk/src/api-types.ts';
import type { FeedEntry } from '../../../../packages/sdk/src/notifications.ts';
import { parseTimestamp } from '../../components/timestamp.tsx';
import { readStatusOf } from '../../delivery/delivery-badges.tsx';

/** A delivered notification without a read receipt is polled often during this time after delivery, then slowly. */
const FAST_READ_POLL_PERIOD_MS = 30_000;

/** A delivered notification without a read receipt is not polled any more after this time. */
const READ_POLL_TIMEOUT_MS = 3_600_000;

/** A delivery that is pending for longer than this is polled slowly, because its hook is failing. */
const FAST_PENDING_POLL_PERIOD_MS = 20_000;

/** An occurrence with its deliveries; `deliveries` is undefined until loaded. */
export type ActivityEntry = FeedEntry & { readonly deliveries?: readonly HookDelivery[] };

const isHookKind = (kind: string) => hookKinds.some((one) => one === kind);

/**
 * Converts a feed item to an entry. An item of a kind that hooks cannot subscribe to has no deliveries, so none have
 * to be loaded.
 */
export function toFeedEntry(one: FeedEntry): ActivityEntry {
  return isHookKind(one.kind) ? one : { ...one, deliveries: [] };
}

/** Returns whether to poll an entry often, slowly, or not any more because its deliveries are final. */
export function pollUrgency({ deliveries }: ActivityEntry, now: number): 'soon' | 'later' | 'never' {
  if (deliveries === undefined) return 'soon';
  const ageMs = (timestamp: string) => now - (parseTimestamp(timestamp)?.getTime() ?? 0);
  // A delivery that is pending for a longer time belongs to a failing hook and is polled slowly (see below).
  if (
    deliveries.some(({ state, created_at }) => state === 'pending' && ageMs(created_at) < FAST_PENDING_POLL_PERIOD_MS)
  )
    return 'soon';
  const isUnread = (delivery: HookDelivery, maxAgeMs: number) =>
    readStatusOf(delivery) === 'never read' && ageMs(delivery.date_finalized) < maxAgeMs;
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
  found: readonly Occurrence[],
): readonly ActivityEntry[] {
  const byCursor = new Map(found.map((one) => [one.cursor, one]));
  let hasChanged = false;
  const next = entries.map((entry) => {
    const one = byCursor.get(entry.cursor);
    if (one === undefined || JSON.stringify(one.deliveries) === JSON.stringify(entry.deliveries)) return entry;
    hasChanged = true;
    return one;
  });
  return hasChanged ? next : entries;
}

/** Returns the cursor after an entry. A list request with this cursor as `before` includes the entry itself. */
export function cursorAfter(cursor: string): string {
  return String(Number(cursor) + 1);
}
