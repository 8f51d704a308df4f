import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { CalendarEntry } from './entries.ts';
import { CalendarGrid, type GridCallbacks, type GridState } from './event-calendar-adapter.ts';
import { type Day, plusDays, plusMonths } from './time-math.ts';

type CalendarBoardProps = GridState & {
  readonly callbacks: GridCallbacks;
  /**
   * Called when the cursor moves to a day. `isPage` (Page Up, Page Down): show the month of that day, even if the day
   * is already visible.
   */
  readonly onCursor: (day: Day, isPage?: boolean) => void;
  readonly onKey: (event: KeyboardEvent, entry: CalendarEntry) => void;
  /** Whether a dialog is open; when it closes, the selected days are cleared. */
  readonly isChoosing: boolean;
};

/** Grid of a month, week or day, with keyboard navigation between days and entries (roving tabindex). */
export function CalendarBoard({ callbacks, onCursor, onKey, isChoosing, ...state }: CalendarBoardProps) {
  const container = useRef<HTMLDivElement>(null);
  const grid = useRef<CalendarGrid>(undefined);
  const latest = useRef(callbacks);
  latest.current = callbacks;
  // The cursor is a ref, because repeated key events arrive faster than the grid is rendered.
  const cursor = useRef(state.cursor);
  cursor.current = state.cursor;
  useLayoutEffect(() => {
    if (container.current === null) return;
    const created = new CalendarGrid(container.current, state, () => latest.current);
    grid.current = created;
    const observer = new ResizeObserver(() => created.resize());
    observer.observe(container.current);
    return () => {
      observer.disconnect();
      created.close();
    };
  }, []);
  useLayoutEffect(() => grid.current?.show(state));
  useEffect(() => {
    if (!isChoosing) grid.current?.unselect();
  }, [isChoosing]);

  const handleDayKey = (event: KeyboardEvent) => {
    const next = dayAfterKey(event.key, cursor.current);
    if (next !== undefined) {
      event.preventDefault();
      cursor.current = next;
      onCursor(next, event.key.startsWith('Page'));
      grid.current?.focusDay(next);
      return;
    }
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    const first = grid.current?.entriesOn(cursor.current)[0];
    if (first === undefined) callbacks.onSlotClicked(wholeDaySpan(cursor.current));
    // If the entry is hidden because the day has too many entries, open the dialog of the day.
    else if (grid.current?.focusEntry(first.id) !== true) callbacks.openDay(cursor.current);
  };
  const handleEntryKey = (event: KeyboardEvent, article: HTMLElement) => {
    if (event.key === 'Escape') return grid.current?.focusDay(cursor.current);
    const entry = grid.current?.entryOf(article);
    const isPlain = !event.shiftKey && !event.altKey;
    const step = isPlain ? { ArrowDown: 1, ArrowUp: -1 }[event.key] : undefined;
    if (step !== undefined) {
      event.preventDefault();
      const ids = [...(grid.current?.entriesOn(cursor.current) ?? []).map(({ id }) => id), `m${cursor.current}`];
      const at = ids.indexOf(article.dataset.id ?? '');
      const nextIds = step > 0 ? ids.slice(at + 1) : ids.slice(0, Math.max(at, 0)).reverse();
      nextIds.some((id) => grid.current?.focusEntry(id));
    } else if (isPlain && /^Arrow(Left|Right)$/.test(event.key)) handleDayKey(event);
    else if (entry !== undefined) onKey(event, entry);
  };
  const handleKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement) || event.ctrlKey || event.metaKey) return;
    const article = event.target.closest<HTMLElement>('.ec-event');
    if (article !== null) handleEntryKey(event, article);
    else if (event.target.matches('.ec-day')) handleDayKey(event);
  };
  const handleFocusIn = (event: FocusEvent) => {
    const { day } = event.target instanceof HTMLElement ? event.target.dataset : {};
    if (day === undefined || day === cursor.current) return;
    cursor.current = day;
    onCursor(day);
  };
  return (
    <div class={`board ${state.view}`} ref={container} onKeyDownCapture={handleKeyDown} onFocusIn={handleFocusIn} />
  );
}

const wholeDaySpan = (day: Day) => ({ start: `${day} 00:00:00`, end: `${plusDays(day, 1)} 00:00:00`, isAllDay: true });

/** Returns the day that a navigation key moves to; undefined for any other key. */
function dayAfterKey(key: string, from: Day): Day | undefined {
  const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[key];
  if (days !== undefined) return plusDays(from, days);
  const months = { PageUp: -1, PageDown: 1 }[key];
  return months === undefined ? undefined : plusMonths(from, months);
}
