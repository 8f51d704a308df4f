// Calendar times have no zone: they are texts, and what is reckoned with them is reckoned on a clock that nobody changes.

/** A day, `YYYY-MM-DD`. */
export type Day = string;

/** A calendar time as the service writes it, `YYYY-MM-DD HH:MM:SS`; at 00:00:00 it is the day that is meant. */
export type TimeText = string;

/** The days from `from` to `to`, both included. */
export type Days = { readonly from: Day; readonly to: Day };

/** What an event says of its time. */
export type Dated = { readonly start_date: TimeText; readonly due_date: TimeText };

/** What is drawn of it: `end` is the first moment after it. */
export type Drawn = { readonly start: TimeText; readonly end: TimeText; readonly isAllDay: boolean };

/** The days that something drawn is on. */
export const daysOf = ({ start, end }: Drawn): Days => ({ from: dayOf(start), to: dayOf(plusSeconds(end, -1)) });

/** 0001-01-01 and 9999-12-31, as numbers. */
const FIRST_DAY = -719_162;
const LAST_DAY = 2_932_896;

const DAY_S = 86_400;
const HOUR_S = 3_600;
const MIDNIGHT = '00:00:00';
/** How an end at midnight is written: 00:00:00 would say that no time was given. */
const LAST_SECOND = '23:59:59';

export const dayOf = (text: TimeText): Day => text.slice(0, 10);
export const clockOf = (text: TimeText): string => text.slice(11);
export const at = (day: Day, clock = MIDNIGHT): TimeText => `${day} ${clock}`;
const isTimed = (text: TimeText) => clockOf(text) !== MIDNIGHT;

/** A few hundred days are reckoned with thousands of times, while a month is drawn. */
function remembered<K, V>(work: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const value = work(key);
    if (known.size > 5_000) known.clear();
    known.set(key, value);
    return value;
  };
}

/** The number of a day, counted from 1970-01-01. */
export const dayNumber = remembered((day: Day): number => {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(0).setUTCFullYear(year, month - 1, date) / DAY_S / 1_000;
});

/** The day with a number; never outside the years that the service knows. */
export const dayAt = remembered((number: number): Day => {
  const bounded = Math.min(Math.max(number, FIRST_DAY), LAST_DAY);
  return new Date(bounded * DAY_S * 1_000).toISOString().slice(0, 10);
});

export const plusDays = (day: Day, count: number): Day => dayAt(dayNumber(day) + count);
export const daysFrom = (from: Day, to: Day): number => dayNumber(to) - dayNumber(from);

/** Sunday is 0. */
export const weekdayOf = (day: Day): number => (((dayNumber(day) + 4) % 7) + 7) % 7;

const two = (number: number) => String(number).padStart(2, '0');

/** How many days a month has; `month` counts from 1. */
export function daysInMonth(year: number, month: number): number {
  return new Date(new Date(0).setUTCFullYear(year, month, 0)).getUTCDate();
}

/** The same day of another month, or its last one where it has none of that number. */
export function plusMonths(day: Day, count: number): Day {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  const months = year * 12 + month - 1 + count;
  const [toYear, toMonth] = [Math.floor(months / 12), (months % 12) + 1];
  if (toYear < 1 || toYear > 9999) return day;
  return `${String(toYear).padStart(4, '0')}-${two(toMonth)}-${two(Math.min(date, daysInMonth(toYear, toMonth)))}`;
}

/** The first day of the week that a day is in; `firstDay` is 0 for Sunday. */
export const weekOf = (day: Day, firstDay: number): Day => plusDays(day, -((weekdayOf(day) - firstDay + 7) % 7));

/** What a view shows around a day. */
export function daysShown(view: 'month' | 'week' | 'day' | 'list', day: Day, firstDay: number): Days {
  if (view === 'day') return { from: day, to: day };
  if (view === 'week') {
    const from = weekOf(day, firstDay);
    return { from, to: plusDays(from, 6) };
  }
  const first = `${day.slice(0, 7)}-01`;
  const last = plusDays(plusMonths(first, 1), -1);
  if (view === 'list') return { from: first, to: last };
  return { from: weekOf(first, firstDay), to: plusDays(weekOf(last, firstDay), 6) };
}

/** The day that a view shows one step on, or back. */
export function stepped(view: 'month' | 'week' | 'day' | 'list', day: Day, count: number): Day {
  if (view === 'day') return plusDays(day, count);
  return view === 'week' ? plusDays(day, 7 * count) : plusMonths(day, count);
}

export function everyDay({ from, to }: Days): readonly Day[] {
  return Array.from({ length: daysFrom(from, to) + 1 }, (_, index) => plusDays(from, index));
}

