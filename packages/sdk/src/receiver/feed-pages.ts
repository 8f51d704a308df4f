import type { Kind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import type { Hook } from '../hooks.ts';
import type { FeedPage, Notifications } from '../notifications.ts';
import type { CallOptions } from '../transport.ts';

/** Number of entries per page, which is the maximum of the service. */
export const ENTRIES = 1_000;

/** Maximum number of occurrences that the service scans per page, even if few of them match. */
export const MAX_SCANNED = 10_000;

/** Position in the feed and kinds to read from it. */
export type FeedQuery = {
  readonly feed: Notifications;
  /** Cursor to continue after; undefined to read from the oldest stored entry. */
  readonly after: string | undefined;
  readonly kinds: readonly Kind[];
};

/** Yields the pages of the feed after a cursor, up to the end of the feed at the time of the last request. */
export async function* feedPages(
  { feed, after, kinds }: FeedQuery,
  options: CallOptions,
): AsyncGenerator<FeedPage, void, undefined> {
  const kind = kinds.length === 1 ? kinds[0] : undefined;
  for (let cursor = after; ; ) {
    const page = await feed.list({ after: cursor, kind, limit: ENTRIES }, options);
    yield page;
    if (isLast(cursor, page)) return;
    cursor = page.next;
  }
}

/** Input for finding the initial cursor. `hooks` are the hooks that notify this receiver. */
export type CursorOptions = {
  readonly carillon: Carillon;
  readonly hooks: readonly Hook[];
  readonly kinds: readonly Kind[];
  readonly signal: AbortSignal;
};

/**
 * Returns the initial cursor of a receiver without a stored cursor. It is before the oldest pending delivery, because
 * the service knows which occurrences were not acknowledged. Without pending deliveries, it is the end of the feed.
 *
 * The receiver must not acknowledge a notification with 200 before this cursor is known. The end of the feed is read
 * first, so that deliveries that become pending later are after it.
 */
export async function initialCursor({ carillon, hooks, kinds, signal }: CursorOptions): Promise<string> {
  const whole = { feed: carillon.notifications, after: undefined, kinds };
  let end = '0';
  for await (const { next } of feedPages(whole, { signal })) end = next;
  const pending = new Set<string>();
  for (const { id, state } of hooks) {
    if (state === 'ended') continue;
    const filters = { hook_id: id, state: 'pending' } as const;
    for await (const { event, resource_url } of carillon.deliveries.each(filters, { signal })) {
      pending.add(`${event} ${resource_url}`);
    }
  }
  if (pending.size === 0) return end;
  for await (const { data } of feedPages(whole, { signal })) {
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
function isLast(after: string | undefined, { data, next }: FeedPage): boolean {
  if (next === after) return true;
  return after !== undefined && data.length < ENTRIES && Number(next) - Number(after) < MAX_SCANNED;
}
