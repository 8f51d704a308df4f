import { type Day, dayAt, dayNumber, daysInMonth, plusDays, plusMonths, weekdayOf, weekOf } from './time-math.ts';

// One line, read for the days, the times and the project in it. What is not understood stays in the name.

type Named = { readonly project_id: string; readonly project_name: string };

/** What a line is read with. */
export type Reading<P extends Named> = {
  readonly today: Day;
  readonly projects: readonly P[];
  /** `4/5` is 5 April where the month comes first, and 4 May elsewhere. `4/20` and `20/4` can only be one thing. */
  readonly isMonthFirst?: boolean;
};

/** What was understood. Without days, none were named; times are `HH:MM`, and come with an end. */
export type Understood<P extends Named> = {
  readonly name: string;
  readonly days?: { readonly start: Day; readonly due: Day };
  readonly times?: { readonly start: string; readonly due: string };
  readonly project?: P;
};

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const MONTH =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?';
const WEEKDAY =
  '(sun(?:day)?|mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?)';
const NTH = '(\\d{1,2})(?:st|nd|rd|th)?';
const YEAR = '(?:,? ((?:19|20|21)\\d\\d))?';
const END = '(?![\\p{L}\\p{N}])';

const rule = (text: string) => new RegExp(text + END, 'iuy');

/** A day as it was written: which ones it may be, asked for the first that is not before a day. */
type Wanted = {
  onOrAfter(day: Day): Day | undefined;
  /** The month it was written with. */
  readonly month?: number;
  /** It was written with its year. */
  readonly hasYear?: true;
};

type Match = RegExpExecArray;
type DayRule = {
  readonly form: RegExp;
  read(match: Match, reading: { today: Day; isMonthFirst: boolean }): Wanted | undefined;
};

const fixed = (day: Day | undefined): Wanted | undefined => (day === undefined ? undefined : { onOrAfter: () => day });

function realDay(year: number, month: number, date: number): Day | undefined {
  if (month < 1 || month > 12 || date < 1 || date > daysInMonth(year, month)) return undefined;
  const digits = (number: number, length: number) => String(number).padStart(length, '0');
  return `${digits(year, 4)}-${digits(month, 2)}-${digits(date, 2)}`;
}

/** A day of a year; without one, of the first year in which it is not over. */
function calendarDay(date: number, month: number, year: string | undefined): Wanted | undefined {
  if (year !== undefined) {
    const day = realDay(year.length === 2 ? 2000 + Number(year) : Number(year), month, date);
    return day === undefined ? undefined : { onOrAfter: () => day, month, hasYear: true };
  }
  // In a leap year every day is there that can be.
  if (realDay(2024, month, date) === undefined) return undefined;
  return {
    month,
    onOrAfter(day) {
      const years = Array.from({ length: 9 }, (_, index) => Number(day.slice(0, 4)) + index);
      return years.map((one) => realDay(one, month, date)).find((one) => one !== undefined && one >= day);
    },
  };
}

const monthNamed = (name = '') => MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1;

const dayRules: readonly DayRule[] = [
  { form: rule('(\\d{4})-(\\d\\d)-(\\d\\d)'), read: ([, y, m, d]) => fixed(realDay(Number(y), Number(m), Number(d))) },
  { form: rule(`${NTH} (?:of )?${MONTH}${YEAR}`), read: ([, d, m, y]) => calendarDay(Number(d), monthNamed(m), y) },
  { form: rule(`${MONTH} ${NTH}${YEAR}`), read: ([, m, d, y]) => calendarDay(Number(d), monthNamed(m), y) },
  // A dot after the month, or a year: 1.2 alone is a version.
  { form: rule('(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})?'), read: ([, d, m, y]) => calendarDay(Number(d), Number(m), y) },
  {
    form: rule('(?!24/7(?:\\D|$))(\\d{1,2})/(\\d{1,2})(?:/(\\d{4}|\\d\\d))?'),
    read([, first, second, year], { isMonthFirst }) {
      const [a, b] = [Number(first), Number(second)];
      const monthIsFirst = b > 12 || (isMonthFirst && a <= 12);
      return monthIsFirst ? calendarDay(b, a, year) : calendarDay(a, b, year);
    },
  },
  { form: rule('today'), read: (_, { today }) => fixed(today) },
  { form: rule('tomorrow'), read: (_, { today }) => fixed(plusDays(today, 1)) },
  {
    form: rule('in (\\d{1,3}) (day|week|month)s?'),
    read([, count, unit], { today }) {
      if (unit?.toLowerCase() === 'month') return fixed(plusMonths(today, Number(count)));
      return fixed(plusDays(today, Number(count) * (unit?.toLowerCase() === 'week' ? 7 : 1)));
    },
  },
  {
    form: rule(`(?:(this|next) )?${WEEKDAY}`),
    read([, which, name = ''], { today }) {
      const weekday = WEEKDAYS.indexOf(name.slice(0, 3).toLowerCase());
      const first = (day: Day) => plusDays(day, (weekday - weekdayOf(day) + 7) % 7);
      // "next friday" is the one of the week that begins on the next Monday; "friday" the first from today on.
      if (which?.toLowerCase() === 'next') return fixed(first(plusDays(weekOf(today, 1), 7)));
      return { onOrAfter: first };
    },
  },
];

