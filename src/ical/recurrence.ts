import { type ExpansionRange, expandRule, WorkBudget } from './expand-recurrence.ts';
import type { IcalEvent } from './ical-value.ts';
import type { RecurrenceRule } from './rule.ts';
import type { SkipReason } from './skipped.ts';
import { formatDay, midnightOf, type TimeConverter } from './times.ts';
import { DAY_MS, type IcalDuration, type IcalTime } from './values.ts';

/** First and last day, `YYYY-MM-DD`, for which recurring events are imported. */
export type RecurrenceImportRange = { readonly from: string; readonly to: string };

/**
 * One instance of a series (in iCalendar a recurrence instance, not an occurrence of the feed). Its name consists of a
 * day and a number, such as `2027-01-31 1`, and is the same in every version of the file.
 */
type RecurrenceInstance = {
  readonly instanceName: string;
  readonly start: IcalTime;
  readonly end: IcalTime | undefined;
  /** The event that defines the instance: the series or an override. */
  readonly definingEvent: IcalEvent;
};

/** Maximum number of instances of one series: enough for daily instances throughout the import range. */
const MAX_INSTANCES_PER_SERIES = 1_100;
/**
 * Work budget of one series, in steps (see `WorkBudget`): enough for each day of thirteen centuries, or for each second
 * of five days.
 */
const MAX_STEPS_PER_SERIES = 500_000;
/** Upper bound of the difference between the UTC offsets of two zones. */
const MAX_ZONE_DIFFERENCE_MS = 2 * DAY_MS;

type ExpandSeriesDeps = {
  readonly timeConverter: TimeConverter;
  readonly importRange: RecurrenceImportRange;
  readonly workBudget: WorkBudget;
  /** Called with the reason when instances are left out. */
  readonly reportSkipped: (reason: SkipReason) => void;
};

/** An event that has a start. */
export type EventWithStart = IcalEvent & { readonly start: IcalTime };

/** Yields the instances of a series within the import range, with overrides applied. */
export function* expandSeries(
  master: EventWithStart,
  overrides: readonly EventWithStart[],
  { timeConverter, importRange, workBudget, reportSkipped }: ExpandSeriesDeps,
): Generator<RecurrenceInstance> {
  const [importRangeStartMs, importRangeEndMs] = [Date.parse(importRange.from), Date.parse(importRange.to) + DAY_MS];
  const isWithinImportRange = (targetWallMs: number) =>
    targetWallMs >= importRangeStartMs && targetWallMs < importRangeEndMs;
  const series = new EventSeries(master, overrides, timeConverter, importRange, workBudget);
  const reserveInstanceName = createInstanceNamer();
  const usedEvents = new Set<IcalEvent>();
  const skipReasonSet = new Set<SkipReason>();
  if (timeConverter.toTargetWallMs(master.start) < importRangeStartMs) skipReasonSet.add('repeated_before');
  let instanceCount = 0;
  for (const wallMs of series.generateStarts()) {
    const formatName = reserveInstanceName(wallMs);
    const targetWallMs = timeConverter.toTargetWallMs({ ...master.start, wallMs });
    if (targetWallMs >= importRangeEndMs) skipReasonSet.add('repeated_after');
    if (!isWithinImportRange(targetWallMs)) continue;
    const { definingEvent, start, end } = series.instanceAt(wallMs);
    usedEvents.add(definingEvent);
    instanceCount += 1;
    if (instanceCount > MAX_INSTANCES_PER_SERIES) break;
    yield { instanceName: formatName(), start, end, definingEvent };
  }
  if (instanceCount > MAX_INSTANCES_PER_SERIES || series.isBudgetSpent) skipReasonSet.add('repeated_too_often');
  else if (series.continuesAfterImportRange) skipReasonSet.add('repeated_after');
  for (const reason of skipReasonSet) reportSkipped(reason);
  // An override of a time that the series does not have is a separate instance.
  for (const override of overrides.filter((one) => !usedEvents.has(one))) {
    const formatName = reserveInstanceName((override.recurrenceId?.overriddenTime ?? override.start).wallMs);
    const end = timeConverter.computeEnd(override, override.start, override.end);
    if (isWithinImportRange(timeConverter.toTargetWallMs(override.start)))
      yield { instanceName: formatName(), start: override.start, end, definingEvent: override };
  }
}

