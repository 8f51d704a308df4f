import { signal } from '@preact/signals';
import type { Occurrence } from '../../../../packages/sdk/src/activity.ts';
import type { FeedKind } from '../../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../../packages/sdk/src/errors.ts';
import { client } from '../../app/client.ts';
import { errorMessage } from '../../app/use-query.ts';
import { type ActivityEntry, cursorAfter, mergeDeliveries, pollUrgency, toFeedEntry } from './feed-store.ts';

/** Maximum number of displayed entries after new entries were added; older entries are dropped. */
export const MAX_LIVE_ENTRIES = 300;
/** Maximum number of displayed entries after older entries were loaded by scrolling. */
export const MAX_SHOWN_ENTRIES = 600;

/** New entries are rendered in batches, at most four times a second under any load. */
const RENDER_INTERVAL_MS = 250;

/** Interval for polling deliveries that are not final yet. */
const POLL_INTERVAL_MS = 1_000;
/** Interval for polling deliveries that may stay pending or unread for hours. */
const SLOW_POLL_INTERVAL_MS = 5_000;
const MAX_POLLED_ENTRIES = 100;

const RECONNECT_DELAY_MS = 5_000;
const PAGE_SIZE = 50;

/** Filters of the activity feed. */
export type FeedFilters = {
  readonly kind?: FeedKind;
  readonly hookId?: string;
  readonly scope: 'own' | 'account';
  /** Shows entries older than this cursor, without live updates. */
  readonly before?: string;
};

export type FeedPhase = 'loading' | 'live' | 'lost' | 'refused';

/** Whether a retry is pointless: the hook does not exist, is not visible to the user, or a filter is invalid. */
function isPermanentError(error: unknown): boolean {
  return error instanceof CarillonError && ['not_found', 'not_permitted', 'invalid_input'].includes(error.code);
}

/**
 * Live feed, newest first. It follows the feed by long polling, renders new entries in batches, and polls the
 * deliveries of entries in view until they are final. Memory and request rate are bounded.
 */
export class LiveFeed {
  readonly entries = signal<readonly ActivityEntry[]>([]);
  /** Number of new entries that are held back. */
  readonly heldCount = signal(0);
  readonly phase = signal<FeedPhase>('loading');
  readonly fault = signal<string | undefined>(undefined);
  readonly isEnd = signal(false);
  readonly isFetchingOlder = signal(false);
  /** Returns whether new entries are held back: they are counted, and shown later. */
  isHeld: () => boolean = () => false;
  /** Returns whether the feed is paused: deliveries are not polled either. */
  isPaused: () => boolean = () => false;
  /** Returns the cursors of the entries in the viewport. */
  inView: () => ReadonlySet<string> = () => new Set();

