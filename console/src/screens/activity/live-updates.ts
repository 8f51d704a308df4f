import { signal } from '@preact/signals';
import type { Occurrence } from '../../../../packages/sdk/src/activity.ts';
import type { FeedKind } from '../../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../../packages/sdk/src/errors.ts';
import { client } from '../../app/client.ts';
import { isAdmin } from '../../app/session.ts';
import { describeError } from '../../app/use-query.ts';
import { type ActivityEntry, feedCursorAfter, mergeDeliveries, pollUrgencyOf } from './feed-store.ts';

/** Maximum number of displayed entries after new entries were added; older entries are dropped. */
export const MAX_LIVE_ENTRIES = 300;
/** Maximum number of displayed entries after older entries were loaded by scrolling. */
export const MAX_SHOWN_ENTRIES = 600;

/** New entries are rendered in batches, at most four times a second under any load. */
const RENDER_INTERVAL_MS = 250;

/** Interval for polling the states of deliveries that will probably change soon. */
const FAST_POLL_INTERVAL_MS = 1_000;
/** Interval for polling the states of deliveries that may stay pending or unread for hours. */
const SLOW_POLL_INTERVAL_MS = 5_000;
const MAX_POLLED_ENTRIES = 100;

const RECONNECT_DELAY_MS = 5_000;
const ENTRIES_PER_PAGE = 50;

/** Filters of the activity feed. */
export type ActivityFeedFilters = {
  /** Only these event types; all if omitted. */
  readonly kinds?: readonly FeedKind[];
  readonly hookId?: string;
  readonly projectId?: string;
  readonly scope: 'own' | 'account';
  /** Shows only entries before this position in the feed, without live updates. */
  readonly before?: string;
};

/** Returns the query parameters of the feed. A member sees what everybody does in a project, but only there. */
export function toFeedQuery({ kinds, projectId, scope }: ActivityFeedFilters) {
  const isProjectScope = projectId !== undefined && scope === 'own' && !isAdmin();
  return { scope: isProjectScope ? ('project' as const) : scope, kind: kinds, project_id: projectId };
}

/**
 * State of the live feed. `lost`: the connection failed and is retried. `refused`: a retry would fail again, so the
 * feed has stopped.
 */
export type FeedPhase = 'loading' | 'live' | 'lost' | 'refused';

/** Whether a retry would fail again: the hook does not exist, the user may not see it, or a filter is invalid. */
function isPermanentError(error: unknown): boolean {
  return error instanceof CarillonError && ['not_found', 'not_permitted', 'invalid_input'].includes(error.code);
}

/**
 * Live feed, newest first. It follows the feed by server-sent events, renders new entries in batches, and polls the
 * deliveries of visible entries until their states are final. It limits its memory and its request rate.
 */
export class LiveFeed {
  readonly entries = signal<readonly ActivityEntry[]>([]);
  /** Number of new entries that are held back. */
  readonly heldCount = signal(0);
  readonly phase = signal<FeedPhase>('loading');
  readonly errorText = signal<string | undefined>(undefined);
  readonly hasLoadedOldestEntry = signal(false);
  readonly isLoadingOlderEntries = signal(false);
  /** Returns whether new entries are held back. Such entries are only counted, and shown later. */
  isHeld: () => boolean = () => false;
  /** Returns whether the user has paused the feed. A paused feed does not poll deliveries either. */
  isPaused: () => boolean = () => false;
  /** Returns the cursors of the entries in the viewport. */
  getVisibleCursors: () => ReadonlySet<string> = () => new Set();

  readonly #filters: ActivityFeedFilters;
  /** New entries that are not displayed yet, oldest first. The displayed entries are newest first. */
  #bufferedEntries: ActivityEntry[] = [];
  /**
   * Whether entries between the displayed and the buffered entries are missing, because too many arrived. The
   * displayed entries are then dropped when the buffered entries are shown.
   */
  #hasGap = false;
  /**
   * Whether new entries must be loaded from the activity list. The feed cannot be filtered by hook, so with a hook
   * filter an item of the feed only means that the activity list may have new entries.
   */
  #mustLoadNewEntries = false;
  #newestCursor: string | undefined;
  #olderPageCursor: string | undefined;
  #polledAtMs = 0;
  #isPolling = false;
  #abortController: AbortController | undefined;
  #renderTimer: ReturnType<typeof setInterval> | undefined;

  constructor(filters: ActivityFeedFilters) {
    this.#filters = filters;
  }