/**
 * Whether a rule has an instance within eight years of its start. Eight years are the longest gap between two leap
 * days. A rule whose first instance is later counts as empty.
 */
export function hasInstances(
  rule: RecurrenceRule,
  event: EventWithStart,
  timeConverter: TimeConverter,
  parentBudget: WorkBudget,
): boolean {
  const { trySpendSteps } = new WorkBudget(MAX_STEPS_PER_SERIES, parentBudget);
  const seriesStartMs = event.start.wallMs;
  const range = {
    seriesStartMs,
    untilMs: toLocalUntilMs(rule, event, timeConverter),
    fromMs: seriesStartMs,
    toMs: seriesStartMs + 8 * 366 * DAY_MS,
    trySpendSteps,
  };
  return expandRule(rule, range).next().done !== true;
}

/** Converts UNTIL of a rule to the event's local time. A date includes the whole day. */
function toLocalUntilMs(
  { until }: RecurrenceRule,
  { start }: EventWithStart,
  timeConverter: TimeConverter,
): number | undefined {
  if (until === undefined) return undefined;
  if (until.isDate || start.isDate) return midnightOf(until.wallMs) + DAY_MS - 1;
  return until.tzid === undefined ? until.wallMs : timeConverter.toSeriesWallMs(start, until);
}

/** Computes the instances of a series. Their times are milliseconds of local time in the zone of the series. */
class EventSeries {
  readonly #master: EventWithStart;
  readonly #timeConverter: TimeConverter;
  readonly #workBudget: WorkBudget;
  readonly #expansionRange: ExpansionRange;
  /** Overrides of a single time, by that time. */
  readonly #singleOverrides = new Map<number, EventWithStart>();
  /** Overrides of a time and all later ones (THISANDFUTURE), latest first. */
  readonly #thisAndFutureOverrides: (readonly [number, EventWithStart])[] = [];
  /** Times that EXDATE excludes. */
  readonly #excludedTimes = new Set<number>();
  /** Days that EXDATE excludes. */
  readonly #excludedDays = new Set<number>();
  /** Ends of RDATE periods, by their start. */
  readonly #periodEnds = new Map<number, IcalTime | IcalDuration>();
  #continuesAfterImportRange = false;

