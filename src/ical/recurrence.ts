import { type ExpansionRange, expandRule, WorkBudget } from './expand-recurrence.ts';
import type { IcalEvent } from './ical-value.ts';
import type { RecurrenceRule } from './rule.ts';
import type { SkipReason } from './skipped.ts';
import { formatDay, midnightOf, type TimeConverter } from './times.ts';
import { DAY_MS, type IcalDuration, type IcalTime } from './values.ts';

/** First and last day, `YYYY-MM-DD`, for which recurring events are imported. */
export type ImportHorizon = { readonly from: string; readonly to: string };

/** One occurrence of a series. `day` identifies the occurrence, and is the same in every version of the file. */
export type SeriesOccurrence = {
  readonly day: string;
  readonly start: IcalTime;
  readonly end: IcalTime | undefined;
  /** The event that defines the occurrence: the series or an override. */
  readonly definedBy: IcalEvent;
};

/** Maximum number of occurrences of one series: enough for daily occurrences throughout the horizon. */
const MAX_OCCURRENCES = 1_100;
/**
 * Work budget of one series, in steps: enough for every day of thirteen centuries, or for every second of five days.
 */
const MAX_STEPS_PER_SERIES = 500_000;
/** Upper bound of the difference between the offsets of two zones. */
const MAX_ZONE_DIFFERENCE_MS = 2 * DAY_MS;

export type SeriesPorts = {
  readonly times: TimeConverter;
  readonly horizon: ImportHorizon;
  readonly steps: WorkBudget;
  /** Called with the reason when occurrences are left out. */
  readonly drop: (reason: SkipReason) => void;
};

/** An event that has a start. */
export type StartedEvent = IcalEvent & { readonly start: IcalTime };

/** Yields the occurrences of a series within the horizon, with overrides applied. */
export function* expandSeries(
  master: StartedEvent,
  overrides: readonly StartedEvent[],
  { times, horizon, steps, drop }: SeriesPorts,
): Generator<SeriesOccurrence> {
  const [fromMs, toMs] = [Date.parse(horizon.from), Date.parse(horizon.to) + DAY_MS];
  const isWithin = (atMs: number) => atMs >= fromMs && atMs < toMs;
  const series = new EventSeries(master, overrides, times, horizon, steps);
  const nameOf = createOccurrenceNamer();
  const used = new Set<IcalEvent>();
  const dropReasons = new Set<SkipReason>();
  if (times.toTargetTime(master.start) < fromMs) dropReasons.add('repeated_before');
  let count = 0;
  for (const wallMs of series.starts()) {
    const day = nameOf(wallMs);
    const atMs = times.toTargetTime({ ...master.start, wallMs });
    if (atMs >= toMs) dropReasons.add('repeated_after');
    if (!isWithin(atMs)) continue;
    const { of, start, end } = series.occurrenceAt(wallMs);
    used.add(of);
    count += 1;
    if (count > MAX_OCCURRENCES) break;
    yield { day: day(), start, end, definedBy: of };
  }
  if (count > MAX_OCCURRENCES || series.isSpent) dropReasons.add('repeated_too_often');
  else if (series.continues) dropReasons.add('repeated_after');
  for (const reason of dropReasons) drop(reason);
  // An override of a time that the series does not have is a separate occurrence.
  for (const of of overrides.filter((one) => !used.has(one))) {
    const day = nameOf((of.replaces?.at ?? of.start).wallMs);
    const end = times.endOf(of, of.start, of.end);
    if (isWithin(times.toTargetTime(of.start))) yield { day: day(), start: of.start, end, definedBy: of };
  }
}

/** Whether a rule has any time within eight years, which is the longest gap between two leap days. */
export function hasTimes(
  rule: RecurrenceRule,
  event: StartedEvent,
  times: TimeConverter,
  parentBudget: WorkBudget,
): boolean {
  const { take } = new WorkBudget(MAX_STEPS_PER_SERIES, parentBudget);
  const startMs = event.start.wallMs;
  const range = {
    startMs,
    untilMs: untilOf(rule, event, times),
    fromMs: startMs,
    toMs: startMs + 8 * 366 * DAY_MS,
    take,
  };
  return expandRule(rule, range).next().done !== true;
}

/** Converts UNTIL of a rule to the event's local time. A date includes the whole day. */
function untilOf({ until }: RecurrenceRule, { start }: StartedEvent, times: TimeConverter): number | undefined {
  if (until === undefined) return undefined;
  if (until.isDate || start.isDate) return midnightOf(until.wallMs) + DAY_MS - 1;
  return until.zone === undefined ? until.wallMs : times.toSeriesTime(start, until);
}

/** Computes the times of a series, in milliseconds of local time in the zone of the series. */
class EventSeries {
  readonly #master: StartedEvent;
  readonly #times: TimeConverter;
  readonly #steps: WorkBudget;
  readonly #range: ExpansionRange;
  /** Overrides of a single time, by that time. */
  readonly #singleOverrides = new Map<number, StartedEvent>();
  /** Overrides of a time and all later ones (THISANDFUTURE), latest first. */
  readonly #thisAndFuture: (readonly [number, StartedEvent])[] = [];
  /** Times that EXDATE excludes. */
  readonly #excludedTimes = new Set<number>();
  /** Days that EXDATE excludes. */
  readonly #excludedDays = new Set<number>();
  /** Ends of RDATE periods, by their start. */
  readonly #ends = new Map<number, IcalTime | IcalDuration>();
  #continues = false;

