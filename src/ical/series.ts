import { hash } from 'node:crypto';
import type { StoredDates } from './days.ts';
import type { WorkBudget } from './expand-recurrence.ts';
import type { IcalEvent } from './ical-value.ts';
import { createOccurrenceNamer, expandSeries, hasTimes, type ImportHorizon, type StartedEvent } from './recurrence.ts';
import { type SkipReason, type SkipReport, truncateText } from './skipped.ts';
import { isWithinYears, type TimeConverter } from './times.ts';
import type { IcalTime } from './values.ts';

/** Options for parsing a file. */
export type ParseOptions = ImportHorizon & {
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

export type SeriesConverterPorts = {
  readonly drops: SkipReport;
  readonly times: TimeConverter;
  readonly options: ParseOptions;
  readonly steps: WorkBudget;
  readonly events: ParsedEvent[];
};

/** Converts the events that have the same UID: a series with its overrides, or a single event. */
export class SeriesConverter {
  readonly #ports: SeriesConverterPorts;

  constructor(ports: SeriesConverterPorts) {
    this.#ports = ports;
  }

  convertSeries(uid: string, found: readonly IcalEvent[]): void {
    if (/^(?:event|task|subtask)-\d{1,20}@(.+)$/.exec(uid)?.[1] === this.#ports.options.domain) {
      for (const one of found) this.#drop('own', one);
      return;
    }
    const valid = found.filter((one) => this.#hasStart(one));
    const newest = this.#newest(valid.filter(({ replaces }) => replaces === undefined));
    const master = newest && this.#withoutEmptyRules(newest);
    const overrides = this.#newestOverrides(valid, master);
    if (master !== undefined && master.rules.length + master.extraTimes.length > 0) {
      this.#convertRecurring(master, overrides);
      return;
    }
    if (master !== undefined) this.#convertSingle(master, '');
    const nameOf = createOccurrenceNamer();
    for (const one of overrides) this.#convertSingle(one, nameOf((one.replaces?.at ?? one.start).wallMs)());
  }

  #hasStart(found: IcalEvent): found is StartedEvent {
    if (found.start === undefined) this.#drop('no_start', found);
    return found.start !== undefined;
  }

  /** Removes rules that have no times, and reports them. */
  #withoutEmptyRules(found: StartedEvent): StartedEvent {
    const { times, steps } = this.#ports;
    const rules = found.rules.filter((rule) => hasTimes(rule, found, times, steps));
    if (rules.length < found.rules.length) this.#drop('empty_rule', found);
    return { ...found, rules };
  }

  /** Returns the newest override of each time, in the order of the overridden times. */
  #newestOverrides(found: readonly StartedEvent[], master: StartedEvent | undefined): readonly StartedEvent[] {
    const byTime = new Map<string, StartedEvent[]>();
    for (const one of found) {
      if (one.replaces === undefined) continue;
      const { at, isThisAndFuture } = one.replaces;
      const wallMs = master === undefined ? at.wallMs : this.#ports.times.toSeriesTime(master.start, at);
      const time = `${String(wallMs).padStart(16)} ${isThisAndFuture}`;
      const same = byTime.get(time) ?? [];
      same.push(one);
      byTime.set(time, same);
    }
    const times = [...byTime].sort(([one], [other]) => (one < other ? -1 : 1));
    return times.flatMap(([, same]) => this.#newest(same) ?? []);
  }

  /**
   * Returns the version with the highest SEQUENCE; of equal ones, the last in the file. The other versions are
   * reported.
   */
  #newest(versions: readonly StartedEvent[]): StartedEvent | undefined {
    const [newest, ...others] = [...versions].sort(
      (one, other) => other.sequence - one.sequence || other.line - one.line,
    );
    for (const one of others) this.#drop('replaced', one);
    return newest;
  }

  #convertSingle(found: StartedEvent, day: string): void {
    this.#store(found, day, found.start, this.#ports.times.endOf(found, found.start, found.end));
    this.#reportDetails(found);
  }

  #convertRecurring(master: StartedEvent, overrides: readonly StartedEvent[]): void {
    const { times, options: horizon, steps } = this.#ports;
    const drop = (reason: SkipReason) => this.#drop(reason, master);
    for (const { day, start, end, definedBy } of expandSeries(master, overrides, { times, horizon, steps, drop })) {
      this.#store(definedBy, day, start, end);
    }
    for (const one of [master, ...overrides]) this.#reportDetails(one);
  }

  #store(found: IcalEvent, day: string, start: IcalTime, end: IcalTime | undefined): void {
    if (found.isCancelled) {
      this.#drop('cancelled', found);
      return;
    }
    const dated = this.#ports.times.toEventDates(found, start, end);
    if (!isWithinYears(dated)) {
      this.#drop('out_of_range', found);
      return;
    }
    const event_name = this.#eventName(found);
    this.#ports.events.push({
      ...dated,
      event_name,
      entryHash: hash('sha256', `${found.uid}\n${day}`, 'base64url'),
      contentHash: hash('sha256', JSON.stringify([event_name, dated.start_date, dated.due_date]), 'base64url'),
    });
  }

  #eventName(found: IcalEvent): string {
    const { name } = found;
    if (name === '') {
      this.#drop('untitled', found);
      return 'Untitled';
    }
    const short = truncateText(name, MAX_NAME_LENGTH).trim();
    if (short !== name) this.#drop('shortened', found);
    return short;
  }

  /** Reports the properties that an event has no field for. */
  #reportDetails({ unsupportedNames, line, name }: IcalEvent): void {
    for (const what of unsupportedNames) this.#ports.drops.add(what, 'no_field', line, name);
  }

  #drop(reason: SkipReason, { line, name }: IcalEvent): void {
    this.#ports.drops.add('VEVENT', reason, line, name);
  }
}