const SEPARATOR = /\s*(?:-|–|—|\bto\b|\buntil\b|\btill\b)\s*/iuy;
const BEFORE = /(?:on|at|from)\s+/iuy;
const UNTIL = /(?:until|till)\s+/iuy;
const BARE = rule(NTH);
const CLOCK = rule('(\\d{1,2})(?::(\\d\\d))?\\s?(am|pm)?|(noon)');

type Found<T> = { readonly value: T; readonly end: number };

class Line {
  readonly text: string;
  readonly #reading: { today: Day; isMonthFirst: boolean };

  constructor(text: string, reading: { today: Day; isMonthFirst: boolean }) {
    this.text = text;
    this.#reading = reading;
  }

  skip(form: RegExp, from: number): number {
    form.lastIndex = from;
    return form.test(this.text) ? form.lastIndex : from;
  }

  day(from: number): Found<Wanted> | undefined {
    for (const { form, read } of dayRules) {
      form.lastIndex = from;
      const match = form.exec(this.text);
      const value = match === null ? undefined : read(match, this.#reading);
      if (value === undefined) continue;
      return { value, end: form.lastIndex };
    }
    return undefined;
  }

  /** A day with the weekday that may stand before it: `Fri 24 Apr`. */
  namedDay(from: number): Found<Wanted> | undefined {
    const found = this.day(from);
    if (found === undefined || !/\p{L}$/u.test(this.text.slice(from, found.end))) return found;
    const next = this.skip(/,?\s+/uy, found.end);
    const after = next === found.end || !/[\d\p{L}]/u.test(this.text[next] ?? '') ? undefined : this.day(next);
    return after?.value.month === undefined ? found : after;
  }

  /** The number of a day, where the month stands at the other end: `20 – 24 Apr`, `Apr 20 – 24`. */
  bare(from: number): Found<number> | undefined {
    BARE.lastIndex = from;
    const match = BARE.exec(this.text);
    return match === null || this.text[BARE.lastIndex] === ':'
      ? undefined
      : { value: Number(match[1]), end: BARE.lastIndex };
  }

  /** Minutes of a day; an hour alone is none, unless another time says what it is. */
  clock(from: number): Found<{ hour: number; minute: number; half: string; isBare: boolean }> | undefined {
    CLOCK.lastIndex = from;
    const match = CLOCK.exec(this.text);
    if (match === null) return undefined;
    const [, hour = '12', minute, half = '', noon] = match;
    const most = half === '' ? 24 : 12;
    if (Number(hour) > most || (half !== '' && Number(hour) === 0) || Number(minute ?? 0) > 59) return undefined;
    if (Number(hour) === 24 && Number(minute ?? 0) > 0) return undefined;
    const isBare = minute === undefined && half === '' && noon === undefined;
    return {
      value: {
        hour: Number(hour),
        minute: Number(minute ?? 0),
        half: noon === undefined ? half.toLowerCase() : 'pm',
        isBare,
      },
      end: CLOCK.lastIndex,
    };
  }
}

const minutesOf = ({ hour, minute, half }: { hour: number; minute: number; half: string }) =>
  (half === '' ? hour : (hour % 12) + (half === 'pm' ? 12 : 0)) * 60 + minute;

type Times = { readonly start: number; readonly due: number | undefined };

/** A time, or two of them: `14:00`, `2pm`, `14:00-15:30`, `2-4pm`. */
function timesAt(line: Line, from: number): Found<Times> | undefined {
  const first = line.clock(from);
  if (first === undefined) return undefined;
  const gap = line.skip(SEPARATOR, first.end);
  const second = gap === first.end ? undefined : line.clock(gap);
  if (second === undefined || second.value.isBare) {
    return first.value.isBare
      ? undefined
      : { value: { start: minutesOf(first.value), due: undefined }, end: first.end };
  }
  const due = minutesOf(second.value);
  if (!first.value.isBare) return { value: { start: minutesOf(first.value), due }, end: second.end };
  // The half of the day said last holds for both, unless that would turn them around: 11-1pm.
  const same = minutesOf({ ...first.value, half: second.value.half });
  if (first.value.hour > 12 || second.value.half === '') return undefined;
  const start = same < due ? same : minutesOf({ ...first.value, half: 'am' });
  return { value: { start, due }, end: second.end };
}

type Stretch = {
  readonly from: Wanted | undefined;
  readonly to: Wanted | undefined;
  readonly times?: Times | undefined;
};

/** A day, or two: `20 Apr`, `20 – 24 Apr`, `Apr 20–24`, `20 Apr 14:00 – 22 Apr 10:00`, `until 24 Apr`. */
function stretchAt(line: Line, from: number): Found<Stretch> | undefined {
  const alone = line.skip(UNTIL, from);
  const until = alone === from ? undefined : line.namedDay(alone);
  if (until !== undefined) return { value: { from: undefined, to: until.value }, end: until.end };
  const number = line.bare(from);
  const gap = number === undefined ? from : line.skip(SEPARATOR, number.end);
  const last = number === undefined || gap === number.end ? undefined : line.day(gap);
  if (number !== undefined && last?.value.month !== undefined) {
    const first = calendarDay(number.value, last.value.month, undefined);
    if (first !== undefined) return { value: { from: first, to: last.value }, end: last.end };
  }
  const first = line.namedDay(from);
  if (first === undefined) return undefined;
  return endOf(line, first) ?? { value: { from: first.value, to: undefined }, end: first.end };
}

/** What follows a first day: the last one. */
function endOf(line: Line, first: Found<Wanted>): Found<Stretch> | undefined {
  const spaced = line.skip(/\s+(?:at\s+)?/iuy, first.end);
  const clock = spaced === first.end ? undefined : line.clock(spaced);
  const isTimed = clock !== undefined && !clock.value.isBare;
  const end = isTimed ? clock.end : first.end;
  const gap = line.skip(SEPARATOR, end);
  if (gap === end) return undefined;
  const last = line.namedDay(gap);
  if (last !== undefined) {
    if (!isTimed) return { value: { from: first.value, to: last.value }, end: last.end };
    const space = line.skip(/\s+(?:at\s+)?/iuy, last.end);
    const due = space === last.end ? undefined : line.clock(space);
    if (due === undefined || due.value.isBare) return undefined;
    const times = { start: minutesOf(clock.value), due: minutesOf(due.value) };
    return { value: { from: first.value, to: last.value, times }, end: due.end };
  }
  const number = isTimed || first.value.month === undefined ? undefined : line.bare(gap);
  const to = number === undefined ? undefined : calendarDay(number.value, first.value.month ?? 0, undefined);
  return number === undefined || to === undefined ? undefined : { value: { from: first.value, to }, end: number.end };
}

/** The project behind a `#`: the longest name that stands there; else the only one that begins with the word. */
function projectAt<P extends Named>(text: string, from: number, projects: readonly P[]): Found<P> | undefined {
  const rest = text.slice(from).toLowerCase();
  const isWhole = (length: number) => !/^[\p{L}\p{N}]/u.test(rest.slice(length));
  const whole = projects
    .map((project) => ({ project, name: project.project_name.trim().toLowerCase() }))
    .filter(({ name }) => name !== '' && rest.startsWith(name) && isWhole(name.length))
    .sort((a, b) => b.name.length - a.name.length)[0];
  if (whole !== undefined) return { value: whole.project, end: from + whole.name.length };
  const word = /^\S{2,}/u.exec(rest)?.[0];
  if (word === undefined) return undefined;
  const begun = projects.filter(({ project_name }) => project_name.trim().toLowerCase().startsWith(word));
  return begun.length === 1 && begun[0] !== undefined ? { value: begun[0], end: from + word.length } : undefined;
}

const clockText = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

/** Reads a line. */
export function understand<P extends Named>(text: string, reading: Reading<P>): Understood<P> {
  const { today, projects, isMonthFirst = false } = reading;
  const line = new Line(text, { today, isMonthFirst });
  const taken: [from: number, to: number][] = [];
  let project: P | undefined;
  let stretch: Stretch | undefined;
  let times: Times | undefined;
  for (let at = 0; at < text.length; at += 1) {
    if (at > 0 && !/[\s,(]/.test(text[at - 1] ?? '')) continue;
    const named = project === undefined && text[at] === '#' ? projectAt(text, at + 1, projects) : undefined;
    const begin = line.skip(BEFORE, at);
    const days = named === undefined && stretch === undefined ? stretchAt(line, begin) : undefined;
    const clock = named === undefined && days === undefined && times === undefined ? timesAt(line, begin) : undefined;
    const found = named ?? days ?? clock;
    if (found === undefined) continue;
    project ??= named?.value;
    stretch ??= days?.value;
    times ??= days?.value.times ?? clock?.value;
    taken.push([at, found.end]);
    at = found.end - 1;
  }
  return {
    name: nameLeft(text, taken),
    ...meant(stretch, times, today),
    ...(project !== undefined && { project }),
  };
}

function nameLeft(text: string, taken: readonly (readonly [number, number])[]): string {
  let name = '';
  let at = 0;
  for (const [from, to] of taken) {
    name += `${text.slice(at, from)} `;
    at = to;
  }
  return (name + text.slice(at))
    .replace(/\s+/gu, ' ')
    .replace(/ ,/g, ',')
    .replace(/^[\s,–—-]+/u, '')
    .replace(/([^\s,–—-])[\s,–—-]+$/u, '$1');
}

/** Days as they come next: a stretch that is not over yet; a time is an hour long, unless it says until when. */
function meant(
  stretch: Stretch | undefined,
  times: Times | undefined,
  today: Day,
): Pick<Understood<Named>, 'days' | 'times'> {
  const days = stretch === undefined ? undefined : daysMeant(stretch, today);
  if (times === undefined) return days === undefined ? {} : { days };
  const { start } = times;
  const due = times.due ?? Math.min(start + 60, 24 * 60);
  const day = days ?? { start: today, due: today };
  // 22:00–01:00 ends on the day after; 24:00 is written as the 00:00 that ends the day.
  const isOver = day.start === day.due && due <= start && due !== 0;
  const last = isOver || (due === 24 * 60 && day.start === day.due) ? plusDays(day.due, 1) : day.due;
  const shown = { times: { start: clockText(start % (24 * 60)), due: clockText(due % (24 * 60)) } };
  return days === undefined && last === day.due ? shown : { ...shown, days: { start: day.start, due: last } };
}

function daysMeant({ from, to }: Stretch, today: Day): { start: Day; due: Day } | undefined {
  if (to === undefined) {
    const day = from?.onOrAfter(today);
    return day === undefined ? undefined : { start: day, due: day };
  }
  if (from === undefined) return { start: today, due: to.onOrAfter(today) ?? today };
  // 20 Apr – 24 Apr 2027: the year is said once, for both.
  if (to.hasYear && from.month !== undefined && !from.hasYear) {
    const last = to.onOrAfter(today) ?? today;
    return { start: from.onOrAfter(plusDays(last, -365)) ?? last, due: last };
  }
  // 18–24 Apr, said on the 20th, has begun already: the last day says which year is meant.
  const begun = from.onOrAfter(dayAt(dayNumber(today) - 366));
  const due = begun === undefined ? undefined : to.onOrAfter(begun);
  if (begun !== undefined && due !== undefined && due >= today && from.month !== undefined)
    return { start: begun, due };
  const start = from.onOrAfter(today);
  const end = start === undefined ? undefined : to.onOrAfter(start);
  if (start === undefined || end === undefined) return undefined;
  return end < start ? { start: end, due: start } : { start, due: end };
}
