import {
  create,
  type DragDelta,
  destroy,
  type EventCalendar,
  type RenderedEvent,
} from '@event-calendar/build/dist/event-calendar.min.js';
import { type CalendarEntry, isEntryOnDay } from '../entries.ts';
import { fitEntriesIntoRows } from '../layout.ts';
import { dateLocale, firstWeekday, formatLongDay, formatViewTitle } from '../locale.ts';
import {
  type Day,
  type DayRange,
  dayOf,
  daysBetween,
  listDays,
  plusSeconds,
  type TimeSpan,
  toTimestamp,
} from '../time-math.ts';
import { createElement, createEventContent, createMoreLink, type GridView, toGridEvent } from './grid-events.ts';

/** Callbacks for user actions in the grid, by pointer or keyboard. */
export type GridCallbacks = {
  openEntry(entry: CalendarEntry): void;
  /** Opens the dialog with all entries of a day. */
  openDay(day: Day): void;
  onRangeSelected(timeSpan: TimeSpan): void;
  /** Called after a click or tap on a day or time slot. */
  onSlotClicked(timeSpan: TimeSpan): void;
  moveEntry(entry: CalendarEntry, deltaSeconds: number): void;
  resizeEntry(entry: CalendarEntry, edgeDeltaSeconds: { readonly start: number; readonly end: number }): void;
};

/** The state that the grid renders. */
export type GridState = {
  readonly view: GridView;
  readonly days: DayRange;
  /** A day of the displayed period. */
  readonly day: Day;
  readonly entries: readonly CalendarEntry[];
  /** The day with the keyboard focus. */
  readonly cursorDay: Day;
};

const LIBRARY_VIEW_NAMES = { month: 'dayGridMonth', week: 'timeGridWeek', day: 'timeGridDay' } as const;

const ENTRY_GAP_PX = 2;
/** Number of rows for all-day entries above the hours of the week and day view. */
const ALL_DAY_ROW_COUNT = 5;

/** Rounds up to whole days, because the library reports the resize of an all-day entry in steps of 15 minutes. */
const roundUpToDays = (seconds: number) => Math.ceil(seconds / 86_400) * 86_400;

const deltaToSeconds = ({ days, seconds }: DragDelta) => days * 86_400 + seconds;

/** Converts an ISO timestamp of the library to an API timestamp. */
const fromIsoTimestamp = (text: string) => text.slice(0, 19).replace('T', ' ');

/**
 * Adapter for the @event-calendar library. It gives the library only those entries that fit into the grid. Dates are
 * exchanged as strings and drag distances, because `Date` objects depend on the time zone. The adapter also adds
 * accessible names and keyboard focus to days and entries.
 */
export class EventCalendarAdapter {
  readonly #container: HTMLElement;
  readonly #getCallbacks: () => GridCallbacks;
  readonly #grid: EventCalendar;
  readonly #entriesById = new Map<string, CalendarEntry>();
  #state: GridState;
  #lastRenderKey = '';
  #renderedEntries: readonly CalendarEntry[] | undefined;
  #mustFocusDay = false;

