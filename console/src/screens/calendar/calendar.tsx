import type { ComponentProps } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { today } from '../../app/calendar-dates.ts';
import { currentRoute, hrefTo, updateQueryParams } from '../../app/router.ts';
import { useQuery } from '../../app/use-query.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { Agenda, AgendaRow } from './agenda.tsx';
import { apiCallsFor } from './api-examples.ts';
import { deleteEvent, duplicateEvent, moveEvent } from './calendar-actions.ts';
import { buildCalendarEntries, type CalendarEntry, isEntryOnDay } from './entries.ts';
import { EventDialog } from './event-dialog.tsx';
import { type EventDraft, toEventDraft } from './event-draft.ts';
import { CalendarFilterControls, SEARCH_INPUT_ID, ShortcutsDialog } from './filters.tsx';
import { CalendarBoard } from './grid/calendar-grid.tsx';
import type { GridCallbacks } from './grid/event-calendar-adapter.ts';
import { useShortcuts } from './keys.ts';
import { firstWeekday, formatLongDay, formatViewTitle } from './locale.ts';
import { QUICK_ADD_INPUT_ID, QuickAddForm } from './quick-add/quick-line.tsx';
import { StatusLine } from './status-line.tsx';
import {
  type Day,
  dayOf,
  isDay,
  moveDates,
  plusSeconds,
  plusViewPeriods,
  resizeDates,
  type TimeSpan,
  toEventDates,
  toFormDates,
  visibleDaysFor,
} from './time-math.ts';
import { useCalendarData } from './use-calendar-data.ts';
import './calendar.css';

const VIEW_OPTIONS = [
  { value: 'month', text: 'Month' },
  { value: 'week', text: 'Week' },
  { value: 'day', text: 'Day' },
  { value: 'list', text: 'List' },
] as const;

type CalendarView = (typeof VIEW_OPTIONS)[number]['value'];

/** The dialog that is open; undefined for none. */
type ShownDialog = { readonly draft: EventDraft } | { readonly day: Day } | 'help' | 'subscribe-or-import' | undefined;

const SECONDS_PER_DAY = 86_400;
const NARROW_SCREEN_QUERY = '(max-width: 760px)';

/** Reads the view, the day and the filters from the query of the route. */
function readCalendarQuery() {
  const { query } = currentRoute.value;
  const view = VIEW_OPTIONS.find(({ value }) => value === query.get('view'))?.value ?? 'month';
  const date = query.get('date') ?? '';
  return {
    view,
    day: isDay(date) ? date : today(),
    chosenProjectIds: (query.get('projects') ?? '').split(',').filter((projectId) => /^\d+$/.test(projectId)),
    searchText: query.get('q') ?? '',
    hasTasks: query.get('tasks') === '1',
  };
}

const focusElementById = (elementId: string) => document.getElementById(elementId)?.focus();

