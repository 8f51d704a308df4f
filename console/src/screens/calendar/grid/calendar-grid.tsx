import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { CalendarEntry } from '../entries.ts';
import { type Day, plusDays, plusMonths } from '../time-math.ts';
import { EventCalendarAdapter, type GridCallbacks, type GridState } from './event-calendar-adapter.ts';

type CalendarBoardProps = GridState & {
  readonly callbacks: GridCallbacks;
  /**
   * Called when the keyboard focus moves to a day. `isPageJump` is set after Page Up and Page Down: the month of that
   * day must then be shown, even if the day is already visible.
   */
  readonly onCursorMove: (day: Day, isPageJump?: boolean) => void;
  readonly onEntryKey: (event: KeyboardEvent, entry: CalendarEntry) => void;
  /** Whether a dialog is open; when it closes, the selected days are cleared. */
  readonly isDialogOpen: boolean;
};

/** Grid of a month, week or day, with keyboard navigation between days and entries (roving tabindex). */
export function CalendarBoard({ callbacks, onCursorMove, onEntryKey, isDialogOpen, ...state }: CalendarBoardProps) {
  const containerRef = useRef<HTMLDivElement>(null);
  const gridRef = useRef<EventCalendarAdapter>(undefined);
  const latestCallbacks = useRef(callbacks);
  latestCallbacks.current = callbacks;
  // Keep the focused day in a ref, because key events can arrive faster than the grid is rendered.
  const cursorRef = useRef(state.cursorDay);
  cursorRef.current = state.cursorDay;
  useLayoutEffect(() => {
    if (containerRef.current === null) return;
    const newGrid = new EventCalendarAdapter(containerRef.current, state, () => latestCallbacks.current);
    gridRef.current = newGrid;
    const observer = new ResizeObserver(() => newGrid.updateAfterResize());
    observer.observe(containerRef.current);
    return () => {
      observer.disconnect();
      newGrid.close();
    };
  }, []);
  useLayoutEffect(() => gridRef.current?.showState(state));
  useEffect(() => {
    if (!isDialogOpen) gridRef.current?.clearSelection();
  }, [isDialogOpen]);

  const handleDayKey = (event: KeyboardEvent) => {
    const nextDay = nextDayForKey(event.key, cursorRef.current);
    if (nextDay !== undefined) {
      event.preventDefault();
      cursorRef.current = nextDay;
      onCursorMove(nextDay, event.key.startsWith('Page'));
      gridRef.current?.focusDay(nextDay);
      return;
    }
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    const firstEntry = gridRef.current?.entriesOnDay(cursorRef.current)[0];
    if (firstEntry === undefined) callbacks.onSlotClicked(toWholeDaySpan(cursorRef.current));
    // If the entry is hidden because the day has too many entries, open the dialog of the day.
    else if (gridRef.current?.focusEntry(firstEntry.id) !== true) callbacks.openDay(cursorRef.current);
  };
  const handleEntryKey = (event: KeyboardEvent, entryElement: HTMLElement) => {
    if (event.key === 'Escape') return gridRef.current?.focusDay(cursorRef.current);
    const entry = gridRef.current?.entryOfElement(entryElement);
    const hasNoModifierKey = !event.shiftKey && !event.altKey;
    const entryOffset = hasNoModifierKey ? { ArrowDown: 1, ArrowUp: -1 }[event.key] : undefined;
    if (entryOffset !== undefined) {
      event.preventDefault();
      const focusableIds = [
        ...(gridRef.current?.entriesOnDay(cursorRef.current) ?? []).map(({ id }) => id),
        `m${cursorRef.current}`,
      ];
      const currentIndex = focusableIds.indexOf(entryElement.dataset.id ?? '');
      const nextIds =
        entryOffset > 0
          ? focusableIds.slice(currentIndex + 1)
          : focusableIds.slice(0, Math.max(currentIndex, 0)).reverse();
      nextIds.some((id) => gridRef.current?.focusEntry(id));
    } else if (hasNoModifierKey && /^Arrow(Left|Right)$/.test(event.key)) handleDayKey(event);
    else if (entry !== undefined) onEntryKey(event, entry);
  };
  const handleKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement) || event.ctrlKey || event.metaKey) return;
    const entryElement = event.target.closest<HTMLElement>('.ec-event');
    if (entryElement !== null) handleEntryKey(event, entryElement);
    else if (event.target.matches('.ec-day')) handleDayKey(event);
  };
  const handleFocusIn = (event: FocusEvent) => {
    const { day } = event.target instanceof HTMLElement ? event.target.dataset : {};
    if (day === undefined || day === cursorRef.current) return;
    cursorRef.current = day;
    onCursorMove(day);
  };
  return (
    <div class={`board ${state.view}`} ref={containerRef} onKeyDownCapture={handleKeyDown} onFocusIn={handleFocusIn} />
  );
}

const toWholeDaySpan = (day: Day) => ({
  start: `${day} 00:00:00`,
  end: `${plusDays(day, 1)} 00:00:00`,
  isAllDay: true,
});

/** Returns the day that a navigation key moves to; undefined for any other key. */
function nextDayForKey(key: string, currentDay: Day): Day | undefined {
  const dayOffset = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[key];
  if (dayOffset !== undefined) return plusDays(currentDay, dayOffset);
  const monthOffset = { PageUp: -1, PageDown: 1 }[key];
  return monthOffset === undefined ? undefined : plusMonths(currentDay, monthOffset);
}
