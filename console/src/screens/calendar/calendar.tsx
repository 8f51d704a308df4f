import type { ComponentProps } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { today } from '../../app/calendar-dates.ts';
import { client } from '../../app/client.ts';
import { wholePage } from '../../app/full-page-navigation.ts';
import { currentRoute, hrefTo, setQuery } from '../../app/router.ts';
import { isAdmin } from '../../app/session.ts';
import { useQuery } from '../../app/use-query.ts';
import { Note, Progress } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { Agenda, AgendaRow } from './agenda.tsx';
import { callsFor } from './api-examples.ts';
import { deleteEvent, duplicateEvent, moveEvent, windows } from './calendar-actions.ts';
import { CalendarBoard } from './calendar-grid.tsx';
import { type Entry, entriesOf, isOn } from './entries.ts';
import type { GridCallbacks } from './event-calendar-adapter.ts';
import { type Draft, draftOf, EventDialog } from './event-dialog.tsx';
import { Filters, Help, SEARCH } from './filters.tsx';
import { useKeys } from './keys.ts';
import { firstDay, longDay, periodName } from './locale.ts';
import { QUICK_LINE, QuickLine } from './quick-line.tsx';
import { follow, MAX_EVENTS, type RangeData } from './range-cache.ts';
import {
  type Day,
  dated,
  dayOf,
  daysShown,
  filledFrom,
  isDay,
  moved,
  plusSeconds,
  resized,
  stepDate,
  type TimeSpan,
} from './time-math.ts';
import './calendar.css';

const VIEWS = [
  { value: 'month', text: 'Month' },
  { value: 'week', text: 'Week' },
  { value: 'day', text: 'Day' },
  { value: 'list', text: 'List' },
] as const;

type View = (typeof VIEWS)[number]['value'];

/** The dialog that is open; undefined for none. */
type Open = { readonly draft: Draft } | { readonly day: Day } | 'help' | 'exchange' | undefined;

const DAY_S = 86_400;
const NARROW = '(max-width: 760px)';

/** Reads the view, the day and the filters from the query of the route. */
function readQuery() {
  const { query } = currentRoute.value;
  const view = VIEWS.find(({ value }) => value === query.get('view'))?.value ?? 'month';
  const date = query.get('date') ?? '';
  return {
    view,
    day: isDay(date) ? date : today(),
    chosen: (query.get('projects') ?? '').split(',').filter((id) => /^\d+$/.test(id)),
    text: query.get('q') ?? '',
    hasTasks: query.get('tasks') === '1',
  };
}

const focus = (id: string) => document.getElementById(id)?.focus();

export default function Calendar() {
  const { view, day, chosen, text, hasTasks } = readQuery();
  const days = daysShown(view, day, firstDay);
  const [open, setOpen] = useState<Open>();
  const [cursor, setCursor] = useState(day);
  useEffect(() => setCursor(day), [day]);
  const { projects, held } = useCalendar(view, day, hasTasks);
  const entries = useMemo(
    () => (held === undefined ? [] : entriesOf(held, projects, { projectIds: chosen, text })),
    [held, projects, chosen.join(), text],
  );

  const show = (date: Day, other: View = view) =>
    setQuery({ date: date === today() ? undefined : date, view: other === 'month' ? undefined : other });
  const moveCursor = (next: Day, isPage = false) => {
    setCursor(next);
    if (isPage || next < days.from || next > days.to) show(next);
  };
  const step = (count: number) => show(stepDate(view, day, count));
  const make = (drawn: TimeSpan) => setOpen({ draft: emptyDraft(drawn, chosen) });
  const makeOn = (date: Day) =>
    make({ start: `${date} 00:00:00`, end: plusSeconds(`${date} 00:00:00`, DAY_S), isAllDay: true });
  const openEntry = ({ event, task }: Entry) => {
    if (event !== undefined) setOpen({ draft: draftOf(event) });
    else if (task !== undefined) location.hash = hrefTo('tasks', task.task_id);
  };
  const onKey = (pressed: KeyboardEvent, entry: Entry) => keyOnEntry(pressed, entry, openEntry);
  const callbacks: GridCallbacks = {
    open: openEntry,
    openDay: (date) => setOpen({ day: date }),
    createOn: make,
    pickOn(drawn) {
      // On a narrow screen a tap on a day opens the day view instead of the form.
      if (view === 'month' && matchMedia(NARROW).matches) show(dayOf(drawn.start), 'day');
      else make(drawn);
    },
    move: ({ event }, seconds) => event !== undefined && void moveEvent(event, moved(event, seconds)),
    resize: ({ event }, seconds) => event !== undefined && void moveEvent(event, resized(event, seconds)),
  };
  useKeys({
    n: () => makeOn(cursor),
    q: () => focus(QUICK_LINE),
    '/': () => focus(SEARCH),
    '?': () => setOpen('help'),
    t: () => show(today()),
    j: () => step(1),
    k: () => step(-1),
    m: () => show(cursor, 'month'),
    w: () => show(cursor, 'week'),
    d: () => show(cursor, 'day'),
    l: () => show(cursor, 'list'),
  });

  const done = (date: Day) => {
    if (date < days.from || date > days.to) show(date);
  };
  const eventId = entries.find(({ event }) => event !== undefined)?.event?.event_id ?? '1';
  return (
    <Page
      title={periodName(view, day, days)}
      isWide
      calls={callsFor(days, { cursor, eventId, hasTasks })}
      actions={
        <>
          <span class="row steps">
            <Button icon="chevron" label={`Previous ${view === 'list' ? 'month' : view}`} onClick={() => step(-1)} />
            <Button onClick={() => show(today())}>Today</Button>
            <Button icon="chevron" label={`Next ${view === 'list' ? 'month' : view}`} onClick={() => step(1)} />
          </span>
          <RadioGroup label="View" value={view} options={VIEWS} onChange={(other) => show(cursor, other)} />
          <Button icon="calendar" label="Subscribe or import" onClick={() => setOpen('exchange')} />
          <Button variant="primary" icon="plus" onClick={() => makeOn(cursor)}>
            New event
          </Button>
        </>
      }
    >
      <div class="calendar" data-shown={held?.isWhole === true ? `${view} ${days.from}` : ''}>
        <div class="above">
          <QuickLine projects={projects} cursor={cursor} onDone={done} />
          <Filters data={held} projects={projects} chosen={chosen} text={text} hasTasks={hasTasks} />
        </div>
        <State held={held} isFiltered={text !== '' || chosen.length > 0} count={entries.length} />
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
      {open === 'help' && <Help onClose={() => setOpen(undefined)} />}
      {open === 'exchange' && <Exchange projects={[...projects.values()]} onClose={() => setOpen(undefined)} />}
      {typeof open === 'object' && 'draft' in open && (
        <EventDialog
          draft={open.draft}
          projects={[...projects.values()]}
          onClose={() => setOpen(undefined)}
          onDone={done}
        />
      )}
      {typeof open === 'object' && 'day' in open && (
        <DayDialog
          day={open.day}
          entries={entries}
          onOpen={openEntry}
          onKey={onKey}
          onNew={() => makeOn(open.day)}
          onClose={() => setOpen(undefined)}
        />
      )}
    </Page>
  );
}

