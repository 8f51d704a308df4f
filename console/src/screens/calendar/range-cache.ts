import { signal } from '@preact/signals';
import type { CalendarEvent, Task } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { describeError } from '../../app/use-query.ts';
import { compactDay, type DayRange, dayOf, lastDayOf, plusDays } from './time-math.ts';

/** Events and tasks in a range of days; more may be loading unless `isComplete` is set. */
export type RangeData = {
  readonly days: DayRange;
  readonly events: readonly CalendarEvent[];
  readonly tasks: readonly Task[];
  /** Number of events that the server has in the range; too low until the first page of each request has arrived. */
  readonly totalEvents: number;
  readonly isComplete: boolean;
};

const ENTRIES_PER_PAGE = 1_000;
/** Maximum number of events that are loaded for one range; to see all, the user must choose a shorter range. */
export const MAX_EVENTS_PER_RANGE = 10_000;
const MAX_CACHED_RANGES = 8;
/** Minimum time between two renders of a range that is still loading. */
const PARTIAL_RENDER_INTERVAL_MS = 250;

/** A range of days to load. `includesTasks`: whether the tasks that are due in it are loaded as well. */
type RangeQuery = { readonly days: DayRange; readonly includesTasks: boolean };

const cacheKeyOf = ({ days, includesTasks }: RangeQuery) => `${days.from} ${days.to} ${includesTasks}`;

const isEventInRange = (event: CalendarEvent, { from, to }: DayRange) =>
  dayOf(event.start_date) <= to && lastDayOf(event) >= from;

/**
 * Returns the filters of two requests, which together find the events of a range: events that begin earlier and last
 * into the range, and events that begin in the range.
 */
function eventFiltersFor({ from, to }: DayRange) {
  return [
    { start_to: compactDay(plusDays(from, -1)), due_from: compactDay(from) },
    { start_from: compactDay(from), start_to: compactDay(to) },
  ] as const;
}

/** Cache of events by range of days, with optimistic updates and with prefetching of adjacent ranges. */
export class RangeCache {
  readonly visibleData = signal<RangeData | undefined>(undefined);
  readonly errorText = signal<string | undefined>(undefined);
  readonly #cache = new Map<string, RangeData>();
  /** Optimistic updates in flight, by event id; the value is undefined for a deletion. */
  readonly #inFlightUpdates = new Map<string, CalendarEvent | undefined>();
  /** Last queued request of each event, by event id. Requests that change the same event are sent in order. */
  readonly #lastRequests = new Map<string, Promise<unknown>>();
  #visibleRange: RangeQuery | undefined;
  #abortController = new AbortController();
  /** Whether live updates report the changes of all users. If so, cached ranges are shown without a refresh. */
  isKeptFresh = false;
  /**
   * Number of events in the last range. It is the estimate for the next range, so that the pages of that range can be
   * requested concurrently.
   */
  #estimatedTotal = 0;

