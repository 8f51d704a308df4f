import {
  type Content,
  create,
  type Delta,
  destroy,
  type Grid,
  type Seen,
} from '@event-calendar/build/dist/event-calendar.min.js';
import '@event-calendar/build/dist/event-calendar.min.css';
import './calendar-grid.css';
import { type Entry, isOn } from './entries.ts';
import { fit } from './layout.ts';
import { firstDay, language, longDay, periodName, spanName, startName } from './locale.ts';
import { at, type Day, type Days, type Drawn, dayOf, daysFrom, everyDay, plusSeconds } from './time-math.ts';

/** The views that have a grid. */
export type GridView = 'month' | 'week' | 'day';

/** What somebody wants, by whatever means they said it. */
export type Wishes = {
  open(entry: Entry): void;
  /** Everything that is on a day. */
  openDay(day: Day): void;
  createOn(drawn: Drawn): void;
  /** A click or a tap on a day, or on a time of it. */
  pickOn(drawn: Drawn): void;
  move(entry: Entry, seconds: number): void;
  resize(entry: Entry, seconds: { readonly start: number; readonly end: number }): void;
};

/** What is to be seen. */
export type Scene = {
  readonly view: GridView;
  readonly days: Days;
  /** The day that is shown, or one of those. */
  readonly day: Day;
  readonly entries: readonly Entry[];
  /** The day that the keys are on. */
  readonly cursor: Day;
};

const VIEWS = { month: 'dayGridMonth', week: 'timeGridWeek', day: 'timeGridDay' } as const;

const GAP_PX = 2;
/** How many rows of whole days a week or a day has above its hours. */
const ALL_DAY_ROWS = 5;

/** What is this short has its name and its time in one line. */
const SHORT_S = 30 * 60;

/** The library counts the end of a whole day from its last step. */
const wholeDays = (seconds: number) => Math.ceil(seconds / 86_400) * 86_400;

const secondsOf = ({ days, seconds }: Delta) => days * 86_400 + seconds;

/** A text as the calendar takes it, and back. */
const toGrid = (text: string) => text.replace(' ', 'T');
const fromGrid = (text: string) => text.slice(0, 19).replace('T', ' ');

function element(tag: string, className: string, text = ''): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

/** The sign of a task: a box, ticked when it is done. */
function taskSign(isDone: boolean): Element {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'icon');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', isDone ? 'M2.5 2.5h11v11h-11zM5 8.2l2.2 2.2L11 6' : 'M2.5 2.5h11v11h-11z');
  svg.append(path);
  return svg;
}

/** What those hear of an entry who do not see where it stands: when it is, and of which project. */
export function entryWords({ task, event, start, projectName }: Entry): string {
  const when = event === undefined ? `due ${longDay(dayOf(start))}` : spanName(event);
  const kind = task === undefined ? '' : task.completed === '1' ? ', completed task' : ', task';
  return `${kind}, ${when}${projectName === '' ? '' : `, ${projectName}`}`;
}

/**
 * The calendar of months, weeks and days. It is drawn by a library, which is given what fits and is told nothing in Date:
 * how far something was dragged is all that is taken from it. Days and entries get names, and one of them the focus.
 */
export class CalendarGrid {
  readonly #target: HTMLElement;
  readonly #wishes: () => Wishes;
  readonly #grid: Grid;
  readonly #entries = new Map<string, Entry>();
  #scene: Scene;
  #drawnWith = '';
  #drawnEntries: readonly Entry[] | undefined;
  #wantsFocus = false;

