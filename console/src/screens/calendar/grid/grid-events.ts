import type { EventContent, RenderedEvent } from '@event-calendar/build/dist/event-calendar.min.js';
import '@event-calendar/build/dist/event-calendar.min.css';
import './calendar-grid.css';
import type { CalendarEntry } from '../entries.ts';
import { formatEventSpan, formatLongDay, formatTimeOfTimestamp } from '../locale.ts';
import { type Day, dayOf, plusSeconds } from '../time-math.ts';

export type GridView = 'month' | 'week' | 'day';

/** Maximum duration of an entry that shows its name and time on one line. */
const MAX_ONE_LINE_DURATION_SECONDS = 30 * 60;

export function toGridEvent({ id, title, start, end, isAllDay, days, colour, task }: CalendarEntry, view: GridView) {
  const isAllDayOrMultiDay = isAllDay || days.from !== days.to;
  const isOneLine = plusSeconds(start, MAX_ONE_LINE_DURATION_SECONDS) >= end;
  const classNames = [
    isAllDayOrMultiDay ? 'lasting' : 'brief',
    ...(isOneLine ? ['short'] : []),
    ...(task === undefined ? [] : ['task', ...(task.completed === '1' ? ['done'] : [])]),
  ];
  // The month view has no hours, so the end of a timed event cannot be resized there.
  const isResizable = task === undefined && (isAllDay || view !== 'month');
  const editOptions = { durationEditable: isResizable, ...(task !== undefined && { startEditable: false }) };
  const styles = colour === undefined ? [] : [`--colour: ${colour}`];
  return {
    id,
    title,
    start: toIsoTimestamp(start),
    end: toIsoTimestamp(end),
    allDay: isAllDay,
    classNames,
    styles,
    ...editOptions,
  };
}

/** Converts an API timestamp to the ISO timestamp that the library expects. */
const toIsoTimestamp = (text: string) => text.replace(' ', 'T');

/**
 * Returns the "3 more" entry for the last row of a day; its id is `m` and the day. In the month view its time is
 * 23:59:58, so that the library sorts it last.
 */
export function createMoreLink(day: Day, hiddenCount: number, view: GridView) {
  const isMonthView = view === 'month';
  const timeOptions = isMonthView ? { start: `${day}T23:59:58`, end: `${day}T23:59:59` } : { start: day, end: day };
  const readOnlyOptions = { allDay: !isMonthView, startEditable: false, durationEditable: false };
  return { id: `m${day}`, title: `${hiddenCount} more`, classNames: ['more'], ...timeOptions, ...readOnlyOptions };
}

export function createEventContent(
  { id, title }: RenderedEvent,
  timeText: string,
  { entry, view }: { readonly entry: CalendarEntry | undefined; readonly view: GridView },
): EventContent | undefined {
  if (id.startsWith('m'))
    return {
      domNodes: [
        createElement('span', 'title', title),
        createElement('span', 'hidden-text', ` on ${formatLongDay(id.slice(1))}`),
      ],
    };
  if (entry === undefined) return undefined;
  const titleNodes = [
    createElement('span', 'title', entry.title),
    createElement('span', 'hidden-text', formatEntryLabel(entry)),
  ];
  if (entry.task !== undefined) return { domNodes: [createTaskIcon(entry.task.completed === '1'), ...titleNodes] };
  if (entry.isAllDay) return { domNodes: titleNodes };
  const isMonthView = view === 'month';
  const timeElement = createElement('time', 'time', isMonthView ? formatTimeOfTimestamp(entry.start) : timeText);
  return { domNodes: isMonthView ? [timeElement, ...titleNodes] : [...titleNodes, timeElement] };
}

/** Returns the text of an entry for screen readers: type, time and project. */
export function formatEntryLabel({ task, event, start, projectName }: CalendarEntry): string {
  const timeText = event === undefined ? `due ${formatLongDay(dayOf(start))}` : formatEventSpan(event);
  const typeText = task === undefined ? '' : task.completed === '1' ? ', completed task' : ', task';
  return `${typeText}, ${timeText}${projectName === '' ? '' : `, ${projectName}`}`;
}

export function createElement(tag: string, className: string, text = ''): HTMLElement {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

/** Creates the icon of a task: a checkbox, which is checked when the task is completed. */
function createTaskIcon(isDone: boolean): Element {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'icon');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', isDone ? 'M2.5 2.5h11v11h-11zM5 8.2l2.2 2.2L11 6' : 'M2.5 2.5h11v11h-11z');
  svg.append(path);
  return svg;
}
