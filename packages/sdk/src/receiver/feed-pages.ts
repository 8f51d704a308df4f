import { type FeedKind, hookKinds } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import type { Hook, HookScope } from '../hooks.ts';
import type { FeedPage, Notifications } from '../notifications.ts';
import type { CallOptions } from '../transport.ts';
import { ANY_KIND, type HandledKind } from './occurrence-handlers.ts';

/** Number of entries per page, which is the maximum of the service. */
export const FEED_ENTRIES_PER_PAGE = 1_000;

/** Maximum number of occurrences that the service scans per page, even if few of them match. */
export const MAX_SCANNED_PER_PAGE = 10_000;

/** The occurrences that a receiver handles. Its hooks report them, and it reads them from the feed. */
export type Subscription = {
  /** The event kinds (kinds of occurrence) that have a handler. */
  readonly kinds: readonly HandledKind[];
  readonly scope: HookScope;
  /** The project, with scope `project` only. */
  readonly projectId: string | undefined;
};

/** The position in the feed at which to start, and the occurrences to read. */
export type FeedQuery = {
  readonly feed: Notifications;
  /** Cursor to continue after; undefined to read from the oldest stored entry. */
  readonly afterCursor: string | undefined;
  readonly subscription: Subscription;
};

/** Yields the pages of the feed after a cursor, up to the end of the feed at the time of the last request. */
export async function* readFeedPages(
  { feed, afterCursor, subscription }: FeedQuery,
  options: CallOptions,
): AsyncGenerator<FeedPage, void, undefined> {
  const filters = { ...feedFiltersOf(subscription), limit: FEED_ENTRIES_PER_PAGE };
  for (let cursor = afterCursor; ; ) {
    const page = await feed.list({ ...filters, after: cursor }, options);
    yield page;
    if (isLastPage(cursor, page)) return;
    cursor = page.next;
  }
}

/**
 * Returns the feed filters of a subscription. Earlier versions of the service reject several kinds and the scope
 * `project`. Therefore, a receiver that they can serve reads all kinds, and ignores those without a handler.
 */
function feedFiltersOf({ kinds, scope, projectId }: Subscription) {
  const feedKinds = kinds.filter((kind): kind is FeedKind => kind !== ANY_KIND);
  const isFiltered = feedKinds.length === 1 || scope !== 'own' || feedKinds.some((kind) => !isHookKind(kind));
  const kind = kinds.includes(ANY_KIND) || !isFiltered ? undefined : feedKinds;
  return { kind, scope: scope === 'own' ? undefined : scope, project_id: projectId };
}

/** Whether the `event` of a hook can name the kind. */
export function isHookKind(kind: string): kind is (typeof hookKinds)[number] {
  return hookKinds.some((one) => one === kind);
}

/** Input for finding the initial cursor. */
export type InitialCursorOptions = {
  readonly carillon: Carillon;
  /** The hooks that notify this receiver. */
  readonly hooks: readonly Hook[];
  readonly subscription: Subscription;
  readonly signal: AbortSignal;
};

/**
 * Returns the initial cursor of a receiver without a stored cursor: the position before the oldest pending delivery. A
 * pending delivery has not been acknowledged yet. Without pending deliveries, the cursor is the end of the feed.
 *
 * The receiver must not acknowledge a notification with 200 before this cursor is known. The end of the feed is read
 * first, so that deliveries that become pending later are after it.
 */
export async function findInitialCursor(options: InitialCursorOptions): Promise<string> {
  const { carillon, hooks, signal } = options;
  const { next: endCursor } = await carillon.notifications.list({ after: 'latest' }, { signal });
  const pendingCursors: number[] = [];
  const pendingOccurrenceKeys = new Set<string>();
  for (const { id, state } of hooks) {
    if (state === 'ended') continue;
    const filters = { hook_id: id, state: 'pending' } as const;
    for await (const { cursor, event, resource_url } of carillon.deliveries.each(filters, { signal })) {
      if (event === 'test') continue;
      if (cursor === undefined) pendingOccurrenceKeys.add(`${event} ${resource_url}`);
      else pendingCursors.push(Number(cursor));
    }
  }
  if (pendingOccurrenceKeys.size > 0) {
    const foundCursor = await findFirstCursor(options, pendingOccurrenceKeys);
    if (foundCursor !== undefined) pendingCursors.push(foundCursor);
  }
  if (pendingCursors.length === 0) return endCursor;
  // Cursors are consecutive integers, so subtracting 1 gives the cursor of the entry before.
  const firstPendingCursor = pendingCursors.reduce((one, other) => Math.min(one, other));
  return String(Math.min(firstPendingCursor - 1, Number(endCursor)));
}

/**
 * Finds the cursor of the first occurrence with one of these kinds and URLs. Earlier versions of the service list
 * deliveries without their cursor, but have only kinds that happen once to a record. The dates of deliveries would be
 * no help: a restored hook has new deliveries of old occurrences.
 */
async function findFirstCursor(
  { carillon, subscription, signal }: InitialCursorOptions,
  occurrenceKeys: ReadonlySet<string>,
): Promise<number | undefined> {
  const wholeFeedQuery = { feed: carillon.notifications, afterCursor: undefined, subscription };
  for await (const { data } of readFeedPages(wholeFeedQuery, { signal })) {
    const firstEntry = data.find(({ kind, resource_url }) => occurrenceKeys.has(`${kind} ${resource_url}`));
    if (firstEntry !== undefined) return Number(firstEntry.cursor);
  }
  return undefined;
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
