import type { HookKind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import type { Hook } from '../hooks.ts';
import type { FeedPage, Notifications } from '../notifications.ts';
import type { CallOptions } from '../transport.ts';

/** Number of entries per page, which is the maximum of the service. */
export const PAGE_SIZE = 1_000;

/** Maximum number of occurrences that the service scans per page, even if few of them match. */
export const MAX_SCANNED_PER_PAGE = 10_000;

/** Position in the feed and kinds to read from it. */
export type FeedQuery = {
  readonly feed: Notifications;
  /** Cursor to continue after; undefined to read from the oldest stored entry. */
  readonly after: string | undefined;
  readonly kinds: readonly HookKind[];
};

/** Yields the pages of the feed after a cursor, up to the end of the feed at the time of the last request. */
export async function* feedPages(
  { feed, after, kinds }: FeedQuery,
  options: CallOptions,
): AsyncGenerator<FeedPage, void, undefined> {
  const kind = kinds.length === 1 ? kinds[0] : undefined;
  for (let cursor = after; ; ) {
    const page = await feed.list({ after: cursor, kind, limit: PAGE_SIZE }, options);
    yield page;
    if (isLastPage(cursor, page)) return;
    cursor = page.next;
  }
}

/** Input for finding the initial cursor. `hooks` are the hooks that notify this receiver. */
export type InitialCursorOptions = {
  readonly carillon: Carillon;
  readonly hooks: readonly Hook[];
  readonly kinds: readonly HookKind[];
  readonly signal: AbortSignal;
};

/**
 * Returns the initial cursor of a receiver without a stored cursor. It is before the oldest pending delivery, because
 * the service knows which occurrences were not acknowledged. Without pending deliveries, it is the end of the feed.
 *
 * The receiver must not acknowledge a notification with 200 before this cursor is known. The end of the feed is read
 * first, so that deliveries that become pending later are after it.
 */
export async function findInitialCursor({ carillon, hooks, kinds, signal }: InitialCursorOptions): Promise<string> {
  const wholeFeed = { feed: carillon.notifications, after: undefined, kinds };
  let end = '0';
  for await (const { next } of feedPages(wholeFeed, { signal })) end = next;
  const pending = new Set<string>();
  for (const { id, state } of hooks) {
    if (state === 'ended') continue;
    const filters = { hook_id: id, state: 'pending' } as const;
    for await (const { event, resource_url } of carillon.deliveries.each(filters, { signal })) {
      pending.add(`${event} ${resource_url}`);
    }
  }
  if (pending.size === 0) return end;
  for await (const { data } of feedPages(wholeFeed, { signal })) {
    const first = data.find(({ kind, resource_url }) => pending.has(`${kind} ${resource_url}`));
    // Cursors are consecutive integers, so the entry before this one has the cursor minus 1.
    if (first !== undefined) return String(Math.min(Number(first.cursor) - 1, Number(end)));
  }
  return end;
}

/**
 * Whether a page is the last one, which is the case if it is not full. Waiting for an empty page could take forever in
 * a busy account.
 */
function isLastPage(after: string | undefined, { data, next }: FeedPage): boolean {
  if (next === after) return true;
  return after !== undefined && data.length < PAGE_SIZE && Number(next) - Number(after) < MAX_SCANNED_PER_PAGE;
}
