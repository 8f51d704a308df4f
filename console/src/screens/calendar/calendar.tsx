import type { ComponentProps } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { today } from '../../app/calendar-dates.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { currentRoute, hrefTo, updateQueryParams } from '../../app/router.ts';
import { isAdmin } from '../../app/session.ts';
import { useQuery } from '../../app/use-query.ts';
import { Note, ProgressBar } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { Agenda, AgendaRow } from './agenda.tsx';
import { apiCallsFor } from './api-examples.ts';
import { deleteEvent, duplicateEvent, eventCache, moveEvent } from './calendar-actions.ts';
import { CalendarBoard } from './calendar-grid.tsx';
import { buildCalendarEntries, type CalendarEntry, isEntryOnDay } from './entries.ts';
import type { GridCallbacks } from './event-calendar-adapter.ts';
import { EventDialog, type EventDraft, toEventDraft } from './event-dialog.tsx';
import { CalendarFilterControls, SEARCH_INPUT_ID, ShortcutsDialog } from './filters.tsx';
import { useShortcuts } from './keys.ts';
import { firstWeekday, formatLongDay, formatViewTitle } from './locale.ts';
import { QUICK_LINE_INPUT_ID, QuickLine } from './quick-line.tsx';
import { followChanges, MAX_EVENTS_PER_RANGE, type RangeData } from './range-cache.ts';
import {
  type Day,
  dayOf,
  isDay,
  moveDates,
  plusSeconds,
  resizeDates,
  stepDate,
  type TimeSpan,
  toEventDates,
  toFormDates,
  visibleDays,
} from './time-math.ts';
import './calendar.css';

const VIEW_OPTIONS = [
  { value: 'month', text: 'Month' },
  { value: 'week', text: 'Week' },
  { value: 'day', text: 'Day' },
  { value: 'list', text: 'List' },
] as const;

type CalendarView = (typeof VIEW_OPTIONS)[number]['value'];

/** The dialog that is open; undefined for none. */
type OpenDialog = { readonly draft: EventDraft } | { readonly day: Day } | 'help' | 'exchange' | undefined;

const DAY_S = 86_400;
const NARROW_SCREEN_QUERY = '(max-width: 760px)';

/** Reads the view, the day and the filters from the query of the route. */
function readQuery() {
  const { query } = currentRoute.value;
  const view = VIEW_OPTIONS.find(({ value }) => value === query.get('view'))?.value ?? 'month';
  const date = query.get('date') ?? '';
  return {
    view,
    day: isDay(date) ? date : today(),
    chosen: (query.get('projects') ?? '').split(',').filter((id) => /^\d+$/.test(id)),
    text: query.get('q') ?? '',
    hasTasks: query.get('tasks') === '1',
  };
}

const focusElement = (id: string) => document.getElementById(id)?.focus();

