import { timeIn, type Written } from './values.ts';

const FREQUENCIES = ['SECONDLY', 'MINUTELY', 'HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const;
export type Frequency = (typeof FREQUENCIES)[number];

const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

/** A weekday of a rule; `nth` of its month or year, counted from the end if negative, 0 for every one. */
export type RuleDay = { readonly weekday: number; readonly nth: number };

type Numbers = ReadonlySet<number> | undefined;

/** A recurrence rule (RFC 5545, 3.3.10). */
export type Rule = {
  readonly frequency: Frequency;
  readonly interval: number;
  readonly count: number | undefined;
  readonly until: Written | undefined;
  /** The first day of a week, 0 for Sunday. */
  readonly weekStart: number;
  readonly seconds: Numbers;
  readonly minutes: Numbers;
  readonly hours: Numbers;
  readonly days: readonly RuleDay[] | undefined;
  readonly monthDays: Numbers;
  readonly yearDays: Numbers;
  readonly weeks: Numbers;
  readonly months: Numbers;
  readonly positions: Numbers;
};

const MAX_INTERVAL = 1_000_000_000;

/** Parses a rule; undefined if it is invalid. */
export function ruleIn(text: string): Rule | undefined {
  const parts = new Map<string, string>();
  for (const part of text.trim().toUpperCase().split(';')) {
    if (part.trim() === '') continue;
    const [name = '', value, ...rest] = part.split('=');
    if (value === undefined || rest.length > 0) return undefined;
    parts.set(name.trim(), value.trim());
  }
  const parser = new RuleParser(parts);
  const rule = parser.rule();
  return parser.isValid ? rule : undefined;
}

class RuleParser {
  readonly #parts: ReadonlyMap<string, string>;
  isValid = true;

  constructor(parts: ReadonlyMap<string, string>) {
    this.#parts = parts;
  }

  rule(): Rule {
    this.#check((this.#parts.get('RSCALE') ?? 'GREGORIAN') === 'GREGORIAN');
    return {
      frequency: this.#frequency(),
      interval: this.#count('INTERVAL') ?? 1,
      count: this.#count('COUNT'),
      until: this.#until(),
      weekStart: this.#weekStart(),
      // A leap second becomes second 59.
      seconds: this.#numbers('BYSECOND', 0, 60, 59),
      minutes: this.#numbers('BYMINUTE', 0, 59),
      hours: this.#numbers('BYHOUR', 0, 23),
      days: this.#days(),
      monthDays: this.#numbers('BYMONTHDAY', -31, 31),
      yearDays: this.#numbers('BYYEARDAY', -366, 366),
      weeks: this.#numbers('BYWEEKNO', -53, 53),
      months: this.#numbers('BYMONTH', 1, 12),
      positions: this.#numbers('BYSETPOS', -366, 366),
    };
  }

  #check(condition: boolean): void {
    this.isValid &&= condition;
  }

  #frequency(): Frequency {
    const frequency = FREQUENCIES.find((one) => one === this.#parts.get('FREQ'));
    this.#check(frequency !== undefined);
    return frequency ?? 'DAILY';
  }

  #count(name: string): number | undefined {
    const text = this.#parts.get(name);
    if (text === undefined) return undefined;
    const count = Number(text);
    this.#check(/^\d+$/.test(text) && count >= 1);
    return Math.min(count, MAX_INTERVAL);
  }

  #until(): Written | undefined {
    const text = this.#parts.get('UNTIL');
    if (text === undefined) return undefined;
    const until = timeIn(text, { line: 0 });
    this.#check(until !== undefined);
    return until;
  }

  #weekStart(): number {
    const weekday = WEEKDAYS.indexOf(this.#parts.get('WKST') ?? 'MO');
    this.#check(weekday !== -1);
    return weekday;
  }

  /** A list of integers; 0 is invalid where negative numbers, which count from the end, are valid. `cap` limits the values. */
  #numbers(name: string, min: number, max: number, cap = max): Numbers {
    const text = this.#parts.get(name);
    if (text === undefined) return undefined;
    const numbers = new Set<number>();
    for (const one of text.split(',')) {
      const number = /^\s*[+-]?\d{1,3}\s*$/.test(one) ? Number(one) : Number.NaN;
      this.#check(number >= min && number <= max && !(min < 0 && number === 0));
      numbers.add(Math.min(number, cap));
    }
    return numbers;
  }

  #days(): readonly RuleDay[] | undefined {
    const text = this.#parts.get('BYDAY');
    if (text === undefined) return undefined;
    const days = new Map<string, RuleDay>();
    for (const one of text.split(',')) {
      const [, nth = '0', name = ''] = /^\s*([+-]?\d{1,2})?([A-Z]{2})\s*$/.exec(one) ?? [];
      const day = { weekday: WEEKDAYS.indexOf(name), nth: Number(nth) };
      this.#check(day.weekday !== -1 && Math.abs(day.nth) <= 53);
      days.set(`${day.nth} ${day.weekday}`, day);
    }
    return [...days.values()];
  }
}