  start(): void {
    document.addEventListener('visibilitychange', this.#onVisibilityChange);
    this.#renderTimer = setInterval(() => this.#renderAndPoll(), RENDER_INTERVAL_MS);
    this.#reconnect(true);
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#onVisibilityChange);
    clearInterval(this.#renderTimer);
    this.#abortController?.abort();
  }

  /** Shows the entries that were held back. */
  releaseHeldEntries(): void {
    if (this.#bufferedEntries.length === 0) return;
    const newEntries = this.#bufferedEntries.toReversed();
    const olderEntries = this.#hasGap ? [] : this.entries.value;
    const allEntries = [...newEntries, ...olderEntries];
    if (allEntries.length > MAX_LIVE_ENTRIES) {
      this.#olderPageCursor = allEntries[MAX_LIVE_ENTRIES - 1]?.cursor;
      this.hasLoadedOldestEntry.value = false;
    }
    this.entries.value = allEntries.slice(0, MAX_LIVE_ENTRIES);
    this.#bufferedEntries = [];
    this.#hasGap = false;
    this.heldCount.value = 0;
  }

  /** Loads the next page of older entries. */
  async loadOlderEntries(): Promise<void> {
    if (
      this.isLoadingOlderEntries.value ||
      this.hasLoadedOldestEntry.value ||
      this.entries.value.length >= MAX_SHOWN_ENTRIES
    )
      return;
    this.isLoadingOlderEntries.value = true;
    try {
      const lastCursor = this.entries.value.at(-1)?.cursor;
      await this.#fetchOlderPage(this.#abortController?.signal);
      if (this.entries.value.at(-1)?.cursor === lastCursor && !this.hasLoadedOldestEntry.value)
        await this.#fetchOlderPage(this.#abortController?.signal);
    } catch (error) {
      if (!this.#abortController?.signal.aborted) this.errorText.value = describeError(error);
    }
    this.isLoadingOlderEntries.value = false;
  }

  async #fetchOlderPage(signal: AbortSignal | undefined): Promise<void> {
    const beforeCursor = this.#olderPageCursor ?? this.entries.value.at(-1)?.cursor;
    const { data, next } = await client.activity.list(
      { ...this.#buildActivityQuery(), before: beforeCursor, limit: ENTRIES_PER_PAGE },
      { signal },
    );
    this.entries.value = [...this.entries.value, ...data];
    this.#olderPageCursor = next;
    this.hasLoadedOldestEntry.value = next === '';
  }

  #buildActivityQuery() {
    return { ...toFeedQuery(this.#filters), hook_id: this.#filters.hookId };
  }

  readonly #onVisibilityChange = () => {
    if (document.hidden) this.#abortController?.abort();
    // The tab is visible again. Reload, or only continue after the last cursor if entries are held back.
    else this.#reconnect(!this.isHeld());
  };

  #reconnect(mustReload: boolean): void {
    this.#abortController?.abort();
    this.#abortController = new AbortController();
    void this.#followUntilAborted(mustReload, this.#abortController.signal);
  }

  async #followUntilAborted(mustReload: boolean, signal: AbortSignal): Promise<void> {
    let mustLoadNewest = mustReload;
    while (!signal.aborted) {
      try {
        if (mustLoadNewest) await this.#loadNewestEntries(signal);
        mustLoadNewest = false;
        this.phase.value = 'live';
        this.errorText.value = undefined;
        if (this.#filters.before !== undefined) return;
        await this.#followFeed(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.errorText.value = describeError(error);
        if (isPermanentError(error)) {
          this.phase.value = 'refused';
          return;
        }
        mustLoadNewest ||= error instanceof CarillonError && error.code === 'cursor_gone';
        this.phase.value = 'lost';
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_DELAY_MS));
      }
    }
  }

  async #loadNewestEntries(signal: AbortSignal): Promise<void> {
    const { before } = this.#filters;
    const listNewestEntries = () =>
      client.activity.list({ ...this.#buildActivityQuery(), before, limit: ENTRIES_PER_PAGE }, { signal });
    let { data, next } = await listNewestEntries();
    let newestCursorInScope: string | undefined;
    if (data.length === 0) {
      newestCursorInScope = await this.#loadNewestCursorInScope(signal);
      // List again: an entry that was created between the two requests is missing in the first list, and the feed is
      // followed only after that entry.
      ({ data, next } = await listNewestEntries());
    }
    this.entries.value = data;
    this.#olderPageCursor = next;
    this.hasLoadedOldestEntry.value = next === '';
    this.#bufferedEntries = [];
    this.#hasGap = false;
    this.heldCount.value = 0;
    this.#newestCursor = data[0]?.cursor ?? newestCursorInScope;
  }

  /**
   * Returns the cursor of the newest entry, without the filters for event types and hook. If no entry matches these filters,
   * the feed is followed after this cursor instead of from its beginning.
   */
  async #loadNewestCursorInScope(signal: AbortSignal): Promise<string | undefined> {
    const { scope, project_id } = toFeedQuery(this.#filters);
    return (await client.activity.list({ scope, project_id, limit: 1 }, { signal })).data[0]?.cursor;
  }

  async #followFeed(signal: AbortSignal): Promise<void> {
    const { hookId } = this.#filters;
    const query = { ...toFeedQuery(this.#filters), after: this.#newestCursor };
    for await (const feedItem of client.notifications.follow(query, { signal })) {
      this.#newestCursor = feedItem.cursor;
      if (hookId === undefined) this.#bufferEntry(feedItem);
      else this.#mustLoadNewEntries = true;
    }
  }

  #bufferEntry(entry: ActivityEntry): void {
    this.#bufferedEntries.push(entry);
    this.heldCount.value += 1;
    if (this.#bufferedEntries.length <= 2 * MAX_LIVE_ENTRIES) return;
    this.#bufferedEntries = this.#bufferedEntries.slice(-MAX_LIVE_ENTRIES);
    this.#hasGap = true;
  }

  #renderAndPoll(): void {
    if (document.hidden) return;
    if (!this.isHeld()) this.releaseHeldEntries();
    if (this.isPaused() || this.#isPolling || this.phase.value !== 'live') return;
    const now = Date.now();
    if (now - this.#polledAtMs < FAST_POLL_INTERVAL_MS) return;
    const range = this.#mustLoadNewEntries ? { limit: ENTRIES_PER_PAGE } : this.#findRangeToPoll(now);
    if (range === undefined) return;
    this.#polledAtMs = now;
    this.#isPolling = true;
    void this.#pollRange(range).finally(() => {
      this.#isPolling = false;
    });
  }

  /** Returns the range of visible entries whose deliveries are due for polling; undefined if none are due. */
  #findRangeToPoll(now: number): { before: string; limit: number } | undefined {
    const isSlowPollDue = now - this.#polledAtMs >= SLOW_POLL_INTERVAL_MS;
    const entries = this.entries.value;
    const visibleCursors = this.getVisibleCursors();
    const isPollDue = (entry: ActivityEntry) => {
      if (!visibleCursors.has(entry.cursor)) return false;
      const urgency = pollUrgencyOf(entry, now);
      return urgency === 'soon' || (isSlowPollDue && urgency === 'later');
    };
    const firstDueIndex = entries.findIndex(isPollDue);
    const newestDueEntry = entries[firstDueIndex];
    if (newestDueEntry === undefined) return undefined;
    const rangeLength = entries.findLastIndex(isPollDue) - firstDueIndex + 1;
    // The server applies the limit before it drops occurrences without a delivery to the hook: with a hook filter,
    // `rangeLength` would be too small.
    const limit = this.#filters.hookId === undefined ? Math.min(rangeLength, MAX_POLLED_ENTRIES) : MAX_POLLED_ENTRIES;
    return { before: feedCursorAfter(newestDueEntry.cursor), limit };
  }

  async #pollRange(range: { readonly before?: string; readonly limit: number }): Promise<void> {
    const isNewestRange = range.before === undefined;
    if (isNewestRange) this.#mustLoadNewEntries = false;
    try {
      const signal = this.#abortController?.signal;
      const { data } = await client.activity.list({ ...this.#buildActivityQuery(), ...range }, { signal });
      this.entries.value = mergeDeliveries(this.entries.value, data);
      if (isNewestRange) this.#bufferNewEntries(data);
      this.errorText.value = undefined;
    } catch (error) {
      if (this.#abortController?.signal.aborted !== true) this.errorText.value = describeError(error);
    }
  }

  #bufferNewEntries(loadedOccurrences: readonly Occurrence[]): void {
    const newestKnownCursor = Number(this.#bufferedEntries.at(-1)?.cursor ?? this.entries.value[0]?.cursor ?? 0);
    const newEntries = loadedOccurrences.filter(({ cursor }) => Number(cursor) > newestKnownCursor);
    this.#hasGap ||= newEntries.length === ENTRIES_PER_PAGE && newestKnownCursor > 0;
    for (const entry of newEntries.toReversed()) this.#bufferEntry(entry);
  }
}
