import { signal } from '@preact/signals';
import { CarillonError } from '../../../../packages/sdk/src/errors.ts';
import type { CalendarEvent, Task } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { errorMessage } from '../../app/use-query.ts';
import { compactDay, type DayRange, dayOf, lastDayOf, plusDays } from './time-math.ts';

/** Events and tasks in a range of days, possibly still loading. */
export type RangeData = {
  readonly days: DayRange;
  readonly events: readonly CalendarEvent[];
  readonly tasks: readonly Task[];
  /** Number of events on the server, as far as known. */
  readonly total: number;
  readonly isWhole: boolean;
};

const PAGE_SIZE = 1_000;
/** Maximum number of events that are loaded for one range; to see all, the user must choose a shorter range. */
export const MAX_EVENTS = 10_000;
const MAX_CACHED_RANGES = 8;
/** Minimum time between two renders of partial results. */
const PARTIAL_RENDER_INTERVAL_MS = 250;

type RangeQuery = { readonly days: DayRange; readonly hasTasks: boolean };

const cacheKey = ({ days, hasTasks }: RangeQuery) => `${days.from} ${days.to} ${hasTasks}`;

const overlaps = (event: CalendarEvent, { from, to }: DayRange) =>
  dayOf(event.start_date) <= to && lastDayOf(event) >= from;

/**
 * Returns the filters of two requests, which together find the events of a range: events that begin earlier and last
 * into the range, and events that begin in the range.
 */
function filtersFor({ from, to }: DayRange) {
  return [
    { start_to: compactDay(plusDays(from, -1)), due_from: compactDay(from) },
    { start_from: compactDay(from), start_to: compactDay(to) },
  ] as const;
}