/** Loads the code of the dialog for import and subscription on demand. */
function Exchange(props: ComponentProps<typeof import('./import-export.tsx').default>) {
  const { data } = useQuery(() => import('./import-export.tsx'), []);
  return data === undefined ? null : <data.default {...props} />;
}

/** Loads the visible events and the projects, and keeps both current by live updates. */
function useCalendar(view: View, day: Day, hasTasks: boolean) {
  const loaded = useQuery((signal) => wholePage(client.projects, { order: 'projectname' }, signal), []);
  const projects = useMemo(() => new Map((loaded.data?.data ?? []).map((one) => [one.project_id, one])), [loaded.data]);
  useEffect(() => {
    const controller = new AbortController();
    const scope = isAdmin() ? 'account' : 'own';
    // The feed of a member contains only the member's own changes, so cached days may be stale. They are loaded
    // again when they are shown.
    windows.isFollowed = scope === 'account';
    void follow(scope, { windows: () => windows.reload(), projects: async () => loaded.reload() }, controller.signal);
    const reloadIfVisible = () => !document.hidden && void windows.reload();
    document.addEventListener('visibilitychange', reloadIfVisible);
    return () => {
      controller.abort();
      document.removeEventListener('visibilitychange', reloadIfVisible);
      windows.close();
    };
  }, []);
  const days = daysShown(view, day, firstDay);
  useEffect(() => {
    const around = [1, -1].map((count) => daysShown(view, stepDate(view, day, count), firstDay));
    windows.show({ days, hasTasks }, around);
  }, [view, days.from, hasTasks]);
  const held = windows.held.value;
  return { projects, held: held?.days.from === days.from && held.days.to === days.to ? held : undefined };
}

function emptyDraft(drawn: TimeSpan, chosen: readonly string[]): Draft {
  const [projectId = '0', ...others] = chosen;
  return { ...filledFrom(dated(drawn)), name: '', projectId: others.length === 0 ? projectId : '0' };
}

/** Handles the keyboard shortcuts of a focused entry. */
function keyOnEntry(pressed: KeyboardEvent, entry: Entry, openEntry: (entry: Entry) => void): void {
  const { event } = entry;
  const action = ((): (() => void) | undefined => {
    if (pressed.key === 'e') return () => openEntry(entry);
    if (event === undefined) return undefined;
    if (pressed.key === 'Delete' || pressed.key === 'Backspace') return () => void deleteEvent(event);
    if (pressed.key === 'c') return () => void duplicateEvent(event);
    const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[pressed.key];
    if (days === undefined || !pressed.shiftKey) return undefined;
    const seconds = days * DAY_S;
    if (!pressed.altKey) return () => void moveEvent(event, moved(event, seconds));
    const after = resized(event, { start: 0, end: seconds });
    return after.due_date < after.start_date ? undefined : () => void moveEvent(event, after);
  })();
  if (action === undefined) return;
  pressed.preventDefault();
  pressed.stopPropagation();
  action();
}

/** Status line of the calendar: error, loading, too many events, or no events. */
function State({ held, isFiltered, count }: { held: RangeData | undefined; isFiltered: boolean; count: number }) {
  const fault = windows.fault.value;
  if (fault !== undefined) {
    return (
      <Note tone="bad">
        {fault} <Button onClick={() => void windows.reload()}>Try again</Button>
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

type DayProps = {
  readonly day: Day;
  readonly entries: readonly Entry[];
  readonly onOpen: (entry: Entry) => void;
  readonly onKey: (event: KeyboardEvent, entry: Entry) => void;
  readonly onNew: () => void;
  readonly onClose: () => void;
};

/** Dialog with all entries of a day. */
function DayDialog({ day, entries, onOpen, onKey, onNew, onClose }: DayProps) {
  const on = entries.filter((entry) => isOn(entry, day));
  return (
    <Dialog title={longDay(day)} onClose={onClose}>
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