  /**
   * Shows a range: immediately with cached data, if there is any, then with fresh data, unless live updates keep the
   * cache fresh.
   */
  showRange(range: RangeQuery, adjacentRanges: readonly DayRange[]): void {
    this.#visibleRange = range;
    this.#abortController.abort();
    this.#abortController = new AbortController();
    const cachedData = this.#cache.get(cacheKeyOf(range));
    if (cachedData !== undefined) this.#display(cachedData);
    const { signal: abortSignal } = this.#abortController;
    const isFresh = cachedData !== undefined && this.isKeptFresh;
    const refreshPromise = isFresh
      ? Promise.resolve()
      : this.#refreshRange(range, abortSignal, cachedData === undefined);
    void refreshPromise.then(() => this.#prefetchRanges(range, adjacentRanges, abortSignal));
  }

  /** Clears the cache and reloads the visible range. */
  async reload(): Promise<void> {
    this.#cache.clear();
    if (this.#visibleRange !== undefined)
      await this.#refreshRange(this.#visibleRange, this.#abortController.signal, false);
  }

  /** Aborts all requests and clears the cache. Called when the screen is closed. */
  close(): void {
    this.#abortController.abort();
    this.#cache.clear();
    this.isKeptFresh = false;
  }

  /** Adds an event to all cached ranges that it is in, or replaces the event there. */
  putEvent(event: CalendarEvent): void {
    this.#applyChange(event.event_id, event);
  }

  /**
   * Optimistic update: shows `newEvent` immediately, and sends the request after earlier requests for the same event.
   * On failure it rolls back to `previousEvent`, reloads the range and rethrows the error.
   */
  async updateOptimistically(
    previousEvent: CalendarEvent,
    newEvent: CalendarEvent | undefined,
    request: () => Promise<CalendarEvent | undefined>,
  ) {
    const id = previousEvent.event_id;
    this.#inFlightUpdates.set(id, newEvent);
    this.#applyChange(id, newEvent);
    const queuedRequest = (this.#lastRequests.get(id) ?? Promise.resolve()).then(request);
    this.#lastRequests.set(
      id,
      queuedRequest.catch(() => undefined),
    );
    // Ignore the result if a newer change of the same event is already displayed.
    const finishUpdate = (event: CalendarEvent | undefined) => {
      if (this.#inFlightUpdates.get(id) !== newEvent) return;
      this.#inFlightUpdates.delete(id);
      this.#lastRequests.delete(id);
      this.#applyChange(id, event);
    };
    try {
      finishUpdate(await queuedRequest);
    } catch (error) {
      finishUpdate(previousEvent);
      // Reload, because another user may have changed or deleted the event.
      void this.reload();
      throw error;
    }
  }

  #applyChange(id: string, event: CalendarEvent | undefined): void {
    const withChange = (rangeData: RangeData): RangeData => {
      const otherEvents = rangeData.events.filter((cachedEvent) => cachedEvent.event_id !== id);
      const events =
        event === undefined || !isEventInRange(event, rangeData.days) ? otherEvents : [...otherEvents, event];
      return { ...rangeData, events, totalEvents: rangeData.totalEvents + events.length - rangeData.events.length };
    };
    for (const [key, rangeData] of this.#cache) this.#cache.set(key, withChange(rangeData));
    if (this.visibleData.value !== undefined) this.visibleData.value = withChange(this.visibleData.value);
  }

  #display(rangeData: RangeData): void {
    const newData = this.#withInFlightChanges(rangeData);
    this.errorText.value = undefined;
    // Skip the update for identical data, because every update of the signal renders the calendar again.
    const previousData = this.visibleData.value;
    const isUnchanged =
      previousData?.days.from === newData.days.from && JSON.stringify(newData) === JSON.stringify(previousData);
    if (!isUnchanged) this.visibleData.value = newData;
  }

  #withInFlightChanges(rangeData: RangeData): RangeData {
    if (this.#inFlightUpdates.size === 0) return rangeData;
    const otherEvents = rangeData.events.filter((cachedEvent) => !this.#inFlightUpdates.has(cachedEvent.event_id));
    const changedEvents = [...this.#inFlightUpdates.values()].filter(
      (changedEvent) => changedEvent !== undefined && isEventInRange(changedEvent, rangeData.days),
    );
    return {
      ...rangeData,
      events: [...otherEvents, ...changedEvents.filter((changedEvent) => changedEvent !== undefined)],
    };
  }

  async #refreshRange(range: RangeQuery, abortSignal: AbortSignal, mustShowPartial: boolean): Promise<void> {
    const display = (rangeData: RangeData) => {
      if (!abortSignal.aborted) this.#display(rangeData);
    };
    let displayedAtMs = Number.NEGATIVE_INFINITY;
    const displayPartial = (rangeData: RangeData) => {
      const now = performance.now();
      if (rangeData.events.length === 0 || now - displayedAtMs < PARTIAL_RENDER_INTERVAL_MS) return;
      displayedAtMs = now;
      display(rangeData);
    };
    try {
      const completeData = await this.#loadRange(range, abortSignal, mustShowPartial ? displayPartial : undefined);
      this.#estimatedTotal = completeData.totalEvents;
      display(completeData);
    } catch (error) {
      if (!abortSignal.aborted) this.errorText.value = describeError(error);
    }
  }

  async #loadRange(
    { days, includesTasks }: RangeQuery,
    abortSignal: AbortSignal,
    onPartialData?: (rangeData: RangeData) => void,
  ): Promise<RangeData> {
    const options = { signal: abortSignal };
    const eventsById = new Map<string, CalendarEvent>();
    const totalByRequest = [0, 0];
    let tasks: readonly Task[] = [];
    const buildRangeData = (isComplete: boolean): RangeData => {
      return {
        days,
        events: [...eventsById.values()],
        tasks,
        totalEvents: (totalByRequest[0] ?? 0) + (totalByRequest[1] ?? 0),
        isComplete,
      };
    };
    const eventRequests = eventFiltersFor(days).map(async (filters, index) => {
      const loadPage = async (offset: number) => {
        const { data, paging } = await client.events.list({ ...filters, limit: ENTRIES_PER_PAGE, offset }, options);
        for (const event of data) eventsById.set(event.event_id, event);
        totalByRequest[index] = paging.total_records;
        onPartialData?.(buildRangeData(false));
        return paging.total_records;
      };
      // Adjacent ranges have a similar size: request the expected pages concurrently.
      const expectedTotal = index === 1 ? Math.min(this.#estimatedTotal, MAX_EVENTS_PER_RANGE) : 0;
      const expectedOffsets = listFurtherPageOffsets(expectedTotal);
      const [total = 0] = await Promise.all([loadPage(0), ...expectedOffsets.map(loadPage)]);
      for (const offset of listFurtherPageOffsets(Math.min(total, MAX_EVENTS_PER_RANGE)))
        if (!expectedOffsets.includes(offset)) await loadPage(offset);
    });
    const taskFilters = { due_from: compactDay(days.from), due_to: compactDay(days.to), limit: ENTRIES_PER_PAGE };
    const taskRequest = includesTasks ? listFullPage(client.tasks, taskFilters, abortSignal) : undefined;
    const loadTasks = async () => {
      tasks = (await taskRequest)?.data.filter(({ archived }) => archived === '0') ?? [];
      onPartialData?.(buildRangeData(false));
    };
    await Promise.all([...eventRequests, ...(includesTasks ? [loadTasks()] : [])]);
    const completeData = buildRangeData(true);
    this.#storeRange(cacheKeyOf({ days, includesTasks }), completeData);
    return completeData;
  }

  #storeRange(key: string, rangeData: RangeData): void {
    this.#cache.delete(key);
    this.#cache.set(key, rangeData);
    const [oldestKey] = this.#cache.keys();
    if (this.#cache.size > MAX_CACHED_RANGES && oldestKey !== undefined) this.#cache.delete(oldestKey);
  }

  /** Prefetches the adjacent ranges, one by one, when the browser is idle. */
  async #prefetchRanges(
    { includesTasks }: RangeQuery,
    adjacentRanges: readonly DayRange[],
    abortSignal: AbortSignal,
  ): Promise<void> {
    for (const days of adjacentRanges) {
      await waitForIdle();
      if (abortSignal.aborted) return;
      if (this.#cache.has(cacheKeyOf({ days, includesTasks }))) continue;
      // Ignore errors of a prefetch: the range is loaded again when it is shown.
      await this.#loadRange({ days, includesTasks }, abortSignal).catch(() => undefined);
    }
  }
}

const listFurtherPageOffsets = (total: number) =>
  Array.from(
    { length: Math.max(Math.ceil(total / ENTRIES_PER_PAGE) - 1, 0) },
    (_, index) => (index + 1) * ENTRIES_PER_PAGE,
  );

const waitForIdle = () =>
  new Promise<void>((resolve) => {
    if ('requestIdleCallback' in globalThis) requestIdleCallback(() => resolve(), { timeout: 2_000 });
    else setTimeout(resolve, 200);
  });