/** Cache of events by range of days, with optimistic updates and with prefetching of adjacent ranges. */
export class RangeCache {
  readonly visibleData = signal<RangeData | undefined>(undefined);
  readonly fault = signal<string | undefined>(undefined);
  readonly #cache = new Map<string, RangeData>();
  /** Optimistic updates in flight, by event id; the value is undefined for a deletion. */
  readonly #inFlight = new Map<string, CalendarEvent | undefined>();
  /** Last queued request of each event, by event id. Requests that change the same event are sent in order. */
  readonly #changeQueues = new Map<string, Promise<unknown>>();
  #visible: RangeQuery | undefined;
  #controller = new AbortController();
  /** Whether live updates report the changes of all users, so that cached ranges are always fresh. */
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
  show(range: RangeQuery, around: readonly DayRange[]): void {
    this.#visible = range;
    this.#controller.abort();
    this.#controller = new AbortController();
    const cached = this.#cache.get(cacheKey(range));
    if (cached !== undefined) this.#display(cached);
    const { signal: abortSignal } = this.#controller;
    const isFresh = cached !== undefined && this.isKeptFresh;
    const refreshed = isFresh ? Promise.resolve() : this.#refresh(range, abortSignal, cached === undefined);
    void refreshed.then(() => this.#prefetch(range, around, abortSignal));
  }

  /** Clears the cache and reloads the visible range. */
  async reload(): Promise<void> {
    this.#cache.clear();
    if (this.#visible !== undefined) await this.#refresh(this.#visible, this.#controller.signal, false);
  }

  /** Aborts requests and clears the cache, when the screen is closed. */
  close(): void {
    this.#controller.abort();
    this.#cache.clear();
    this.isKeptFresh = false;
  }

  /** Adds an event to all cached ranges that it is in, or replaces the event there. */
  put(event: CalendarEvent): void {
    this.#applyChange(event.event_id, event);
  }

  /**
   * Optimistic update: shows `after` immediately, and sends the request after earlier requests for the same event. On
   * failure it rolls back to `before`, reloads the range and rethrows the error.
   */
  async updateOptimistically(
    before: CalendarEvent,
    after: CalendarEvent | undefined,
    request: () => Promise<CalendarEvent | undefined>,
  ) {
    const id = before.event_id;
    this.#inFlight.set(id, after);
    this.#applyChange(id, after);
    const queued = (this.#changeQueues.get(id) ?? Promise.resolve()).then(request);
    this.#changeQueues.set(
      id,
      queued.catch(() => undefined),
    );
    // Ignores the result if a newer change of the same event is already displayed.
    const finish = (event: CalendarEvent | undefined) => {
      if (this.#inFlight.get(id) !== after) return;
      this.#inFlight.delete(id);
      this.#changeQueues.delete(id);
      this.#applyChange(id, event);
    };
    try {
      finish(await queued);
    } catch (error) {
      finish(before);
      // Reload, because another user may have changed or deleted the event.
      void this.reload();
      throw error;
    }
  }

  #applyChange(id: string, event: CalendarEvent | undefined): void {
    const changed = (held: RangeData): RangeData => {
      const others = held.events.filter((one) => one.event_id !== id);
      const events = event === undefined || !overlaps(event, held.days) ? others : [...others, event];
      return { ...held, events, total: held.total + events.length - held.events.length };
    };
    for (const [name, held] of this.#cache) this.#cache.set(name, changed(held));
    if (this.visibleData.value !== undefined) this.visibleData.value = changed(this.visibleData.value);
  }

  #display(held: RangeData): void {
    const next = this.#withInFlightChanges(held);
    this.fault.value = undefined;
    // Identical data must not cause another rendering.
    const before = this.visibleData.value;
    const isSame = before?.days.from === next.days.from && JSON.stringify(next) === JSON.stringify(before);
    if (!isSame) this.visibleData.value = next;
  }

  #withInFlightChanges(held: RangeData): RangeData {
    if (this.#inFlight.size === 0) return held;
    const others = held.events.filter((one) => !this.#inFlight.has(one.event_id));
    const changed = [...this.#inFlight.values()].filter((one) => one !== undefined && overlaps(one, held.days));
    return { ...held, events: [...others, ...changed.filter((one) => one !== undefined)] };
  }

  async #refresh(range: RangeQuery, abortSignal: AbortSignal, showsParts: boolean): Promise<void> {
    const display = (held: RangeData) => {
      if (!abortSignal.aborted) this.#display(held);
    };
    let displayedAtMs = Number.NEGATIVE_INFINITY;
    const displayPartial = (held: RangeData) => {
      const now = performance.now();
      if (held.events.length === 0 || now - displayedAtMs < PARTIAL_RENDER_INTERVAL_MS) return;
      displayedAtMs = now;
      display(held);
    };
    try {
      const whole = await this.#load(range, abortSignal, showsParts ? displayPartial : undefined);
      this.#estimatedTotal = whole.total;
      display(whole);
    } catch (error) {
      if (!abortSignal.aborted) this.fault.value = errorMessage(error);
    }
  }

  async #load(
    { days, hasTasks }: RangeQuery,
    abortSignal: AbortSignal,
    onPart?: (held: RangeData) => void,
  ): Promise<RangeData> {
    const options = { signal: abortSignal };
    const found = new Map<string, CalendarEvent>();
    const totals = [0, 0];
    let tasks: readonly Task[] = [];
    const held = (isWhole: boolean): RangeData => {
      return { days, events: [...found.values()], tasks, total: (totals[0] ?? 0) + (totals[1] ?? 0), isWhole };
    };
    const events = filtersFor(days).map(async (filters, index) => {
      const loadPage = async (offset: number) => {
        const { data, paging } = await client.events.list({ ...filters, limit: PAGE_SIZE, offset }, options);
        for (const event of data) found.set(event.event_id, event);
        totals[index] = paging.total_records;
        onPart?.(held(false));
        return paging.total_records;
      };
      // Adjacent ranges have a similar size: request the expected pages concurrently.
      const expectedTotal = index === 1 ? Math.min(this.#estimatedTotal, MAX_EVENTS) : 0;
      const expectedPages = furtherOffsets(expectedTotal);
      const [total = 0] = await Promise.all([loadPage(0), ...expectedPages.map(loadPage)]);
      for (const offset of furtherOffsets(Math.min(total, MAX_EVENTS)))
        if (!expectedPages.includes(offset)) await loadPage(offset);
    });
    const due = { due_from: compactDay(days.from), due_to: compactDay(days.to), limit: PAGE_SIZE };
    const tasksPage = hasTasks ? listFullPage(client.tasks, due, abortSignal) : undefined;
    const showTasks = async () => {
      tasks = (await tasksPage)?.data.filter(({ archived }) => archived === '0') ?? [];
      onPart?.(held(false));
    };
    await Promise.all([...events, ...(hasTasks ? [showTasks()] : [])]);
    const whole = held(true);
    this.#store(cacheKey({ days, hasTasks }), whole);
    return whole;
  }

  #store(name: string, held: RangeData): void {
    this.#cache.delete(name);
    this.#cache.set(name, held);
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > MAX_CACHED_RANGES && oldest !== undefined) this.#cache.delete(oldest);
  }

  /** Prefetches the adjacent ranges, one by one, when the browser is idle. */
  async #prefetch({ hasTasks }: RangeQuery, around: readonly DayRange[], abortSignal: AbortSignal): Promise<void> {
    for (const days of around) {
      await waitForIdle();
      if (abortSignal.aborted) return;
      if (this.#cache.has(cacheKey({ days, hasTasks }))) continue;
      // Ignore errors of a prefetch: the range is loaded again when it is shown.
      await this.#load({ days, hasTasks }, abortSignal).catch(() => undefined);
    }
  }
}

const furtherOffsets = (total: number) =>
  Array.from({ length: Math.max(Math.ceil(total / PAGE_SIZE) - 1, 0) }, (_, index) => (index + 1) * PAGE_SIZE);

const waitForIdle = () =>
  new Promise<void>((resolve) => {
    if ('requestIdleCallback' in globalThis) requestIdleCallback(() => resolve(), { timeout: 2_000 });
    else setTimeout(resolve, 200);
  });

const RETRY_DELAY_MS = 3_000;
/** Minimum time between two reloads by live updates. */
const MIN_RELOAD_INTERVAL_MS = 400;

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Throttles reloads: one at a time, with a pause after each. Calls during a reload cause one further reload. */
function throttle(reload: () => Promise<void>): () => void {
  let isRequested = false;
  let isBusy = false;
  const run = async () => {
    isBusy = true;
    while (isRequested) {
      isRequested = false;
      await reload();
      await delay(MIN_RELOAD_INTERVAL_MS);
    }
    isBusy = false;
  };
  return () => {
    isRequested = true;
    if (!isBusy) void run();
  };
}

/** Callbacks that reload the displayed data. */
type ReloadCallbacks = { events(): Promise<void>; projects(): Promise<void> };

/**
 * Live updates: follows the feed, and reloads when an event, task or project was created, changed or deleted. The
 * scope `account` reports the changes of all users of the account, `own` only those of the current user. Reconnects
 * until aborted or signed out.
 */
export async function followChanges(
  scope: 'own' | 'account',
  reloads: ReloadCallbacks,
  signal: AbortSignal,
): Promise<void> {
  const changed = throttle(() => reloads.events());
  const projectsChanged = throttle(() => reloads.projects());
  while (!signal.aborted) {
    try {
      for await (const { kind } of client.notifications.follow({ after: 'latest', scope }, { signal })) {
        if (/_(event|task|project)$/.test(kind)) changed();
        if (kind.endsWith('_project')) projectsChanged();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CarillonError && ['signed_out', 'not_permitted'].includes(error.code)) return;
    }
    await delay(RETRY_DELAY_MS);
    // Reload, because changes may have been missed while disconnected.
    if (!signal.aborted) changed();
  }
}
