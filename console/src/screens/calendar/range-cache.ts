import { signal } from '@preact/signals';
import type { CalendarEvent } from '../../../../packages/sdk/src/events.ts';
import type { Task } from '../../../../packages/sdk/src/tasks.ts';
import { client } from '../../app/client.ts';
import { wholePage } from '../../app/full-page-navigation.ts';
import { explain } from '../../app/use-query.ts';
import { type Days, dayOf, filterDay, lastDay, plusDays } from './time-math.ts';

/** What lies on some days, so far as it has come. */
export type Held = {
  readonly days: Days;
  readonly events: readonly CalendarEvent[];
  readonly tasks: readonly Task[];
  /** How many events there are, as far as is known. */
  readonly total: number;
  readonly isWhole: boolean;
};

const PAGE = 1_000;
/** More than this many in one window are not drawn; who needs them narrows the window. */
export const MAX_EVENTS = 10_000;
const KEPT_WINDOWS = 8;
/** The first answer is drawn at once; further ones as they come, but not one after the other in no time. */
const RETRY_DELAY_MS = 250;

type Ask = { readonly days: Days; readonly hasTasks: boolean };

const nameOf = ({ days, hasTasks }: Ask) => `${days.from} ${days.to} ${hasTasks}`;

const isIn = (event: CalendarEvent, { from, to }: Days) => dayOf(event.start_date) <= to && lastDay(event) >= from;

/** Those that begin on the days, and those that began earlier and are not over. */
function questions({ from, to }: Days) {
  return [
    { start_to: filterDay(plusDays(from, -1)), due_from: filterDay(from) },
    { start_from: filterDay(from), start_to: filterDay(to) },
  ] as const;
}

/** The events of the days in view, and of those around them; changed here before the service has confirmed it. */
export class Windows {
  readonly held = signal<Held | undefined>(undefined);
  readonly fault = signal<string | undefined>(undefined);
  readonly #kept = new Map<string, Held>();
  /** What was changed here and is on its way; undefined for what is deleted. */
  readonly #underWay = new Map<string, CalendarEvent | undefined>();
  /** The last change of each event that is being made. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #shown: Ask | undefined;
  #turn = new AbortController();
  /** Whether changes by others are heard of, so that what is kept is as it is now. */
  isFollowed = false;
  /** How full the last window was, so that its neighbour's pages are asked for at once. */
  #usualTotal = 0;