export default function CalendarScreen() {
  const { view, day, chosen, text, hasTasks } = readQuery();
  const days = visibleDays(view, day, firstWeekday);
  const [openDialog, setOpenDialog] = useState<OpenDialog>();
  const [cursorDay, setCursorDay] = useState(day);
  useEffect(() => setCursorDay(day), [day]);
  const { projects, held } = useCalendarData(view, day, hasTasks);
  const entries = useMemo(
    () => (held === undefined ? [] : buildCalendarEntries(held, projects, { projectIds: chosen, text })),
    [held, projects, chosen.join(), text],
  );

  const showDate = (date: Day, newView: CalendarView = view) =>
    updateQueryParams({ date: date === today() ? undefined : date, view: newView === 'month' ? undefined : newView });
  const moveCursor = (nextDay: Day, isPageMove = false) => {
    setCursorDay(nextDay);
    if (isPageMove || nextDay < days.from || nextDay > days.to) showDate(nextDay);
  };
  const stepView = (count: number) => showDate(stepDate(view, day, count));
  const openNewEvent = (timeSpan: TimeSpan) => setOpenDialog({ draft: emptyDraft(timeSpan, chosen) });
  const openNewEventOn = (date: Day) =>
    openNewEvent({ start: `${date} 00:00:00`, end: plusSeconds(`${date} 00:00:00`, DAY_S), isAllDay: true });
  const openEntry = ({ event, task }: CalendarEntry) => {
    if (event !== undefined) setOpenDialog({ draft: toEventDraft(event) });
    else if (task !== undefined) location.hash = hrefTo('tasks', task.task_id);
  };
  const onKey = (keyEvent: KeyboardEvent, entry: CalendarEntry) => handleEntryKey(keyEvent, entry, openEntry);
  const callbacks: GridCallbacks = {
    openEntry,
    openDay: (date) => setOpenDialog({ day: date }),
    onRangeSelected: openNewEvent,
    onSlotClicked(timeSpan) {
      // On a narrow screen a tap on a day opens the day view instead of the form.
      if (view === 'month' && matchMedia(NARROW_SCREEN_QUERY).matches) showDate(dayOf(timeSpan.start), 'day');
      else openNewEvent(timeSpan);
    },
    moveEntry: ({ event }, seconds) => event !== undefined && void moveEvent(event, moveDates(event, seconds)),
    resizeEntry: ({ event }, seconds) => event !== undefined && void moveEvent(event, resizeDates(event, seconds)),
  };
  useShortcuts({
    n: () => openNewEventOn(cursorDay),
    q: () => focusElement(QUICK_LINE_INPUT_ID),
    '/': () => focusElement(SEARCH_INPUT_ID),
    '?': () => setOpenDialog('help'),
    t: () => showDate(today()),
    j: () => stepView(1),
    k: () => stepView(-1),
    m: () => showDate(cursorDay, 'month'),
    w: () => showDate(cursorDay, 'week'),
    d: () => showDate(cursorDay, 'day'),
    l: () => showDate(cursorDay, 'list'),
  });

  const showIfHidden = (date: Day) => {
    if (date < days.from || date > days.to) showDate(date);
  };
  const exampleEventId = entries.find(({ event }) => event !== undefined)?.event?.event_id ?? '1';
  return (
    <Page
      title={formatViewTitle(view, day, days)}
      isWide
      calls={apiCallsFor(days, { cursor: cursorDay, eventId: exampleEventId, hasTasks })}
      actions={
        <>
          <span class="row steps">
            <Button
              icon="chevron"
              label={`Previous ${view === 'list' ? 'month' : view}`}
              onClick={() => stepView(-1)}
            />
            <Button onClick={() => showDate(today())}>Today</Button>
            <Button icon="chevron" label={`Next ${view === 'list' ? 'month' : view}`} onClick={() => stepView(1)} />
          </span>
          <RadioGroup
            label="View"
            value={view}
            options={VIEW_OPTIONS}
            onChange={(newView) => showDate(cursorDay, newView)}
          />
          <Button icon="calendar" label="Subscribe or import" onClick={() => setOpenDialog('exchange')} />
          <Button variant="primary" icon="plus" onClick={() => openNewEventOn(cursorDay)}>
            New event
          </Button>
        </>
      }
    >
      <div class="calendar" data-shown={held?.isComplete === true ? `${view} ${days.from}` : ''}>
        <div class="above">
          <QuickLine projects={projects} defaultDay={cursorDay} onCreated={showIfHidden} />
          <CalendarFilterControls
            data={held}
            projects={projects}
            chosenProjectIds={chosen}
            searchText={text}
            hasTasks={hasTasks}
          />
        </div>
        <StatusLine rangeData={held} isFiltered={text !== '' || chosen.length > 0} count={entries.length} />
        {view === 'list' ? (
          <Agenda days={days} entries={entries} onOpen={openEntry} onKey={onKey} />
        ) : (
          <CalendarBoard
            {...{ view, day, days, entries, cursor: cursorDay, callbacks, onEntryKey: onKey }}
            onCursorMove={moveCursor}
            isDialogOpen={openDialog !== undefined}
          />
        )}
      </div>
      {openDialog === 'help' && <ShortcutsDialog onClose={() => setOpenDialog(undefined)} />}
      {openDialog === 'exchange' && (
        <LazyExchangeDialog projects={[...projects.values()]} onClose={() => setOpenDialog(undefined)} />
      )}
      {typeof openDialog === 'object' && 'draft' in openDialog && (
        <EventDialog
          draft={openDialog.draft}
          projects={[...projects.values()]}
          onClose={() => setOpenDialog(undefined)}
          onDone={showIfHidden}
        />
      )}
      {typeof openDialog === 'object' && 'day' in openDialog && (
        <DayDialog
          day={openDialog.day}
          entries={entries}
          onOpen={openEntry}
          onKey={onKey}
          onNew={() => openNewEventOn(openDialog.day)}
          onClose={() => setOpenDialog(undefined)}
        />
      )}
    </Page>
  );
}

/** Loads the code of the dialog for import and subscription on demand. */
function LazyExchangeDialog(props: ComponentProps<typeof import('./import-export.tsx').default>) {
  const { data } = useQuery(() => import('./import-export.tsx'), []);
  return data === undefined ? null : <data.default {...props} />;
}

/** Loads the visible events and the projects, and keeps both current by live updates. */
function useCalendarData(view: CalendarView, day: Day, hasTasks: boolean) {
  const projectsQuery = useQuery((signal) => listFullPage(client.projects, { order: 'projectname' }, signal), []);
  const projects = useMemo(
    () => new Map((projectsQuery.data?.data ?? []).map((project) => [project.project_id, project])),
    [projectsQuery.data],
  );
  useEffect(() => {
    const abortController = new AbortController();
    const scope = isAdmin() ? 'account' : 'own';
    // The feed of a member contains only the member's own changes, so cached days may be stale. They are loaded
    // again when they are shown.
    eventCache.isKeptFresh = scope === 'account';
    void followChanges(
      scope,
      { reloadEvents: () => eventCache.reload(), reloadProjects: async () => projectsQuery.reload() },
      abortController.signal,
    );
    const reloadIfVisible = () => !document.hidden && void eventCache.reload();
    document.addEventListener('visibilitychange', reloadIfVisible);
    return () => {
      abortController.abort();
      document.removeEventListener('visibilitychange', reloadIfVisible);
      eventCache.close();
    };
  }, []);
  const days = visibleDays(view, day, firstWeekday);
  useEffect(() => {
    const adjacentRanges = [1, -1].map((count) => visibleDays(view, stepDate(view, day, count), firstWeekday));
    eventCache.showRange({ days, hasTasks }, adjacentRanges);
  }, [view, days.from, hasTasks]);
  const visibleData = eventCache.visibleData.value;
  return {
    projects,
    held: visibleData?.days.from === days.from && visibleData.days.to === days.to ? visibleData : undefined,
  };
}