  constructor(
    master: StartedEvent,
    overrides: readonly StartedEvent[],
    times: TimeConverter,
    { from, to }: ImportHorizon,
    parentBudget: WorkBudget,
  ) {
    this.#master = master;
    this.#times = times;
    this.#steps = new WorkBudget(MAX_STEPS_PER_SERIES, parentBudget);
    this.#range = {
      startMs: master.start.wallMs,
      untilMs: undefined,
      fromMs: Date.parse(from) - MAX_ZONE_DIFFERENCE_MS,
      toMs: Date.parse(to) + DAY_MS + MAX_ZONE_DIFFERENCE_MS,
      take: this.#steps.take,
    };
    for (const one of overrides) {
      if (one.replaces === undefined) continue;
      const wallMs = this.#toSeriesTime(one.replaces.at);
      if (one.replaces.isThisAndFuture) this.#thisAndFuture.push([wallMs, one]);
      else this.#singleOverrides.set(wallMs, one);
    }
    this.#thisAndFuture.sort(([one], [other]) => other - one);
    for (const time of master.excludedTimes) {
      if (time.isDate) this.#excludedDays.add(time.wallMs);
      else this.#excludedTimes.add(this.#toSeriesTime(time));
    }
  }

  /** Whether the work budget ran out. */
  get isSpent(): boolean {
    return this.#steps.isSpent;
  }

  /** Whether the series has times after the horizon. */
  get continues(): boolean {
    return this.#continues;
  }

  /** Yields the starts in order, without duplicates: RRULE and RDATE minus EXRULE and EXDATE. */
  *starts(): Generator<number> {
    const { rules, excludedRules, start } = this.#master;
    const walls = this.#master.extraTimes.map((period) => {
      const wallMs = this.#toSeriesTime(period.start);
      if (period.end !== undefined) this.#ends.set(wallMs, period.end);
      return wallMs;
    });
    if (rules.length === 0) walls.push(start.wallMs);
    const excluded = mergeSorted(excludedRules.map((rule) => this.#expandRule(rule)));
    let nextExcluded = excluded.next();
    for (const wallMs of mergeSorted([
      ...rules.map((rule) => this.#expandRule(rule)),
      walls.sort((a, b) => a - b).values(),
    ])) {
      while (nextExcluded.done !== true && nextExcluded.value < wallMs) nextExcluded = excluded.next();
      const isExcluded =
        (nextExcluded.done !== true && nextExcluded.value === wallMs) || this.#excludedTimes.has(wallMs);
      if (!isExcluded && !this.#excludedDays.has(midnightOf(wallMs))) yield wallMs;
    }
  }

  /** Returns the occurrence at a start, with overrides applied. */
  occurrenceAt(wallMs: number): { of: IcalEvent; start: IcalTime; end: IcalTime | undefined } {
    const exact = this.#singleOverrides.get(wallMs);
    if (exact !== undefined) return this.#occurrence(exact, exact.start, exact.end);
    const [atMs = 0, onward] = this.#thisAndFuture.find(([fromMs]) => fromMs <= wallMs) ?? [];
    if (onward !== undefined) {
      return this.#occurrence(onward, { ...onward.start, wallMs: onward.start.wallMs + wallMs - atMs }, onward.end);
    }
    const start = { ...this.#master.start, wallMs };
    const own = this.#ends.get(wallMs);
    if (own === undefined || 'days' in own) return this.#occurrence(this.#master, start, own ?? this.#master.end);
    // The end of a period is absolute, not relative to the start of the series.
    return this.#occurrence({ ...this.#master, start }, start, own, this.#master);
  }

  #occurrence(found: IcalEvent, start: IcalTime, end: IcalEvent['end'], of = found) {
    return { of, start, end: this.#times.endOf(found, start, end) };
  }

  #toSeriesTime(time: IcalTime): number {
    return this.#times.toSeriesTime(this.#master.start, time);
  }

  *#expandRule(rule: RecurrenceRule): Generator<number> {
    const continues = yield* expandRule(rule, { ...this.#range, untilMs: untilOf(rule, this.#master, this.#times) });
    this.#continues ||= continues;
  }
}

/** Merges sorted sequences and leaves out duplicates. */
function* mergeSorted(sources: readonly Iterator<number>[]): Generator<number> {
  const heads = sources.map((source) => source.next());
  for (let last: number | undefined; ; ) {
    let lowest = Number.POSITIVE_INFINITY;
    for (const head of heads) if (head.done !== true) lowest = Math.min(lowest, head.value);
    if (lowest === Number.POSITIVE_INFINITY) return;
    for (const [index, head] of heads.entries()) {
      const source = sources[index];
      if (head.done !== true && head.value === lowest && source !== undefined) heads[index] = source.next();
    }
    if (lowest !== last) yield lowest;
    last = lowest;
  }
}

/**
 * Creates a function that numbers times within their day: the first time of a day is number 1. It returns a function
 * that formats the name, which consists of day and number.
 */
export function createOccurrenceNamer(): (wallMs: number) => () => string {
  const numbers = new Map<number, number>();
  return (wallMs) => {
    const midnight = midnightOf(wallMs);
    const number = (numbers.get(midnight) ?? 0) + 1;
    numbers.set(midnight, number);
    return () => `${formatDay(midnight)} ${number}`;
  };
}
