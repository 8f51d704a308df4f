import { hash } from 'node:crypto';
import type { StoredDates } from './days.ts';
import type { WorkBudget } from './expand-recurrence.ts';
import type { IcalValue } from './ical-value.ts';
import { type Horizon, hasTimes, numbering, repetitionsOf, type StartedEvent } from './recurrence.ts';
import { type Reason, type SkippedLines, shortened } from './skipped.ts';
import { isWithinYears, type Times } from './times.ts';
import type { Written } from './values.ts';

/** Options for parsing a file. */
export type ReadOptions = Horizon & {
  /** Zone to which times are converted; undefined for the zone that the file names. */
  readonly zone: string | undefined;
  /** Domain of the account. Events whose UID was issued by this account are skipped. */
  readonly domain: string;
};

/** A parsed event, ready to be stored. */
export type ReadEvent = StoredDates & {
  /** Hash of the UID and, for recurring events, of the day. It is the same in every version of the file. */
  readonly entryHash: string;
  /** Hash of name and dates, which is used to detect changes. */
  readonly contentHash: string;
  readonly event_name: string;
};

const MAX_NAME_LENGTH = 255;

export type ReadingPorts = {
  readonly drops: SkippedLines;
  readonly times: Times;
  readonly options: ReadOptions;
  readonly steps: WorkBudget;
  readonly events: ReadEvent[];
};

/** Converts the events that have the same UID: a series with its overrides, or a single event. */
export class SeriesConverter {
  readonly #ports: ReadingPorts;

  constructor(ports: ReadingPorts) {
    this.#ports = ports;
  }

  series(uid: string, found: readonly IcalValue[]): void {
    if (/^(?:event|task|subtask)-\d{1,20}@(.+)$/.exec(uid)?.[1] === this.#ports.options.domain) {
      for (const one of found) this.#drop('own', one);
      return;
    }
    const valid = found.filter((one) => this.#hasStart(one));
    const newest = this.#newest(valid.filter(({ replaces }) => replaces === undefined));
    const master = newest && this.#withTimes(newest);
    const overrides = this.#overrides(valid, master);
    if (master !== undefined && master.rules.length + master.more.length > 0) {
      this.#repeated(master, overrides);
      return;
    }
    if (master !== undefined) this.#single(master, '');
    const nameOf = numbering();
    for (const one of overrides) this.#single(one, nameOf((one.replaces?.at ?? one.start).wallMs)());
  }

  #hasStart(found: IcalValue): found is StartedEvent {
    if (found.start === undefined) this.#drop('no_start', found);
    return found.start !== undefined;
  }

  /** Removes rules that have no times, and reports them. */
  #withTimes(found: StartedEvent): StartedEvent {
    const { times, steps } = this.#ports;
    const rules = found.rules.filter((rule) => hasTimes(rule, found, times, steps));
    if (rules.length < found.rules.length) this.#drop('empty_rule', found);
    return { ...found, rules };
  }

  /** Returns the newest override of each time, in the order of the overridden times. */
  #overrides(found: readonly StartedEvent[], master: StartedEvent | undefined): readonly StartedEvent[] {
    const byTime = new Map<string, StartedEvent[]>();
    for (const one of found) {
      if (one.replaces === undefined) continue;
      const { at, isThisAndFuture } = one.replaces;
      const wallMs = master === undefined ? at.wallMs : this.#ports.times.within(master.start, at);
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

  #single(found: StartedEvent, day: string): void {
    this.#store(found, day, found.start, this.#ports.times.endOf(found, found.start, found.end));
    this.#details(found);
  }

  #repeated(master: StartedEvent, overrides: readonly StartedEvent[]): void {
    const { times, options: horizon, steps } = this.#ports;
    const drop = (reason: Reason) => this.#drop(reason, master);
    for (const { day, start, end, of } of repetitionsOf(master, overrides, { times, horizon, steps, drop })) {
      this.#store(of, day, start, end);
    }
    for (const one of [master, ...overrides]) this.#details(one);
  }

  #store(found: IcalValue, day: string, start: Written, end: Written | undefined): void {
    if (found.isCancelled) {
      this.#drop('cancelled', found);
      return;
    }
    const dated = this.#ports.times.dated(found, start, end);
    if (!isWithinYears(dated)) {
      this.#drop('out_of_range', found);
      return;
    }
    const event_name = this.#name(found);
    this.#ports.events.push({
      ...dated,
      event_name,
      entryHash: hash('sha256', `${found.uid}\n${day}`, 'base64url'),
      contentHash: hash('sha256', JSON.stringify([event_name, dated.start_date, dated.due_date]), 'base64url'),
    });
  }

  #name(found: IcalValue): string {
    const { name } = found;
    if (name === '') {
      this.#drop('untitled', found);
      return 'Untitled';
    }
    const short = shortened(name, MAX_NAME_LENGTH).trim();
    if (short !== name) this.#drop('shortened', found);
    return short;
  }

  /** Reports the properties that an event has no field for. */
  #details({ details, line, name }: IcalValue): void {
    for (const what of details) this.#ports.drops.add(what, 'no_field', line, name);
  }

  #drop(reason: Reason, { line, name }: IcalValue): void {
    this.#ports.drops.add('VEVENT', reason, line, name);
  }
}