  constructor(container: HTMLElement, state: GridState, getCallbacks: () => GridCallbacks) {
    this.#container = container;
    this.#getCallbacks = getCallbacks;
    this.#state = state;
    this.#grid = create(container, {
      view: LIBRARY_VIEW_NAMES[state.view],
      date: state.day,
      firstDay: firstWeekday,
      locale: dateLocale,
      height: '100%',
      headerToolbar: { start: '', center: '', end: '' },
      editable: true,
      eventResizableFromStart: true,
      selectable: true,
      unselectAuto: false,
      nowIndicator: true,
      slotHeight: 25,
      scrollTime: '07:30:00',
      snapDuration: '00:15:00',
      eventGap: ENTRY_GAP_PX,
      slotEventOverlap: false,
      longPressDelay: 350,
      // Pass an element, because the library inserts a string as HTML.
      allDayContent: { domNodes: [createElement('span', '', 'All day')] },
      dayHeaderFormat: { weekday: 'short', day: 'numeric' },
      views: { dayGridMonth: { dayHeaderFormat: { weekday: 'short' } } },
      eventContent: ({ event, timeText }) =>
        createEventContent(event, timeText, { entry: this.#entriesById.get(event.id), view: this.#state.view }),
      eventDidMount: ({ event, el }) => this.#setEntryAttributes(event, el),
      eventClick: ({ event }) => this.#openEntryOrDay(event),
      eventDrop: ({ event, delta }) =>
        this.#callWithEntry(event, (entry) => this.#getCallbacks().moveEntry(entry, deltaToSeconds(delta))),
      eventResize: ({ event, startDelta, endDelta }) => {
        this.#callWithEntry(event, (entry) => {
          const [start, end] = [deltaToSeconds(startDelta), deltaToSeconds(endDelta)];
          this.#getCallbacks().resizeEntry(
            entry,
            entry.isAllDay ? { start: roundUpToDays(start), end: roundUpToDays(end) } : { start, end },
          );
        });
      },
      dateClick: ({ dateStr, allDay }) =>
        this.#getCallbacks().onSlotClicked(timeSpanFromClick(fromIsoTimestamp(dateStr), allDay)),
      select: ({ startStr, endStr, allDay }) => {
        this.#getCallbacks().onRangeSelected({
          start: fromIsoTimestamp(startStr),
          end: fromIsoTimestamp(endStr),
          isAllDay: allDay,
        });
      },
    });
  }

  /** Renders a new state; unchanged parts are not rendered again. */
  showState(nextState: GridState): void {
    const previousState = this.#state;
    this.#state = nextState;
    const { view, day, days, entries } = nextState;
    const periodKey = `${view} ${days.from}`;
    if (!this.#lastRenderKey.startsWith(`${periodKey} `)) {
      if (previousState.view !== view) this.#grid.setOption('view', LIBRARY_VIEW_NAMES[view]);
      this.#grid.setOption('date', day);
    }
    const rowCount = this.#countFittingRows();
    const renderKey = `${periodKey} ${rowCount}`;
    if (renderKey !== this.#lastRenderKey || entries !== this.#renderedEntries) {
      this.#lastRenderKey = renderKey;
      this.#renderedEntries = entries;
      this.#renderEntries(rowCount);
    }
    this.#scheduleDayLabels();
  }

  /** Renders again after the size of the container has changed, because another number of rows may fit. */
  updateAfterResize(): void {
    this.showState(this.#state);
  }

  /** Clears the selection of days. */
  clearSelection(): void {
    this.#grid.unselect();
  }

  /** Focuses a day: immediately if visible, and again after the next render, which may replace its element. */
  focusDay(day = this.#state.cursorDay): void {
    this.#container.querySelector<HTMLElement>(`[data-day="${day}"]`)?.focus();
    this.#mustFocusDay = true;
    this.#scheduleDayLabels();
  }

  /** Focuses an entry. Returns false if the entry is not rendered. */
  focusEntry(id: string): boolean {
    const entryElement = this.#container.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`);
    entryElement?.focus();
    return entryElement !== null;
  }

  entriesOnDay(day: Day): readonly CalendarEntry[] {
    return this.#state.entries.filter((entry) => isEntryOnDay(entry, day));
  }

  entryOfElement(target: EventTarget | null): CalendarEntry | undefined {
    const entryElement = target instanceof Element ? target.closest<HTMLElement>('.ec-event') : null;
    return this.#entriesById.get(entryElement?.dataset.id ?? '');
  }

  close(): void {
    void destroy(this.#grid);
  }

  #countFittingRows(): number {
    const { view, days } = this.#state;
    if (view !== 'month') return ALL_DAY_ROW_COUNT;
    const weekCount = (daysBetween(days.from, days.to) + 1) / 7;
    // The sizes are defined in calendar-grid.css.
    const style = getComputedStyle(this.#container);
    const readPxProperty = (propertyName: string) => Number.parseFloat(style.getPropertyValue(propertyName));
    const dayHeightPx = (this.#container.clientHeight - readPxProperty('--header')) / weekCount;
    return Math.max(
      1,
      Math.floor((dayHeightPx - readPxProperty('--day-head')) / (readPxProperty('--row') + ENTRY_GAP_PX)),
    );
  }

  #renderEntries(rowCount: number): void {
    const { view, days, entries } = this.#state;
    const focusedEntryId = this.entryOfElement(document.activeElement)?.id;
    // The hour grid shows all timed entries; only the month and the all-day rows are limited.
    const limitedEntries = view === 'month' ? entries : entries.filter(({ isAllDay }) => isAllDay);
    const timedEntries = view === 'month' ? [] : entries.filter(({ isAllDay }) => !isAllDay);
    const { shownEntries, hiddenCountByDay } = fitEntriesIntoRows(limitedEntries, days, rowCount);
    this.#entriesById.clear();
    for (const entry of entries) this.#entriesById.set(entry.id, entry);
    const gridEvents = [...shownEntries, ...timedEntries].map((entry) => toGridEvent(entry, view));
    this.#grid.setOption('events', [
      ...gridEvents,
      ...[...hiddenCountByDay].map(([day, hiddenCount]) => createMoreLink(day, hiddenCount, view)),
    ]);
    if (focusedEntryId === undefined) return;
    // Restore the focus after the library has rendered the entries, but before the next key event.
    queueMicrotask(() => {
      if (document.activeElement === document.body && !this.focusEntry(focusedEntryId)) this.focusDay();
    });
  }

  #callWithEntry({ id }: RenderedEvent, action: (entry: CalendarEntry) => void): void {
    const entry = this.#entriesById.get(id);
    if (entry !== undefined) action(entry);
  }

  #openEntryOrDay(clickedEvent: RenderedEvent): void {
    if (clickedEvent.id.startsWith('m')) this.#getCallbacks().openDay(clickedEvent.id.slice(1));
    else this.#callWithEntry(clickedEvent, (entry) => this.#getCallbacks().openEntry(entry));
  }

  #setEntryAttributes({ id }: RenderedEvent, element: HTMLElement): void {
    // Skip the library's own elements, such as `{select}` for the selected range.
    if (id.startsWith('{')) return;
    element.dataset.id = id;
    // Roving tabindex: arrow keys move the focus from a day to its entries; Tab skips the entries.
    element.tabIndex = -1;
  }

  /** Sets accessible names and tabindex of the days in the next frame, after the library has rendered. */
  #scheduleDayLabels(): void {
    requestAnimationFrame(() => {
      const { view, day, days, cursorDay } = this.#state;
      const gridRoot = this.#container.firstElementChild;
      gridRoot?.setAttribute('role', 'group');
      gridRoot?.setAttribute('aria-label', formatViewTitle(view, day, days));
      // The library sets the ARIA roles of rows and cells, but no table role around them. Replace these roles, because
      // each day has its own accessible name.
      for (const tablePart of this.#container.querySelectorAll(
        '[role=row], [role=columnheader], [role=rowgroup], [role=cell]',
      )) {
        tablePart.setAttribute('role', 'presentation');
      }
      const headerSelector = view === 'month' ? '.ec-header' : '.ec-col-head';
      for (const headerElement of this.#container.querySelectorAll(headerSelector))
        headerElement.setAttribute('aria-hidden', 'true');
      // Do not move the focus if the user has meanwhile focused an element that is not a day.
      const mayMoveFocus =
        document.activeElement === document.body || document.activeElement?.matches('.ec-day') === true;
      const gridDays = listDays(days);
      this.#container.querySelectorAll<HTMLElement>('.ec-body .ec-day').forEach((cell, index) => {
        const cellDay = gridDays[index];
        if (cellDay === undefined) return;
        cell.dataset.day = cellDay;
        cell.setAttribute('role', 'button');
        cell.tabIndex = cellDay === cursorDay ? 0 : -1;
        cell.setAttribute('aria-label', this.#formatDayLabel(cellDay));
        if (cellDay === cursorDay && this.#mustFocusDay && mayMoveFocus) cell.focus();
      });
      this.#mustFocusDay = false;
    });
  }

  #formatDayLabel(day: Day): string {
    const entryCount = this.entriesOnDay(day).length;
    if (entryCount === 0) return `${formatLongDay(day)}, nothing`;
    return `${formatLongDay(day)}, ${entryCount} ${entryCount === 1 ? 'entry' : 'entries'}`;
  }
}

/** Returns the time span of an event that a click creates: one hour, or the whole day. */
function timeSpanFromClick(start: string, isAllDay: boolean): TimeSpan {
  const end = isAllDay ? toTimestamp(dayOf(plusSeconds(toTimestamp(dayOf(start)), 86_400))) : plusSeconds(start, 3_600);
  return { start, end, isAllDay };
}
