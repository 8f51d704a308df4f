import type { HookDelivery, Occurrence } from '../../../../packages/sdk/src/activity.ts';
import { kinds } from '../../../../packages/sdk/src/api-types.ts';
import type { Notification } from '../../../../packages/sdk/src/notifications.ts';
import { parseTimestamp } from '../../components/timestamp.tsx';
import { readStatusOf } from '../../delivery/delivery-badges.tsx';

/** A delivery without a read receipt is polled often for this long after it was sent, then slowly. */
const FAST_READ_POLL_MS = 30_000;

/** A delivery without a read receipt is not polled any more after this. */
const READ_POLL_TIMEOUT_MS = 3_600_000;

/** Pending for longer than this means that the hook is failing. */
const FAST_PENDING_POLL_MS = 20_000;

/** An occurrence with its deliveries; `deliveries` is undefined until loaded. */
export type Entry = Notification & { readonly deliveries?: readonly HookDelivery[] };

const isHookKind = (kind: string) => kinds.some((one) => one === kind);

/** Converts a feed item. A kind that hooks cannot subscribe to has no deliveries: there is nothing to load. */
export function entryOf(one: Notification): Entry {
  return isHookKind(one.kind) ? one : { ...one, deliveries: [] };
}

/** Polling priority of an entry: often, slowly, or not any more because its deliveries are final. */
export function pollUrgency({ deliveries }: Entry, now: number): 'soon' | 'later' | 'never' {
  if (deliveries === undefined) return 'soon';
  const age = (moment: string) => now - (parseTimestamp(moment)?.getTime() ?? 0);
  // Pending for longer: its hook is failing and backs off, poll slowly.
  if (deliveries.some(({ state, created_at }) => state === 'pending' && age(created_at) < FAST_PENDING_POLL_MS))
    return 'soon';
  const isUnread = (delivery: HookDelivery, maxAgeMs: number) =>
    readStatusOf(delivery) === 'never read' && age(delivery.date_finalized) < maxAgeMs;
  // A receiver that fetches records usually does so within seconds.
  if (deliveries.some((told) => isUnread(told, FAST_READ_POLL_MS))) return 'soon';
  return deliveries.some((told) => told.state === 'pending' || isUnread(told, READ_POLL_TIMEOUT_MS))
    ? 'later'
    : 'never';
}

/**
 * Updates entries with loaded deliveries. Unchanged entries keep their identity, so that their rows are not
 * rendered.
 */
export function merged(entries: readonly Entry[], found: readonly Occurrence[]): readonly Entry[] {
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

/** Cursor after an entry: used as `before`, it includes the entry itself. */
export function cursorAfter(cursor: string): string {
  return String(Number(cursor) + 1);
}
