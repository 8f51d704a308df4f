import type { ComponentProps } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { today } from '../../app/calendar-dates.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { currentRoute, hrefTo, setQuery } from '../../app/router.ts';
import { isAdmin } from '../../app/session.ts';
import { useQuery } from '../../app/use-query.ts';
import { Note, Progress } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { Agenda, AgendaRow } from './agenda.tsx';
import { apiCallsFor } from './api-examples.ts';
import { deleteEvent, duplicateEvent, eventCache, moveEvent } from './calendar-actions.ts';
import { CalendarBoard } from './calendar-grid.tsx';
import { buildEntries, type CalendarEntry, isEntryOnDay } from './entries.ts';
import type { GridCallbacks } from './event-calendar-adapter.ts';
import { EventDialog, type EventDraft, toEventDraft } from './event-dialog.tsx';
import { FilterControls, SEARCH_INPUT_ID, ShortcutsDialog } from './filters.tsx';
import { useShortcuts } from './keys.ts';
import { firstDay, formatLongDay, viewTitle } from './locale.ts';
import { QUICK_LINE_INPUT_ID, QuickLine } from './quick-line.tsx';
import { followChanges, MAX_EVENTS, type RangeData } from './range-cache.ts';
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

export default function Calendar() {
  const { view, day, chosen, text, hasTasks } = readQuery();
  const days = visibleDays(view, day, firstDay);
  const [open, setOpen] = useState<OpenDialog>();
  const [cursor, setCursor] = useState(day);
  useEffect(() => setCursor(day), [day]);
  const { projects, held } = useCalendarData(view, day, hasTasks);
  const entries = useMemo(
    () => (held === undefined ? [] : buildEntries(held, projects, { projectIds: chosen, text })),
    [held, projects, chosen.join(), text],
  );

  const showDate = (date: Day, other: CalendarView = view) =>
    setQuery({ date: date === today() ? undefined : date, view: other === 'month' ? undefined : other });
  const moveCursor = (next: Day, isPage = false) => {
    setCursor(next);
    if (isPage || next < days.from || next > days.to) showDate(next);
  };
  const step = (count: number) => showDate(stepDate(view, day, count));
  const openNewEvent = (drawn: TimeSpan) => setOpen({ draft: emptyDraft(drawn, chosen) });
  const openNewEventOn = (date: Day) =>
    openNewEvent({ start: `${date} 00:00:00`, end: plusSeconds(`${date} 00:00:00`, DAY_S), isAllDay: true });
  const openEntry = ({ event, task }: CalendarEntry) => {
    if (event !== undefined) setOpen({ draft: toEventDraft(event) });
    else if (task !== undefined) location.hash = hrefTo('tasks', task.task_id);
  };
  const onKey = (pressed: KeyboardEvent, entry: CalendarEntry) => handleEntryKey(pressed, entry, openEntry);
  const callbacks: GridCallbacks = {
    open: openEntry,
    openDay: (date) => setOpen({ day: date }),
    onRangeSelected: openNewEvent,
    onSlotClicked(drawn) {
      // On a narrow screen a tap on a day opens the day view instead of the form.
      if (view === 'month' && matchMedia(NARROW_SCREEN_QUERY).matches) showDate(dayOf(drawn.start), 'day');
      else openNewEvent(drawn);
    },
    move: ({ event }, seconds) => event !== undefined && void moveEvent(event, moveDates(event, seconds)),
    resize: ({ event }, seconds) => event !== undefined && void moveEvent(event, resizeDates(event, seconds)),
  };
  useShortcuts({
    n: () => openNewEventOn(cursor),
    q: () => focusElement(QUICK_LINE_INPUT_ID),
    '/': () => focusElement(SEARCH_INPUT_ID),
    '?': () => setOpen('help'),
    t: () => showDate(today()),
    j: () => step(1),
    k: () => step(-1),
    m: () => showDate(cursor, 'month'),
    w: () => showDate(cursor, 'week'),
    d: () => showDate(cursor, 'day'),
    l: () => showDate(cursor, 'list'),
  });

  const showIfHidden = (date: Day) => {
    if (date < days.from || date > days.to) showDate(date);
  };
  const eventId = entries.find(({ event }) => event !== undefined)?.event?.event_id ?? '1';
  return (
    <Page
      title={viewTitle(view, day, days)}
      isWide
      calls={apiCallsFor(days, { cursor, eventId, hasTasks })}
      actions={
        <>
          <span class="row steps">
            <Button icon="chevron" label={`Previous ${view === 'list' ? 'month' : view}`} onClick={() => step(-1)} />
            <Button onClick={() => showDate(today())}>Today</Button>
            <Button icon="chevron" label={`Next ${view === 'list' ? 'month' : view}`} onClick={() => step(1)} />
          </span>
          <RadioGroup label="View" value={view} options={VIEW_OPTIONS} onChange={(other) => showDate(cursor, other)} />
          <Button icon="calendar" label="Subscribe or import" onClick={() => setOpen('exchange')} />
          <Button variant="primary" icon="plus" onClick={() => openNewEventOn(cursor)}>
            New event
          </Button>
        </>
      }
    >
      <div class="calendar" data-shown={held?.isWhole === true ? `${view} ${days.from}` : ''}>
        <div class="above">
          <QuickLine projects={projects} cursor={cursor} onDone={showIfHidden} />
          <FilterControls data={held} projects={projects} chosen={chosen} text={text} hasTasks={hasTasks} />
        </div>
        <StatusLine held={held} isFiltered={text !== '' || chosen.length > 0} count={entries.length} />
        {view === 'list' ? (
          <Agenda days={days} entries={entries} onOpen={openEntry} onKey={onKey} />
        ) : (
          <CalendarBoard
            {...{ view, day, days, entries, cursor, callbacks, onKey }}
            onCursor={moveCursor}
            isChoosing={open !== undefined}
          />
        )}
      </div>
      {open === 'help' && <ShortcutsDialog onClose={() => setOpen(undefined)} />}
      {open === 'exchange' && (
        <LazyExchangeDialog projects={[...projects.values()]} onClose={() => setOpen(undefined)} />
      )}
      {typeof open === 'object' && 'draft' in open && (
        <EventDialog
          draft={open.draft}
          projects={[...projects.values()]}
          onClose={() => setOpen(undefined)}
          onDone={showIfHidden}
        />
      )}
      {typeof open === 'object' && 'day' in open && (
        <DayDialog
          day={open.day}
          entries={entries}
          onOpen={openEntry}
          onKey={onKey}
          onNew={() => openNewEventOn(open.day)}
          onClose={() => setOpen(undefined)}
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
  const loaded = useQuery((signal) => listFullPage(client.projects, { order: 'projectname' }, signal), []);
  const projects = useMemo(() => new Map((loaded.data?.data ?? []).map((one) => [one.project_id, one])), [loaded.data]);
  useEffect(() => {
    const controller = new AbortController();
    const scope = isAdmin() ? 'account' : 'own';
    // The feed of a member contains only the member's own changes, so cached days may be stale. They are loaded
    // again when they are shown.
    eventCache.isKeptFresh = scope === 'account';
    void followChanges(
      scope,
      { events: () => eventCache.reload(), projects: async () => loaded.reload() },
      controller.signal,
    );
    const reloadIfVisible = () => !document.hidden && void eventCache.reload();
    document.addEventListener('visibilitychange', reloadIfVisible);
    return () => {
      controller.abort();
      document.removeEventListener('visibilitychange', reloadIfVisible);
      eventCache.close();
    };
  }, []);
  const days = visibleDays(view, day, firstDay);
  useEffect(() => {
    const around = [1, -1].map((count) => visibleDays(view, stepDate(view, day, count), firstDay));
    eventCache.show({ days, hasTasks }, around);
  }, [view, days.from, hasTasks]);
  const held = eventCache.visibleData.value;
  return { projects, held: held?.days.from === days.from && held.days.to === days.to ? held : undefined };
}

function emptyDraft(drawn: TimeSpan, chosen: readonly string[]): EventDraft {
  const [projectId = '0', ...others] = chosen;
  return { ...toFormDates(toEventDates(drawn)), name: '', projectId: others.length === 0 ? projectId : '0' };
}

/** Handles the keyboard shortcuts of a focused entry. */
function handleEntryKey(pressed: KeyboardEvent, entry: CalendarEntry, openEntry: (entry: CalendarEntry) => void): void {
  const { event } = entry;
  const action = ((): (() => void) | undefined => {
    if (pressed.key === 'e') return () => openEntry(entry);
    if (event === undefined) return undefined;
    if (pressed.key === 'Delete' || pressed.key === 'Backspace') return () => void deleteEvent(event);
    if (pressed.key === 'c') return () => void duplicateEvent(event);
    const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[pressed.key];
    if (days === undefined || !pressed.shiftKey) return undefined;
    const seconds = days * DAY_S;
    if (!pressed.altKey) return () => void moveEvent(event, moveDates(event, seconds));
    const after = resizeDates(event, { start: 0, end: seconds });
    return after.due_date < after.start_date ? undefined : () => void moveEvent(event, after);
  })();
  if (action === undefined) return;
  pressed.preventDefault();
  pressed.stopPropagation();
  action();
}

/** Status line of the calendar: error, loading, too many events, or no events. */
function StatusLine({ held, isFiltered, count }: { held: RangeData | undefined; isFiltered: boolean; count: number }) {
  const fault = eventCache.fault.value;
  if (fault !== undefined) {
    return (
      <Note tone="bad">
        {fault} <Button onClick={() => void eventCache.reload()}>Try again</Button>
      </Note>
    );
  }
  if (held === undefined) return <Progress label="Loading events" />;
  if (held.total > MAX_EVENTS && held.isWhole) {
    return (
      <Note tone="warn">
        {`These are ${held.events.length.toLocaleString('en')} of ${held.total.toLocaleString('en')} events. Choose a week or a day to see all of it.`}
      </Note>
    );
  }
  if (!held.isWhole && held.total > held.events.length) {
    return (
      <p class="small soft state" role="status">
        {`${held.events.length.toLocaleString('en')} of ${held.total.toLocaleString('en')} events so far…`}
      </p>
    );
  }
  if (count > 0 || !held.isWhole) return null;
  if (isFiltered) {
    return (
      <p class="hint" role="status">
        Nothing on these days is called so, or is of these projects.{' '}
        <Button variant="quiet" onClick={() => setQuery({ q: undefined, projects: undefined })}>
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
  const on = entries.filter((entry) => isEntryOnDay(entry, day));
  return (
    <Dialog title={formatLongDay(day)} onClose={onClose}>
      <div class="agenda in-dialog">
        {on.map((entry) => (
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