  /** Shows other days: at once what is kept of them, and then what the service says. */
  show(ask: Ask, around: readonly Days[]): void {
    this.#shown = ask;
    this.#turn.abort();
    this.#turn = new AbortController();
    const kept = this.#kept.get(nameOf(ask));
    if (kept !== undefined) this.#paint(kept);
    const { signal: stop } = this.#turn;
    const isFresh = kept !== undefined && this.isFollowed;
    const filled = isFresh ? Promise.resolve() : this.#fill(ask, stop, kept === undefined);
    void filled.then(() => this.#fetchAhead(ask, around, stop));
  }

  /** Asks again for what is in view; what is kept of other days is forgotten. */
  async reload(): Promise<void> {
    this.#kept.clear();
    if (this.#shown !== undefined) await this.#fill(this.#shown, this.#turn.signal, false);
  }

  /** Nobody looks any more; when somebody does again, all of it is asked for anew. */
  close(): void {
    this.#turn.abort();
    this.#kept.clear();
    this.isFollowed = false;
  }

  /** Shows a record as it is now, wherever it belongs. */
  put(event: CalendarEvent): void {
    this.#change(event.event_id, event);
  }

  remove(eventId: string): void {
    this.#change(eventId, undefined);
  }

  /**
   * Shows a change while it is made, after those of the same event that are being made; what was there before is shown
   * again if it fails, which the caller hears.
   */
  async during(
    before: CalendarEvent,
    after: CalendarEvent | undefined,
    work: () => Promise<CalendarEvent | undefined>,
  ) {
    const id = before.event_id;
    this.#underWay.set(id, after);
    this.#change(id, after);
    const turn = (this.#turns.get(id) ?? Promise.resolve()).then(work);
    this.#turns.set(
      id,
      turn.catch(() => undefined),
    );
    // Once something newer is shown of it, that counts.
    const settle = (event: CalendarEvent | undefined) => {
      if (this.#underWay.get(id) !== after) return;
      this.#underWay.delete(id);
      this.#turns.delete(id);
      this.#change(id, event);
    };
    try {
      settle(await turn);
    } catch (error) {
      settle(before);
      // It may be another by now, or gone.
      void this.reload();
      throw error;
    }
  }

  #change(id: string, event: CalendarEvent | undefined): void {
    const changed = (held: Held): Held => {
      const others = held.events.filter((one) => one.event_id !== id);
      const events = event === undefined || !isIn(event, held.days) ? others : [...others, event];
      return { ...held, events, total: held.total + events.length - held.events.length };
    };
    for (const [name, held] of this.#kept) this.#kept.set(name, changed(held));
    if (this.held.value !== undefined) this.held.value = changed(this.held.value);
  }

  #paint(held: Held): void {
    const next = this.#withChanges(held);
    this.fault.value = undefined;
    // The same once more is not drawn again.
    const before = this.held.value;
    const isSame = before?.days.from === next.days.from && JSON.stringify(next) === JSON.stringify(before);
    if (!isSame) this.held.value = next;
  }

  #withChanges(held: Held): Held {
    if (this.#underWay.size === 0) return held;
    const others = held.events.filter((one) => !this.#underWay.has(one.event_id));
    const changed = [...this.#underWay.values()].filter((one) => one !== undefined && isIn(one, held.days));
    return { ...held, events: [...others, ...changed.filter((one) => one !== undefined)] };
  }

  async #fill(ask: Ask, stop: AbortSignal, showsParts: boolean): Promise<void> {
    const paint = (held: Held) => {
      if (!stop.aborted) this.#paint(held);
    };
    let paintedAt = Number.NEGATIVE_INFINITY;
    const paintPart = (held: Held) => {
      const now = performance.now();
      if (held.events.length === 0 || now - paintedAt < RETRY_DELAY_MS) return;
      paintedAt = now;
      paint(held);
    };
    try {
      const whole = await this.#load(ask, stop, showsParts ? paintPart : undefined);
      this.#usualTotal = whole.total;
      paint(whole);
    } catch (error) {
      if (!stop.aborted) this.fault.value = explain(error);
    }
  }

  async #load({ days, hasTasks }: Ask, stop: AbortSignal, onPart?: (held: Held) => void): Promise<Held> {
    const options = { signal: stop };
    const found = new Map<string, CalendarEvent>();
    const totals = [0, 0];
    let tasks: readonly Task[] = [];
    const held = (isWhole: boolean): Held => {
      return { days, events: [...found.values()], tasks, total: (totals[0] ?? 0) + (totals[1] ?? 0), isWhole };
    };
    const events = questions(days).map(async (filters, index) => {
      const page = async (offset: number) => {
        const { data, paging } = await client.events.list({ ...filters, limit: PAGE, offset }, options);
        for (const event of data) found.set(event.event_id, event);
        totals[index] = paging.total_records;
        onPart?.(held(false));
        return paging.total_records;
      };
      // The first window of a full account tells that the next ones are full, too.
      const guess = index === 1 ? Math.min(this.#usualTotal, MAX_EVENTS) : 0;
      const ahead = pagesOf(guess);
      const [total = 0] = await Promise.all([page(0), ...ahead.map(page)]);
      for (const offset of pagesOf(Math.min(total, MAX_EVENTS))) if (!ahead.includes(offset)) await page(offset);
    });
    const due = { due_from: filterDay(days.from), due_to: filterDay(days.to), limit: PAGE };
    const layer = hasTasks ? wholePage(client.tasks, due, stop) : undefined;
    const showTasks = async () => {
      tasks = (await layer)?.data.filter(({ archived }) => archived === '0') ?? [];
      onPart?.(held(false));
    };
    await Promise.all([...events, ...(hasTasks ? [showTasks()] : [])]);
    const whole = held(true);
    this.#keep(nameOf({ days, hasTasks }), whole);
    return whole;
  }

  #keep(name: string, held: Held): void {
    this.#kept.delete(name);
    this.#kept.set(name, held);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT_WINDOWS && oldest !== undefined) this.#kept.delete(oldest);
  }

  /** The neighbours, one after the other, when nothing else is to be done. */
  async #fetchAhead({ hasTasks }: Ask, around: readonly Days[], stop: AbortSignal): Promise<void> {
    for (const days of around) {
      await idle();
      if (stop.aborted) return;
      if (this.#kept.has(nameOf({ days, hasTasks }))) continue;
      // That it did not come is said when somebody goes there.
      await this.#load({ days, hasTasks }, stop).catch(() => undefined);
    }
  }
}

const pagesOf = (total: number) =>
  Array.from({ length: Math.max(Math.ceil(total / PAGE) - 1, 0) }, (_, index) => (index + 1) * PAGE);

const idle = () =>
  new Promise<void>((resolve) => {
    if ('requestIdleCallback' in globalThis) requestIdleCallback(() => resolve(), { timeout: 2_000 });
    else setTimeout(resolve, 200);
  });
