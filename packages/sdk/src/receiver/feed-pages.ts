import type { Kind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import type { Hook } from '../hooks.ts';
import type { FeedPage, Notifications } from '../notifications.ts';
import type { CallOptions } from '../transport.ts';

/** Entries per page: the maximum of the service. */
export const ENTRIES = 1_000;

/** The service scans at most this many occurrences per page, even if few of them match. */
export const MAX_SCANNED = 10_000;

/** Position and kinds of a read of the feed. */
export type FeedQuery = {
  readonly feed: Notifications;
  /** Undefined: from the oldest stored entry. */
  readonly after: string | undefined;
  readonly kinds: readonly Kind[];
};

/** Yields the pages of the feed after a cursor, up to the end that it has when the last page is requested. */
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

/** Input for finding the initial cursor. `hooks` are those that notify this receiver. */
export type CursorOptions = {
  readonly carillon: Carillon;
  readonly hooks: readonly Hook[];
  readonly kinds: readonly Kind[];
  readonly signal: AbortSignal;
};

/**
 * The initial cursor of a receiver without a stored one: before the oldest pending delivery, because the
 * service knows what was not acknowledged; without pending deliveries, the end of the feed.
 *
 * No notification may be acknowledged with 200 before this is known. The end of the feed is read first, so that
 * deliveries that become pending later are after it.
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
    // Cursors are consecutive integers.
    if (first !== undefined) return String(Math.min(Number(first.cursor) - 1, Number(end)));
  }
  return end;
}

/** A page that is not full is the last one: in a busy account, waiting for an empty page could take forever. */
function isLast(after: string | undefined, { data, next }: FeedPage): boolean {
  if (next === after) return true;
  return after !== undefined && data.length < ENTRIES && Number(next) - Number(after) < MAX_SCANNED;
}
