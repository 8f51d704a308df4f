import type { HookKind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import type { Hook } from '../hooks.ts';
import type { FeedPage, Notifications } from '../notifications.ts';
import type { CallOptions } from '../transport.ts';

/** Number of entries per page, which is the maximum of the service. */
export const FEED_ENTRIES_PER_PAGE = 1_000;

/** Maximum number of occurrences that the service scans per page, even if few of them match. */
export const MAX_SCANNED_PER_PAGE = 10_000;

/** The position in the feed at which to start, and the event kinds (kinds of occurrence) to read. */
export type FeedQuery = {
  readonly feed: Notifications;
  /** Cursor to continue after; undefined to read from the oldest stored entry. */
  readonly afterCursor: string | undefined;
  readonly kinds: readonly HookKind[];
};

/** Yields the pages of the feed after a cursor, up to the end of the feed at the time of the last request. */
export async function* readFeedPages(
  { feed, afterCursor, kinds }: FeedQuery,
  options: CallOptions,
): AsyncGenerator<FeedPage, void, undefined> {
  const kind = kinds.length === 1 ? kinds[0] : undefined;
  for (let cursor = afterCursor; ; ) {
    const page = await feed.list({ after: cursor, kind, limit: FEED_ENTRIES_PER_PAGE }, options);
    yield page;
    if (isLastPage(cursor, page)) return;
    cursor = page.next;
  }
}

/** Input for finding the initial cursor. */
export type InitialCursorOptions = {
  readonly carillon: Carillon;
  /** The hooks that notify this receiver. */
  readonly hooks: readonly Hook[];
  readonly kinds: readonly HookKind[];
  readonly signal: AbortSignal;
};

/**
 * Returns the initial cursor of a receiver without a stored cursor: the position before the oldest pending delivery. A
 * pending delivery has not been acknowledged yet. Without pending deliveries, the cursor is the end of the feed.
 *
 * The receiver must not acknowledge a notification with 200 before this cursor is known. The end of the feed is read
 * first, so that deliveries that become pending later are after it.
 */
export async function findInitialCursor({ carillon, hooks, kinds, signal }: InitialCursorOptions): Promise<string> {
  const wholeFeedQuery = { feed: carillon.notifications, afterCursor: undefined, kinds };
  let endCursor = '0';
  for await (const { next } of readFeedPages(wholeFeedQuery, { signal })) endCursor = next;
  const pendingOccurrenceKeys = new Set<string>();
  for (const { id, state } of hooks) {
    if (state === 'ended') continue;
    const filters = { hook_id: id, state: 'pending' } as const;
    for await (const { event, resource_url } of carillon.deliveries.each(filters, { signal })) {
      pendingOccurrenceKeys.add(`${event} ${resource_url}`);
    }
  }
  if (pendingOccurrenceKeys.size === 0) return endCursor;
  for await (const { data } of readFeedPages(wholeFeedQuery, { signal })) {
    const firstPendingEntry = data.find(({ kind, resource_url }) =>
      pendingOccurrenceKeys.has(`${kind} ${resource_url}`),
    );
    // Cursors are consecutive integers, so subtracting 1 gives the cursor of the entry before.
    if (firstPendingEntry !== undefined)
      return String(Math.min(Number(firstPendingEntry.cursor) - 1, Number(endCursor)));
  }
  return endCursor;
}

/**
 * Whether a page is the last one: it is not full, and the service did not stop at its scan limit. Waiting for an empty
 * page could take forever in a busy account.
 */
function isLastPage(afterCursor: string | undefined, { data, next }: FeedPage): boolean {
  if (next === afterCursor) return true;
  return (
    afterCursor !== undefined &&
    data.length < FEED_ENTRIES_PER_PAGE &&
    Number(next) - Number(afterCursor) < MAX_SCANNED_PER_PAGE
  );
}