/** A time so many seconds later, on a clock that nobody changes. */
export function plusSeconds(text: TimeText, count: number): TimeText {
  const [hours = 0, minutes = 0, seconds = 0] = clockOf(text).split(':').map(Number);
  const total = hours * HOUR_S + minutes * 60 + seconds + count;
  const days = Math.floor(total / DAY_S);
  const rest = total - days * DAY_S;
  const clock = `${two(Math.floor(rest / HOUR_S))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}`;
  return at(plusDays(dayOf(text), days), clock);
}

/** Whether no end was given: it begins at a time and is due on the same day without one. */
export const isOpen = ({ start_date, due_date }: Dated) =>
  isTimed(start_date) && !isTimed(due_date) && dayOf(start_date) === dayOf(due_date);

/** What is drawn of an event. Without a time for its end it is days, from the first to the last. */
export function drawn(event: Dated): Drawn {
  const { start_date, due_date } = event;
  if (isOpen(event)) return { start: start_date, end: plusSeconds(start_date, HOUR_S), isAllDay: false };
  if (!isTimed(due_date)) {
    return { start: at(dayOf(start_date)), end: at(plusDays(dayOf(due_date), 1)), isAllDay: true };
  }
  const end = clockOf(due_date) === LAST_SECOND ? plusSeconds(due_date, 1) : due_date;
  return { start: start_date, end: end > start_date ? end : plusSeconds(start_date, HOUR_S / 4), isAllDay: false };
}

/** What an event says that is drawn so. */
export function dated({ start, end, isAllDay }: Drawn): Dated {
  if (isAllDay) return { start_date: at(dayOf(start)), due_date: at(plusDays(dayOf(end), -1)) };
  return { start_date: start, due_date: isTimed(end) ? end : plusSeconds(end, -1) };
}

/** The last day that it is on. */
export const lastDay = (event: Dated): Day => daysOf(drawn(event)).to;

/** An event after it was dragged: whole days keep its times as they were written. */
export function moved(event: Dated, seconds: number): Dated {
  const { start_date, due_date } = event;
  if (seconds % DAY_S === 0) {
    return { start_date: plusSeconds(start_date, seconds), due_date: plusSeconds(due_date, seconds) };
  }
  const { start, end } = drawn(event);
  const to = { start: plusSeconds(start, seconds), end: plusSeconds(end, seconds), isAllDay: false };
  if (!isOpen(event) || !isTimed(to.start)) return dated(to);
  return { start_date: to.start, due_date: at(dayOf(to.start)) };
}

/** An event after one of its ends was dragged. */
export function resized(event: Dated, { start: startS, end: endS }: { start: number; end: number }): Dated {
  const { start_date, due_date } = event;
  if (startS % DAY_S === 0 && endS % DAY_S === 0) {
    return { start_date: plusSeconds(start_date, startS), due_date: plusSeconds(due_date, endS) };
  }
  const { start, end, isAllDay } = drawn(event);
  return dated({ start: plusSeconds(start, startS), end: plusSeconds(end, endS), isAllDay });
}

/** What somebody fills in: days, and times as `HH:MM`, which are empty for an event that takes the whole day. */
export type Filled = {
  readonly startDay: Day;
  readonly dueDay: Day;
  readonly startTime: string;
  readonly dueTime: string;
};

export function filledFrom(event: Dated): Filled {
  const timed = isTimed(event.start_date) || isTimed(event.due_date);
  return {
    startDay: dayOf(event.start_date),
    dueDay: dayOf(event.due_date),
    startTime: timed ? clockOf(event.start_date).slice(0, 5) : '',
    dueTime: isTimed(event.due_date) ? clockOf(event.due_date).slice(0, 5) : '',
  };
}

/** What an event says that was filled in so; an end at 00:00 is the end of the day before, or of the day itself. */
export function datedFrom({ startDay, dueDay, startTime, dueTime }: Filled): Dated {
  const start_date = at(startDay, startTime === '' ? MIDNIGHT : `${startTime}:00`);
  if (dueTime === '') return { start_date, due_date: at(dueDay) };
  if (dueTime !== '00:00') return { start_date, due_date: at(dueDay, `${dueTime}:00`) };
  return { start_date, due_date: at(dueDay > startDay ? plusDays(dueDay, -1) : dueDay, LAST_SECOND) };
}

/** As the filters of a list want it, `yyyymmdd`. */
export const filterDay = (day: Day): string => day.replaceAll('-', '');

/** Whether a text is a day that there is. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && text >= '0001' && dayAt(dayNumber(text)) === text;
