import { useState } from 'preact/hooks';
import { today } from '../../app/calendar-dates.ts';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
import { type CalendarEntry, isEntryOnDay } from './entries.ts';
import { formatEntryLabel } from './grid/grid-events.ts';
import { formatEventTimes, formatLongDay, formatShortDay, formatWeekday } from './locale.ts';
import { type Day, type DayRange, listDays } from './time-math.ts';
import './agenda.css';

/** Number of rows that are rendered at first, and that the button below the list adds. */
const ROWS_PER_BATCH = 300;

type AgendaProps = {
  readonly days: DayRange;
  readonly entries: readonly CalendarEntry[];
  readonly onOpen: (entry: CalendarEntry) => void;
  readonly onEntryKey: (event: KeyboardEvent, entry: CalendarEntry) => void;
};

/** List view of the calendar: the days of a month that have entries. */
export function Agenda({ days, entries, onOpen, onEntryKey }: AgendaProps) {
  const [maxRows, setMaxRows] = useState(ROWS_PER_BATCH);
  const dayGroups = listDays(days)
    .map((day) => ({ day, listedEntries: findListedEntries(entries, day, days) }))
    .filter(({ listedEntries }) => listedEntries.length > 0);
  let remainingRows = maxRows;
  const shownGroups = dayGroups.flatMap(({ day, listedEntries }) => {
    const shownEntries = listedEntries.slice(0, Math.max(remainingRows, 0));
    remainingRows -= listedEntries.length;
    return shownEntries.length === 0 ? [] : [{ day, shownEntries }];
  });
  return (
    <div class="agenda">
      {shownGroups.map(({ day, shownEntries }) => (
        <section key={day} class={day === today() ? 'today' : ''}>
          <h2 aria-label={formatLongDay(day)}>
            <span class="weekday">{formatWeekday(day)}</span>
            <span class="date number">{Number(day.slice(8))}</span>
          </h2>
          <ul>
            {shownEntries.map((entry) => (
              <li key={entry.id}>
                <AgendaRow entry={entry} onOpen={onOpen} onEntryKey={onEntryKey} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {remainingRows < 0 && (
        <p class="after">
          <Button
            onClick={() => setMaxRows(maxRows + ROWS_PER_BATCH)}
          >{`Show ${Math.min(ROWS_PER_BATCH, -remainingRows)} more`}</Button>
        </p>
      )}
    </div>
  );
}

/** Row of one entry in a list; it supports the same keyboard shortcuts as an entry in the grid. */
export function AgendaRow({
  entry,
  onOpen,
  onEntryKey,
}: Pick<AgendaProps, 'onOpen' | 'onEntryKey'> & { entry: CalendarEntry }) {
  const { task, title, projectName, colour } = entry;
  return (
    <button
      type="button"
      class={`line ${task?.completed === '1' ? 'done' : ''}`}
      data-id={entry.id}
      style={colour === undefined ? {} : { '--colour': colour }}
      onClick={() => onOpen(entry)}
      onKeyDown={(keyEvent) => onEntryKey(keyEvent, entry)}
    >
      {task === undefined ? <span class="tag" /> : <Icon name="task" />}
      <span class="time number">{formatTimeColumn(entry)}</span>
      <span class="title cut">{title}</span>
      <span class="project cut">{projectName}</span>
      <span class="hidden-text">{formatEntryLabel(entry)}</span>
    </button>
  );
}

/**
 * Returns the entries to list on a day. An entry that lasts several days is listed on its first visible day, and
 * again on the current day.
 */
function findListedEntries(entries: readonly CalendarEntry[], day: Day, { from }: DayRange): readonly CalendarEntry[] {
  return entries.filter((entry) => {
    const firstVisibleDay = entry.days.from < from ? from : entry.days.from;
    return firstVisibleDay === day || (day === today() && isEntryOnDay(entry, day));
  });
}

/** Returns the text of the time column: the times of an entry, or the last day of an entry of several days. */
function formatTimeColumn({ days, event }: CalendarEntry): string {
  if (event === undefined) return 'due';
  if (days.from !== days.to) return `until ${formatShortDay(days.to)}`;
  return formatEventTimes(event) || 'all day';
}