function emptyDraft(timeSpan: TimeSpan, chosenProjectIds: readonly string[]): EventDraft {
  const [projectId = '0', ...otherProjectIds] = chosenProjectIds;
  return {
    ...toFormDates(toEventDates(timeSpan)),
    name: '',
    projectId: otherProjectIds.length === 0 ? projectId : '0',
  };
}

/** Handles the keyboard shortcuts of a focused entry. */
function handleEntryKey(
  keyEvent: KeyboardEvent,
  entry: CalendarEntry,
  openEntry: (entry: CalendarEntry) => void,
): void {
  const { event } = entry;
  const action = ((): (() => void) | undefined => {
    if (keyEvent.key === 'e') return () => openEntry(entry);
    if (event === undefined) return undefined;
    if (keyEvent.key === 'Delete' || keyEvent.key === 'Backspace') return () => void deleteEvent(event);
    if (keyEvent.key === 'c') return () => void duplicateEvent(event);
    const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[keyEvent.key];
    if (days === undefined || !keyEvent.shiftKey) return undefined;
    const seconds = days * DAY_S;
    if (!keyEvent.altKey) return () => void moveEvent(event, moveDates(event, seconds));
    const newDates = resizeDates(event, { start: 0, end: seconds });
    return newDates.due_date < newDates.start_date ? undefined : () => void moveEvent(event, newDates);
  })();
  if (action === undefined) return;
  keyEvent.preventDefault();
  keyEvent.stopPropagation();
  action();
}

/** Status line of the calendar: error, loading, too many events, or no events. */
function StatusLine({
  rangeData,
  isFiltered,
  count,
}: {
  rangeData: RangeData | undefined;
  isFiltered: boolean;
  count: number;
}) {
  const errorText = eventCache.errorText.value;
  if (errorText !== undefined) {
    return (
      <Note tone="bad">
        {errorText} <Button onClick={() => void eventCache.reload()}>Try again</Button>
      </Note>
    );
  }
  if (rangeData === undefined) return <ProgressBar label="Loading events" />;
  if (rangeData.totalEvents > MAX_EVENTS_PER_RANGE && rangeData.isComplete) {
    return (
      <Note tone="warn">
        {`These are ${rangeData.events.length.toLocaleString('en')} of ${rangeData.totalEvents.toLocaleString('en')} events. Choose a week or a day to see all of it.`}
      </Note>
    );
  }
  if (!rangeData.isComplete && rangeData.totalEvents > rangeData.events.length) {
    return (
      <p class="small soft state" role="status">
        {`${rangeData.events.length.toLocaleString('en')} of ${rangeData.totalEvents.toLocaleString('en')} events so far…`}
      </p>
    );
  }
  if (count > 0 || !rangeData.isComplete) return null;
  if (isFiltered) {
    return (
      <p class="hint" role="status">
        Nothing on these days is called so, or is of these projects.{' '}
        <Button variant="quiet" onClick={() => updateQueryParams({ q: undefined, projects: undefined })}>
          Show everything
        </Button>
      </p>
    );
  }
  return (
    <p class="hint" role="status">
      Nothing on these days yet. Drag over some, click one, or write a line above.
    </p>
  );
}

type DayDialogProps = {
  readonly day: Day;
  readonly entries: readonly CalendarEntry[];
  readonly onOpen: (entry: CalendarEntry) => void;
  readonly onKey: (event: KeyboardEvent, entry: CalendarEntry) => void;
  readonly onNew: () => void;
  readonly onClose: () => void;
};

/** Dialog with all entries of a day. */
function DayDialog({ day, entries, onOpen, onKey, onNew, onClose }: DayDialogProps) {
  const entriesOnDay = entries.filter((entry) => isEntryOnDay(entry, day));
  return (
    <Dialog title={formatLongDay(day)} onClose={onClose}>
      <div class="agenda in-dialog">
        {entriesOnDay.map((entry) => (
          <AgendaRow key={entry.id} entry={entry} onOpen={onOpen} onKey={onKey} />
        ))}
      </div>
      <div class="ends">
        <Button icon="plus" onClick={onNew}>
          New event
        </Button>
      </div>
    </Dialog>
  );
}