  constructor(target: HTMLElement, scene: Scene, wishes: () => Wishes) {
    this.#target = target;
    this.#wishes = wishes;
    this.#scene = scene;
    this.#grid = create(target, {
      view: VIEWS[scene.view],
      date: scene.day,
      firstDay,
      locale: language,
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
      eventGap: GAP_PX,
      slotEventOverlap: false,
      longPressDelay: 350,
      // As an element: a text would be written as HTML.
      allDayContent: { domNodes: [element('span', '', 'All day')] },
      dayHeaderFormat: { weekday: 'short', day: 'numeric' },
      views: { dayGridMonth: { dayHeaderFormat: { weekday: 'short' } } },
      eventContent: ({ event, timeText }) => this.#contentOf(event, timeText),
      eventDidMount: ({ event, el }) => this.#nameEntry(event, el),
      eventClick: ({ event }) => this.#open(event),
      eventDrop: ({ event, delta }) => this.#onEntry(event, (entry) => this.#wishes().move(entry, secondsOf(delta))),
      eventResize: ({ event, startDelta, endDelta }) => {
        this.#onEntry(event, (entry) => {
          const [start, end] = [secondsOf(startDelta), secondsOf(endDelta)];
          this.#wishes().resize(
            entry,
            entry.isAllDay ? { start: wholeDays(start), end: wholeDays(end) } : { start, end },
          );
        });
      },
      dateClick: ({ dateStr, allDay }) => this.#wishes().pickOn(picked(fromGrid(dateStr), allDay)),
      select: ({ startStr, endStr, allDay }) => {
        this.#wishes().createOn({ start: fromGrid(startStr), end: fromGrid(endStr), isAllDay: allDay });
      },
    });
  }

  /** Draws what has changed, and nothing else. */
  show(scene: Scene): void {
    const before = this.#scene;
    this.#scene = scene;
    const { view, day, days, entries } = scene;
    const period = `${view} ${days.from}`;
    if (!this.#drawnWith.startsWith(`${period} `)) {
      if (before.view !== view) this.#grid.setOption('view', VIEWS[view]);
      this.#grid.setOption('date', day);
    }
    const rows = this.#rows();
    const drawnWith = `${period} ${rows}`;
    if (drawnWith !== this.#drawnWith || entries !== this.#drawnEntries) {
      this.#drawnWith = drawnWith;
      this.#drawnEntries = entries;
      this.#draw(rows);
    }
    this.#nameDays();
  }

  /** There may be more room now, or less. */
  resize(): void {
    this.show(this.#scene);
  }

  /** Takes back the days that were chosen. */
  unselect(): void {
    this.#grid.unselect();
  }

  /** The focus on a day: at once where it is in view; and when it has been drawn, wherever it is then. */
  focusDay(day = this.#scene.cursor): void {
    this.#target.querySelector<HTMLElement>(`[data-day="${day}"]`)?.focus();
    this.#wantsFocus = true;
    this.#nameDays();
  }

  /** The focus on an entry, or on the first of a day. */
  focusEntry(id: string): boolean {
    const found = this.#target.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`);
    found?.focus();
    return found !== null;
  }

  entriesOn(day: Day): readonly Entry[] {
    return this.#scene.entries.filter((entry) => isOn(entry, day));
  }

  entryOf(target: EventTarget | null): Entry | undefined {
    const article = target instanceof Element ? target.closest<HTMLElement>('.ec-event') : null;
    return this.#entries.get(article?.dataset.id ?? '');
  }

  close(): void {
    void destroy(this.#grid);
  }

  #rows(): number {
    const { view, days } = this.#scene;
    if (view !== 'month') return ALL_DAY_ROWS;
    const weeks = (daysFrom(days.from, days.to) + 1) / 7;
    // The sizes stand in board.css.
    const style = getComputedStyle(this.#target);
    const px = (name: string) => Number.parseFloat(style.getPropertyValue(name));
    const dayPx = (this.#target.clientHeight - px('--header')) / weeks;
    return Math.max(1, Math.floor((dayPx - px('--day-head')) / (px('--row') + GAP_PX)));
  }

  #draw(rows: number): void {
    const { view, days, entries } = this.#scene;
    const focused = this.entryOf(document.activeElement)?.id;
    // The hours of a week have room for all.
    const above = view === 'month' ? entries : entries.filter(({ isAllDay }) => isAllDay);
    const beside = view === 'month' ? [] : entries.filter(({ isAllDay }) => !isAllDay);
    const { shown, more } = fit(above, days, rows);
    this.#entries.clear();
    for (const entry of entries) this.#entries.set(entry.id, entry);
    const events = [...shown, ...beside].map((entry) => this.#eventOf(entry));
    this.#grid.setOption('events', [...events, ...[...more].map(([day, count]) => this.#moreOn(day, count))]);
    if (focused === undefined) return;
    // When the library has drawn, and before the next key is heard.
    queueMicrotask(() => {
      if (document.activeElement === document.body && !this.focusEntry(focused)) this.focusDay();
    });
  }

  #eventOf({ id, title, start, end, isAllDay, days, colour, task }: Entry) {
    const lasts = isAllDay || days.from !== days.to;
    const isShort = plusSeconds(start, SHORT_S) >= end;
    const classNames = [
      lasts ? 'lasting' : 'brief',
      ...(isShort ? ['short'] : []),
      ...(task === undefined ? [] : ['task', ...(task.completed === '1' ? ['done'] : [])]),
    ];
    // In a month there are no hours by which an end could be dragged.
    const hasEnds = task === undefined && (isAllDay || this.#scene.view !== 'month');
    const fixed = { durationEditable: hasEnds, ...(task !== undefined && { startEditable: false }) };
    const styles = colour === undefined ? [] : [`--colour: ${colour}`];
    return { id, title, start: toGrid(start), end: toGrid(end), allDay: isAllDay, classNames, styles, ...fixed };
  }

  /** How many do not fit, in the last row of their day: in a month behind its times, else among the whole days. */
  #moreOn(day: Day, count: number) {
    const isMonth = this.#scene.view === 'month';
    const moment = isMonth ? { start: `${day}T23:59:58`, end: `${day}T23:59:59` } : { start: day, end: day };
    const fixed = { allDay: !isMonth, startEditable: false, durationEditable: false };
    return { id: `m${day}`, title: `${count} more`, classNames: ['more'], ...moment, ...fixed };
  }

  #onEntry({ id }: Seen, work: (entry: Entry) => void): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) work(entry);
  }

  #open(seen: Seen): void {
    if (seen.id.startsWith('m')) this.#wishes().openDay(seen.id.slice(1));
    else this.#onEntry(seen, (entry) => this.#wishes().open(entry));
  }

  #contentOf({ id, title: text }: Seen, timeText: string): Content | undefined {
    if (id.startsWith('m'))
      return {
        domNodes: [element('span', 'title', text), element('span', 'hidden-text', ` on ${longDay(id.slice(1))}`)],
      };
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    const parts = [element('span', 'title', entry.title), element('span', 'hidden-text', entryWords(entry))];
    if (entry.task !== undefined) return { domNodes: [taskSign(entry.task.completed === '1'), ...parts] };
    if (entry.isAllDay) return { domNodes: parts };
    const isMonth = this.#scene.view === 'month';
    const time = element('time', 'time', isMonth ? startName(entry.start) : timeText);
    return { domNodes: isMonth ? [time, ...parts] : [...parts, time] };
  }

  #nameEntry({ id }: Seen, element: HTMLElement): void {
    if (id.startsWith('{')) return;
    element.dataset.id = id;
    // The keys lead here from the day.
    element.tabIndex = -1;
  }

  /** Before the next frame, when the library has drawn: what each day is called, and where the focus goes. */
  #nameDays(): void {
    requestAnimationFrame(() => {
      const { view, day, days, cursor } = this.#scene;
      const root = this.#target.firstElementChild;
      root?.setAttribute('role', 'group');
      root?.setAttribute('aria-label', periodName(view, day, days));
      // Rows and cells without a table would only be noise: each day says its own name.
      for (const one of this.#target.querySelectorAll(
        '[role=row], [role=columnheader], [role=rowgroup], [role=cell]',
      )) {
        one.setAttribute('role', 'presentation');
      }
      const heads = view === 'month' ? '.ec-header' : '.ec-col-head';
      for (const one of this.#target.querySelectorAll(heads)) one.setAttribute('aria-hidden', 'true');
      // Whoever has gone on meanwhile is not fetched back.
      const isFree = document.activeElement === document.body || document.activeElement?.matches('.ec-day') === true;
      const named = everyDay(days);
      this.#target.querySelectorAll<HTMLElement>('.ec-body .ec-day').forEach((cell, index) => {
        const own = named[index];
        if (own === undefined) return;
        cell.dataset.day = own;
        cell.setAttribute('role', 'button');
        cell.tabIndex = own === cursor ? 0 : -1;
        cell.setAttribute('aria-label', this.#dayName(own));
        if (own === cursor && this.#wantsFocus && isFree) cell.focus();
      });
      this.#wantsFocus = false;
    });
  }

  #dayName(day: Day): string {
    const count = this.entriesOn(day).length;
    if (count === 0) return `${longDay(day)}, nothing`;
    return `${longDay(day)}, ${count} ${count === 1 ? 'entry' : 'entries'}`;
  }
}

/** An hour at a time that was clicked, or the whole day. */
function picked(start: string, isAllDay: boolean): Drawn {
  const end = isAllDay ? at(dayOf(plusSeconds(at(dayOf(start)), 86_400))) : plusSeconds(start, 3_600);
  return { start, end, isAllDay };
}
