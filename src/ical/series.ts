import { hash } from 'node:crypto';
import type { StoredDates } from './days.ts';
import type { WorkBudget } from './expand-recurrence.ts';
import type { IcalEvent } from './ical-value.ts';
import {
  createInstanceNamer,
  type EventWithStart,
  expandSeries,
  hasInstances,
  type RecurrenceImportRange,
} from './recurrence.ts';
import { type SkipReason, type SkipReport, truncateText } from './skipped.ts';
import { hasStorableYears, type TimeConverter } from './times.ts';
import type { IcalTime } from './values.ts';

/** Options for parsing a file. */
export type ParseOptions = RecurrenceImportRange & {
  /** Zone to which times are converted; undefined for the zone that the file names. */
  readonly zone: string | undefined;
  /** Domain of the account. Events whose UID was issued by this account are skipped. */
  readonly domain: string;
};

/** A parsed event, ready to be stored. */
export type ParsedEvent = StoredDates & {
  /** Hash of the UID and, for recurring events, of the day. It is the same in every version of the file. */
  readonly entryHash: string;
  /** Hash of name and dates, which is used to detect changes. */
  readonly contentHash: string;
  readonly event_name: string;
};

const MAX_NAME_LENGTH = 255;

type SeriesConverterDeps = {
  readonly skipReport: SkipReport;
  readonly timeConverter: TimeConverter;
  readonly options: ParseOptions;
  readonly workBudget: WorkBudget;
  /** The converted events are appended to this array. */
  readonly parsedEvents: ParsedEvent[];
};

/** Converts the events that have the same UID: a series with its overrides, or a single event. */
export class SeriesConverter {
  readonly #deps: SeriesConverterDeps;

  constructor(deps: SeriesConverterDeps) {
    this.#deps = deps;
  }

  convertSeries(uid: string, events: readonly IcalEvent[]): void {
    if (/^(?:event|task|subtask)-\d{1,20}@(.+)$/.exec(uid)?.[1] === this.#deps.options.domain) {
      for (const event of events) this.#reportSkipped('own', event);
      return;
    }
    const eventsWithStart = events.filter((one) => this.#hasStart(one));
    const newestMaster = this.#selectNewest(eventsWithStart.filter(({ recurrenceId }) => recurrenceId === undefined));
    const master = newestMaster && this.#removeEmptyRules(newestMaster);
    const overrides = this.#selectNewestOverrides(eventsWithStart, master);
    if (master !== undefined && master.rules.length + master.extraTimes.length > 0) {
      this.#convertRecurring(master, overrides);
      return;
    }
    if (master !== undefined) this.#convertSingle(master, '');
    const reserveInstanceName = createInstanceNamer();
    for (const override of overrides)
      this.#convertSingle(
        override,
        reserveInstanceName((override.recurrenceId?.overriddenTime ?? override.start).wallMs)(),
      );
  }

  #hasStart(event: IcalEvent): event is EventWithStart {
    if (event.start === undefined) this.#reportSkipped('no_start', event);
    return event.start !== undefined;
  }

  /** Removes rules that have no instances, and reports them. */
  #removeEmptyRules(event: EventWithStart): EventWithStart {
    const { timeConverter, workBudget } = this.#deps;
    const rules = event.rules.filter((rule) => hasInstances(rule, event, timeConverter, workBudget));
    if (rules.length < event.rules.length) this.#reportSkipped('empty_rule', event);
    return { ...event, rules };
  }

  /** Returns the newest override of each time, in the order of the overridden times. */
  #selectNewestOverrides(
    events: readonly EventWithStart[],
    master: EventWithStart | undefined,
  ): readonly EventWithStart[] {
    const overridesByTime = new Map<string, EventWithStart[]>();
    for (const event of events) {
      if (event.recurrenceId === undefined) continue;
      const { overriddenTime, isThisAndFuture } = event.recurrenceId;
      const wallMs =
        master === undefined
          ? overriddenTime.wallMs
          : this.#deps.timeConverter.toSeriesWallMs(master.start, overriddenTime);
      const timeKey = `${String(wallMs).padStart(16)} ${isThisAndFuture}`;
      const sameTimeOverrides = overridesByTime.get(timeKey) ?? [];
      sameTimeOverrides.push(event);
      overridesByTime.set(timeKey, sameTimeOverrides);
    }
    const sortedByTime = [...overridesByTime].sort(([one], [other]) => (one < other ? -1 : 1));
    return sortedByTime.flatMap(([, sameTimeOverrides]) => this.#selectNewest(sameTimeOverrides) ?? []);
  }

  /**
   * Returns the version with the highest SEQUENCE. If several versions have it, returns the last of them in the file.
   * The other versions are reported.
   */
  #selectNewest(versions: readonly EventWithStart[]): EventWithStart | undefined {
    const [newestVersion, ...olderVersions] = [...versions].sort(
      (one, other) => other.sequence - one.sequence || other.lineNumber - one.lineNumber,
    );
    for (const olderVersion of olderVersions) this.#reportSkipped('replaced', olderVersion);
    return newestVersion;
  }

  #convertSingle(event: EventWithStart, instanceName: string): void {
    this.#addEvent(
      event,
      instanceName,
      event.start,
      this.#deps.timeConverter.computeEnd(event, event.start, event.end),
    );
    this.#reportUnsupported(event);
  }

  #convertRecurring(master: EventWithStart, overrides: readonly EventWithStart[]): void {
    const { timeConverter, options: importRange, workBudget } = this.#deps;
    const reportSkipped = (reason: SkipReason) => this.#reportSkipped(reason, master);
    for (const { instanceName, start, end, definingEvent } of expandSeries(master, overrides, {
      timeConverter,
      importRange,
      workBudget,
      reportSkipped,
    })) {
      this.#addEvent(definingEvent, instanceName, start, end);
    }
    for (const event of [master, ...overrides]) this.#reportUnsupported(event);
  }

  #addEvent(event: IcalEvent, instanceName: string, start: IcalTime, end: IcalTime | undefined): void {
    if (event.isCancelled) {
      this.#reportSkipped('cancelled', event);
      return;
    }
    const storedDates = this.#deps.timeConverter.toEventDates(event, start, end);
    if (!hasStorableYears(storedDates)) {
      this.#reportSkipped('out_of_range', event);
      return;
    }
    const event_name = this.#toEventName(event);
    this.#deps.parsedEvents.push({
      ...storedDates,
      event_name,
      entryHash: hash('sha256', `${event.uid}\n${instanceName}`, 'base64url'),
      contentHash: hash(
        'sha256',
        JSON.stringify([event_name, storedDates.start_date, storedDates.due_date]),
        'base64url',
      ),
    });
  }

  #toEventName(event: IcalEvent): string {
    const { name } = event;
    if (name === '') {
      this.#reportSkipped('untitled', event);
      return 'Untitled';
    }
    const truncatedName = truncateText(name, MAX_NAME_LENGTH).trim();
    if (truncatedName !== name) this.#reportSkipped('shortened', event);
    return truncatedName;
  }

  /** Reports the properties that an event has no field for. */
  #reportUnsupported({ unsupportedNames, lineNumber, name }: IcalEvent): void {
    for (const unsupportedName of unsupportedNames)
      this.#deps.skipReport.add(unsupportedName, 'no_field', lineNumber, name);
  }

  #reportSkipped(reason: SkipReason, { lineNumber, name }: IcalEvent): void {
    this.#deps.skipReport.add('VEVENT', reason, lineNumber, name);
  }
}