export default function CalendarScreen() {
  const { view, day, chosenProjectIds, searchText, hasTasks } = readCalendarQuery();
  const days = visibleDaysFor(view, day, firstWeekday);
  const [shownDialog, setShownDialog] = useState<ShownDialog>();
  // The cursor is the day that has the keyboard focus.
  const [cursorDay, setCursorDay] = useState(day);
  useEffect(() => setCursorDay(day), [day]);
  const { projects, rangeData } = useCalendarData(view, day, hasTasks);
  const entries = useMemo(
    () =>
      rangeData === undefined
        ? []
        : buildCalendarEntries(rangeData, projects, { projectIds: chosenProjectIds, searchText }),
    [rangeData, projects, chosenProjectIds.join(), searchText],
  );

  const showDate = (date: Day, newView: CalendarView = view) =>
    updateQueryParams({ date: date === today() ? undefined : date, view: newView === 'month' ? undefined : newView });
  const moveCursor = (nextDay: Day, isPageJump = false) => {
    setCursorDay(nextDay);
    if (isPageJump || nextDay < days.from || nextDay > days.to) showDate(nextDay);
  };
  const moveByPeriods = (periodCount: number) => showDate(plusViewPeriods(view, day, periodCount));
  const openNewEventDialog = (timeSpan: TimeSpan) =>
    setShownDialog({ draft: createEmptyDraft(timeSpan, chosenProjectIds) });
  const openNewEventForDay = (date: Day) =>
    openNewEventDialog({
      start: `${date} 00:00:00`,
      end: plusSeconds(`${date} 00:00:00`, SECONDS_PER_DAY),
      isAllDay: true,
    });
  const openEntry = ({ event, task }: CalendarEntry) => {
    if (event !== undefined) setShownDialog({ draft: toEventDraft(event) });
    else if (task !== undefined) location.hash = hrefTo('tasks', task.task_id);
  };
  const onEntryKey = (keyEvent: KeyboardEvent, entry: CalendarEntry) => runEntryShortcut(keyEvent, entry, openEntry);
  const gridCallbacks: GridCallbacks = {
    openEntry,
    openDay: (date) => setShownDialog({ day: date }),
    onRangeSelected: openNewEventDialog,
    onSlotClicked(timeSpan) {
      // On a narrow screen a tap on a day opens the day view instead of the form.
      if (view === 'month' && matchMedia(NARROW_SCREEN_QUERY).matches) showDate(dayOf(timeSpan.start), 'day');
      else openNewEventDialog(timeSpan);
    },
    moveEntry: ({ event }, deltaSeconds) =>
      event !== undefined && void moveEvent(event, moveDates(event, deltaSeconds)),
    resizeEntry: ({ event }, edgeDeltaSeconds) =>
      event !== undefined && void moveEvent(event, resizeDates(event, edgeDeltaSeconds)),
  };
  useShortcuts({
    n: () => openNewEventForDay(cursorDay),
    q: () => focusElementById(QUICK_ADD_INPUT_ID),
    '/': () => focusElementById(SEARCH_INPUT_ID),
    '?': () => setShownDialog('help'),
    t: () => showDate(today()),
    j: () => moveByPeriods(1),
    k: () => moveByPeriods(-1),
    m: () => showDate(cursorDay, 'month'),
    w: () => showDate(cursorDay, 'week'),
    d: () => showDate(cursorDay, 'day'),
    l: () => showDate(cursorDay, 'list'),
  });

  const showDateIfHidden = (date: Day) => {
    if (date < days.from || date > days.to) showDate(date);
  };
  const exampleEventId = entries.find(({ event }) => event !== undefined)?.event?.event_id ?? '1';
  return (
    <Page
      title={formatViewTitle(view, day, days)}
      isWide
      calls={apiCallsFor(days, { cursorDay, exampleEventId, includesTasks: hasTasks })}
      actions={
        <>
          <span class="row steps">
            <Button
              icon="chevron"
              label={`Previous ${view === 'list' ? 'month' : view}`}
              onClick={() => moveByPeriods(-1)}
            />
            <Button onClick={() => showDate(today())}>Today</Button>
            <Button
              icon="chevron"
              label={`Next ${view === 'list' ? 'month' : view}`}
              onClick={() => moveByPeriods(1)}
            />
          </span>
          <RadioGroup
            label="View"
            value={view}
            options={VIEW_OPTIONS}
            onChange={(newView) => showDate(cursorDay, newView)}
          />
          <Button icon="calendar" label="Subscribe or import" onClick={() => setShownDialog('subscribe-or-import')} />
          <Button variant="primary" icon="plus" onClick={() => openNewEventForDay(cursorDay)}>
            New event
          </Button>
        </>
      }
    >
      <div class="calendar" data-shown={rangeData?.isComplete === true ? `${view} ${days.from}` : ''}>
        <div class="above">
          <QuickAddForm projects={projects} defaultDay={cursorDay} onCreated={showDateIfHidden} />
          <CalendarFilterControls
            data={rangeData}
            projects={projects}
            chosenProjectIds={chosenProjectIds}
            searchText={searchText}
            includesTasks={hasTasks}
          />
        </div>
        <StatusLine
          rangeData={rangeData}
          isFiltered={searchText !== '' || chosenProjectIds.length > 0}
          entryCount={entries.length}
        />
        {view === 'list' ? (
          <Agenda days={days} entries={entries} onOpen={openEntry} onEntryKey={onEntryKey} />
        ) : (
          <CalendarBoard
            {...{ view, day, days, entries, cursorDay, callbacks: gridCallbacks, onEntryKey }}
            onCursorMove={moveCursor}
            isDialogOpen={shownDialog !== undefined}
          />
        )}
      </div>
      {shownDialog === 'help' && <ShortcutsDialog onClose={() => setShownDialog(undefined)} />}
      {shownDialog === 'subscribe-or-import' && (
        <LazySubscribeOrImportDialog projects={[...projects.values()]} onClose={() => setShownDialog(undefined)} />
      )}
      {typeof shownDialog === 'object' && 'draft' in shownDialog && (
        <EventDialog
          draft={shownDialog.draft}
          projects={[...projects.values()]}
          onClose={() => setShownDialog(undefined)}
          onSaved={showDateIfHidden}
        />
      )}
      {typeof shownDialog === 'object' && 'day' in shownDialog && (
        <DayDialog
          day={shownDialog.day}
          entries={entries}
          onOpen={openEntry}
          onEntryKey={onEntryKey}
          onNewEvent={() => openNewEventForDay(shownDialog.day)}
          onClose={() => setShownDialog(undefined)}
        />
      )}
    </Page>
  );
}