  constructor(
    master: EventWithStart,
    overrides: readonly EventWithStart[],
    timeConverter: TimeConverter,
    { from, to }: RecurrenceImportRange,
    parentBudget: WorkBudget,
  ) {
    this.#master = master;
    this.#timeConverter = timeConverter;
    this.#workBudget = new WorkBudget(MAX_STEPS_PER_SERIES, parentBudget);
    this.#expansionRange = {
      seriesStartMs: master.start.wallMs,
      untilMs: undefined,
      fromMs: Date.parse(from) - MAX_ZONE_DIFFERENCE_MS,
      toMs: Date.parse(to) + DAY_MS + MAX_ZONE_DIFFERENCE_MS,
      trySpendSteps: this.#workBudget.trySpendSteps,
    };
    for (const override of overrides) {
      if (override.recurrenceId === undefined) continue;
      const wallMs = this.#toSeriesWallMs(override.recurrenceId.overriddenTime);
      if (override.recurrenceId.isThisAndFuture) this.#thisAndFutureOverrides.push([wallMs, override]);
      else this.#singleOverrides.set(wallMs, override);
    }
    this.#thisAndFutureOverrides.sort(([one], [other]) => other - one);
    for (const time of master.excludedTimes) {
      if (time.isDate) this.#excludedDays.add(time.wallMs);
      else this.#excludedTimes.add(this.#toSeriesWallMs(time));
    }
  }

  /** Whether the work budget ran out. */
  get isBudgetSpent(): boolean {
    return this.#workBudget.isSpent;
  }

  /** Whether the series has instances after the import range. */
  get continuesAfterImportRange(): boolean {
    return this.#continuesAfterImportRange;
  }

  /** Yields the starts in order, without duplicates: RRULE and RDATE minus EXRULE and EXDATE. */
  *generateStarts(): Generator<number> {
    const { rules, excludedRules, start } = this.#master;
    const explicitStarts = this.#master.extraTimes.map((period) => {
      const wallMs = this.#toSeriesWallMs(period.start);
      if (period.end !== undefined) this.#periodEnds.set(wallMs, period.end);
      return wallMs;
    });
    if (rules.length === 0) explicitStarts.push(start.wallMs);
    const excludedStarts = mergeSorted(excludedRules.map((rule) => this.#expandRule(rule)));
    let nextExcludedStart = excludedStarts.next();
    for (const wallMs of mergeSorted([
      ...rules.map((rule) => this.#expandRule(rule)),
      explicitStarts.sort((a, b) => a - b).values(),
    ])) {
      while (nextExcludedStart.done !== true && nextExcludedStart.value < wallMs)
        nextExcludedStart = excludedStarts.next();
      const isExcluded =
        (nextExcludedStart.done !== true && nextExcludedStart.value === wallMs) || this.#excludedTimes.has(wallMs);
      if (!isExcluded && !this.#excludedDays.has(midnightOf(wallMs))) yield wallMs;
    }
  }

  /** Returns the instance at a start, with overrides applied. */
  instanceAt(wallMs: number): { definingEvent: IcalEvent; start: IcalTime; end: IcalTime | undefined } {
    const singleOverride = this.#singleOverrides.get(wallMs);
    if (singleOverride !== undefined)
      return this.#buildInstance(singleOverride, singleOverride.start, singleOverride.end);
    const [overriddenMs = 0, futureOverride] =
      this.#thisAndFutureOverrides.find(([firstOverriddenMs]) => firstOverriddenMs <= wallMs) ?? [];
    if (futureOverride !== undefined) {
      return this.#buildInstance(
        futureOverride,
        { ...futureOverride.start, wallMs: futureOverride.start.wallMs + wallMs - overriddenMs },
        futureOverride.end,
      );
    }
    const start = { ...this.#master.start, wallMs };
    const periodEnd = this.#periodEnds.get(wallMs);
    if (periodEnd === undefined || 'days' in periodEnd)
      return this.#buildInstance(this.#master, start, periodEnd ?? this.#master.end);
    // The end of a period is absolute, not relative to the start of the series.
    return this.#buildInstance({ ...this.#master, start }, start, periodEnd, this.#master);
  }

  #buildInstance(event: IcalEvent, start: IcalTime, end: IcalEvent['end'], definingEvent = event) {
    return { definingEvent, start, end: this.#timeConverter.computeEnd(event, start, end) };
  }

  #toSeriesWallMs(time: IcalTime): number {
    return this.#timeConverter.toSeriesWallMs(this.#master.start, time);
  }

  *#expandRule(rule: RecurrenceRule): Generator<number> {
    const continuesAfterRange = yield* expandRule(rule, {
      ...this.#expansionRange,
      untilMs: toLocalUntilMs(rule, this.#master, this.#timeConverter),
    });
    this.#continuesAfterImportRange ||= continuesAfterRange;
  }
}

/** Merges sorted sequences and leaves out duplicates. */
function* mergeSorted(sources: readonly Iterator<number>[]): Generator<number> {
  const heads = sources.map((source) => source.next());
  for (let lastYieldedValue: number | undefined; ; ) {
    let lowestValue = Number.POSITIVE_INFINITY;
    for (const head of heads) if (head.done !== true) lowestValue = Math.min(lowestValue, head.value);
    if (lowestValue === Number.POSITIVE_INFINITY) return;
    for (const [index, head] of heads.entries()) {
      const source = sources[index];
      if (head.done !== true && head.value === lowestValue && source !== undefined) heads[index] = source.next();
    }
    if (lowestValue !== lastYieldedValue) yield lowestValue;
    lastYieldedValue = lowestValue;
  }
}

/**
 * Creates a function that names instances by day and number: the first instance of a day is `2027-01-31 1`. Each call
 * assigns the number immediately, and returns a function that formats the name when it is needed.
 */
export function createInstanceNamer(): (wallMs: number) => () => string {
  const countsByDay = new Map<number, number>();
  return (wallMs) => {
    const midnightMs = midnightOf(wallMs);
    const numberInDay = (countsByDay.get(midnightMs) ?? 0) + 1;
    countsByDay.set(midnightMs, numberInDay);
    return () => `${formatDay(midnightMs)} ${numberInDay}`;
  };
}