  readonly #filters: FeedFilters;
  #bufferedEntries: ActivityEntry[] = [];
  /**
   * Whether more entries have arrived than are kept. The displayed entries are then not adjacent to the new entries
   * and will be dropped.
   */
  #hasGap = false;
  /**
   * Whether new entries must be loaded from the activity list. The feed cannot filter by hook: with a hook filter, a
   * feed item is only a signal that there may be new entries.
   */
  #mustLoadNew = false;
  #newestCursor: string | undefined;
  #olderCursor: string | undefined;
  #polledAt = 0;
  #isPolling = false;
  #abortController: AbortController | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(wanted: FeedFilters) {
    this.#filters = wanted;
  }

  start(): void {
    document.addEventListener('visibilitychange', this.#onVisibilityChange);
    this.#timer = setInterval(() => this.#tick(), RENDER_INTERVAL_MS);
    this.#reconnect(true);
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#onVisibilityChange);
    clearInterval(this.#timer);
    this.#abortController?.abort();
  }

  /** Shows the entries that were held back. */
  release(): void {
    if (this.#bufferedEntries.length === 0) return;
    const arrived = this.#bufferedEntries.toReversed();
    const olderEntries = this.#hasGap ? [] : this.entries.value;
    const all = [...arrived, ...olderEntries];
    if (all.length > MAX_LIVE_ENTRIES) {
      this.#olderCursor = all[MAX_LIVE_ENTRIES - 1]?.cursor;
      this.isEnd.value = false;
    }
    this.entries.value = all.slice(0, MAX_LIVE_ENTRIES);
    this.#bufferedEntries = [];
    this.#hasGap = false;
    this.heldCount.value = 0;
  }

  /** Loads the next page of older entries. */
  async loadOlder(): Promise<void> {
    if (this.isFetchingOlder.value || this.isEnd.value || this.entries.value.length >= MAX_SHOWN_ENTRIES) return;
    this.isFetchingOlder.value = true;
    try {
      const lastCursor = this.entries.value.at(-1)?.cursor;
      await this.#fetchOlder(this.#abortController?.signal);
      if (this.entries.value.at(-1)?.cursor === lastCursor && !this.isEnd.value)
        await this.#fetchOlder(this.#abortController?.signal);
    } catch (error) {
      if (!this.#abortController?.signal.aborted) this.fault.value = errorMessage(error);
    }
    this.isFetchingOlder.value = false;
  }

  async #fetchOlder(signal: AbortSignal | undefined): Promise<void> {
    const before = this.#olderCursor ?? this.entries.value.at(-1)?.cursor;
    const { data, next } = await client.activity.list({ ...this.#query(), before, limit: PAGE_SIZE }, { signal });
    this.entries.value = [...this.entries.value, ...data];
    this.#olderCursor = next;
    this.isEnd.value = next === '';
  }

  #query() {
    const { kind, hookId, scope } = this.#filters;
    return { scope, kind, hook_id: hookId };
  }

  readonly #onVisibilityChange = () => {
    if (document.hidden) this.#abortController?.abort();
    // When the tab becomes visible again, continue at the cursor if entries are held back, otherwise reload.
    else this.#reconnect(!this.isHeld());
  };

  #reconnect(mustReload: boolean): void {
    this.#abortController?.abort();
    this.#abortController = new AbortController();
    void this.#runConnection(mustReload, this.#abortController.signal);
  }

  async #runConnection(mustReload: boolean, signal: AbortSignal): Promise<void> {
    let mustLoad = mustReload;
    while (!signal.aborted) {
      try {
        if (mustLoad) await this.#loadNewest(signal);
        mustLoad = false;
        this.phase.value = 'live';
        this.fault.value = undefined;
        if (this.#filters.before !== undefined) return;
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.fault.value = errorMessage(error);
        if (isPermanentError(error)) {
          this.phase.value = 'refused';
          return;
        }
        mustLoad ||= error instanceof CarillonError && error.code === 'cursor_gone';
        this.phase.value = 'lost';
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_DELAY_MS));
      }
    }
  }

  async #loadNewest(signal: AbortSignal): Promise<void> {
    const { before } = this.#filters;
    const list = () => client.activity.list({ ...this.#query(), before, limit: PAGE_SIZE }, { signal });
    let { data, next } = await list();
    let last: string | undefined;
    if (data.length === 0) {
      last = await this.#newestCursorInScope(signal);
      // List again: an entry that was created between the two requests is not in the first list, and the feed would
      // be followed only after it.
      ({ data, next } = await list());
    }
    this.entries.value = data;
    this.#olderCursor = next;
    this.isEnd.value = next === '';
    this.#bufferedEntries = [];
    this.#hasGap = false;
    this.heldCount.value = 0;
    this.#newestCursor = data[0]?.cursor ?? last;
  }

  /**
   * Returns the newest cursor without the filters for kind and hook. When no entry matches the filters, the feed is
   * followed from this cursor instead of being scanned from its beginning.
   */
  async #newestCursorInScope(signal: AbortSignal): Promise<string | undefined> {
    const { scope } = this.#filters;
    return (await client.activity.list({ scope, limit: 1 }, { signal })).data[0]?.cursor;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { kind, hookId, scope } = this.#filters;
    for await (const one of client.notifications.follow({ after: this.#newestCursor, kind, scope }, { signal })) {
      this.#newestCursor = one.cursor;
      if (hookId === undefined) this.#bufferEntry(toFeedEntry(one));
      else this.#mustLoadNew = true;
    }
  }

  #bufferEntry(entry: ActivityEntry): void {
    this.#bufferedEntries.push(entry);
    this.heldCount.value += 1;
    if (this.#bufferedEntries.length <= 2 * MAX_LIVE_ENTRIES) return;
    this.#bufferedEntries = this.#bufferedEntries.slice(-MAX_LIVE_ENTRIES);
    this.#hasGap = true;
  }

  #tick(): void {
    if (document.hidden) return;
    if (!this.isHeld()) this.release();
    if (this.isPaused() || this.#isPolling || this.phase.value !== 'live') return;
    const now = Date.now();
    if (now - this.#polledAt < POLL_INTERVAL_MS) return;
    const range = this.#mustLoadNew ? { limit: PAGE_SIZE } : this.#rangeToPoll(now);
    if (range === undefined) return;
    this.#polledAt = now;
    this.#isPolling = true;
    void this.#poll(range).finally(() => {
      this.#isPolling = false;
    });
  }

  /** Returns the range of entries in the viewport whose deliveries are due for polling; undefined for none. */
  #rangeToPoll(now: number): { before: string; limit: number } | undefined {
    const isSlowPollDue = now - this.#polledAt >= SLOW_POLL_INTERVAL_MS;
    const entries = this.entries.value;
    const inView = this.inView();
    const isDue = (entry: ActivityEntry) => {
      if (!inView.has(entry.cursor)) return false;
      const urgency = pollUrgency(entry, now);
      return urgency === 'soon' || (isSlowPollDue && urgency === 'later');
    };
    const first = entries.findIndex(isDue);
    const newest = entries[first];
    if (newest === undefined) return undefined;
    const count = entries.findLastIndex(isDue) - first + 1;
    // The server applies the limit before it drops occurrences without a delivery to the hook: with a hook filter,
    // `count` would be too small.
    const limit = this.#filters.hookId === undefined ? Math.min(count, MAX_POLLED_ENTRIES) : MAX_POLLED_ENTRIES;
    return { before: cursorAfter(newest.cursor), limit };
  }

  async #poll(range: { readonly before?: string; readonly limit: number }): Promise<void> {
    const isNewest = range.before === undefined;
    if (isNewest) this.#mustLoadNew = false;
    try {
      const signal = this.#abortController?.signal;
      const { data } = await client.activity.list({ ...this.#query(), ...range }, { signal });
      this.entries.value = mergeDeliveries(this.entries.value, data);
      if (isNewest) this.#bufferNewEntries(data);
      this.fault.value = undefined;
    } catch (error) {
      if (this.#abortController?.signal.aborted !== true) this.fault.value = errorMessage(error);
    }
  }

  #bufferNewEntries(found: readonly Occurrence[]): void {
    const top = Number(this.#bufferedEntries.at(-1)?.cursor ?? this.entries.value[0]?.cursor ?? 0);
    const newEntries = found.filter(({ cursor }) => Number(cursor) > top);
    this.#hasGap ||= newEntries.length === PAGE_SIZE && top > 0;
    for (const one of newEntries.toReversed()) this.#bufferEntry(one);
  }
}