/** Loads the code of the dialog for import and subscription on demand. */
function LazySubscribeOrImportDialog(props: ComponentProps<typeof import('./import-export.tsx').default>) {
  const { data } = useQuery(() => import('./import-export.tsx'), []);
  return data === undefined ? null : <data.default {...props} />;
}

function createEmptyDraft(timeSpan: TimeSpan, chosenProjectIds: readonly string[]): EventDraft {
  const [projectId = '0', ...otherProjectIds] = chosenProjectIds;
  return {
    ...toFormDates(toEventDates(timeSpan)),
    name: '',
    projectId: otherProjectIds.length === 0 ? projectId : '0',
  };
}

/** Runs the shortcut of a key on a focused entry: edit, delete, duplicate, move or resize. Ignores any other key. */
function runEntryShortcut(
  keyEvent: KeyboardEvent,
  entry: CalendarEntry,
  openEntry: (entry: CalendarEntry) => void,
): void {
  const { event } = entry;
  const shortcutAction = ((): (() => void) | undefined => {
    if (keyEvent.key === 'e') return () => openEntry(entry);
    if (event === undefined) return undefined;
    if (keyEvent.key === 'Delete' || keyEvent.key === 'Backspace') return () => void deleteEvent(event);
    if (keyEvent.key === 'c') return () => void duplicateEvent(event);
    const dayOffset = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[keyEvent.key];
    if (dayOffset === undefined || !keyEvent.shiftKey) return undefined;
    const deltaSeconds = dayOffset * SECONDS_PER_DAY;
    if (!keyEvent.altKey) return () => void moveEvent(event, moveDates(event, deltaSeconds));
    const newDates = resizeDates(event, { start: 0, end: deltaSeconds });
    return newDates.due_date < newDates.start_date ? undefined : () => void moveEvent(event, newDates);
  })();
  if (shortcutAction === undefined) return;
  keyEvent.preventDefault();
  keyEvent.stopPropagation();
  shortcutAction();
}

type DayDialogProps = {
  readonly day: Day;
  readonly entries: readonly CalendarEntry[];
  readonly onOpen: (entry: CalendarEntry) => void;
  readonly onEntryKey: (event: KeyboardEvent, entry: CalendarEntry) => void;
  readonly onNewEvent: () => void;
  readonly onClose: () => void;
};

/** Dialog with all entries of a day. */
function DayDialog({ day, entries, onOpen, onEntryKey, onNewEvent, onClose }: DayDialogProps) {
  const entriesOnDay = entries.filter((entry) => isEntryOnDay(entry, day));
  return (
    <Dialog title={formatLongDay(day)} onClose={onClose}>
      <div class="agenda in-dialog">
        {entriesOnDay.map((entry) => (
          <AgendaRow key={entry.id} entry={entry} onOpen={onOpen} onEntryKey={onEntryKey} />
        ))}
      </div>
      <div class="ends">
        <Button icon="plus" onClick={onNewEvent}>
          New event
        </Button>
      </div>
    </Dialog>
  );
}
