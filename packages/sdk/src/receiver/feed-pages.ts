import type { Kind } from '../api-types.ts';
import type { Notifications, Stretch } from '../notifications.ts';
import type { CallOptions } from '../transport.ts';

/** Entries per page: the maximum of the service. */
export const ENTRIES = 1_000;

/** The service scans at most this many occurrences per page, even if few of them match. */
export const LOOKED_AT = 10_000;

/** Position and kinds of a read of the feed. */
export type Wanted = {
  readonly feed: Notifications;
  /** Undefined: from the oldest stored entry. */
  readonly after: string | undefined;
  readonly kinds: readonly Kind[];
};

/** Yields the pages of the feed after a cursor, up to the end that it has when the last page is requested. */
export async function* stretches(
  { feed, after, kinds }: Wanted,
  options: CallOptions,
): AsyncGenerator<Stretch, void, undefined> {
  const kind = kinds.length === 1 ? kinds[0] : undefined;
  for (let cursor = after; ; ) {
    const page = await feed.list({ after: cursor, kind, limit: ENTRIES }, options);
    yield page;
    if (isLast(cursor, page)) return;
    cursor = page.next;
  }
}

/** A page that is not full is the last one: in a busy account, waiting for an empty page could take forever. */
function isLast(after: string | undefined, { data, next }: Stretch): boolean {
  if (next === after) return true;
  return after !== undefined && data.length < ENTRIES && Number(next) - Number(after) < LOOKED_AT;
}
