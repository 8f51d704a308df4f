import { type IcalTime, parseTime } from './values.ts';

const FREQUENCIES = ['SECONDLY', 'MINUTELY', 'HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const;
type Frequency = (typeof FREQUENCIES)[number];

const WEEKDAY_CODES = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

/**
 * A weekday in BYDAY. `nth` counts this weekday within its month or year, from the end if negative; 0 means every such
 * weekday.
 */
export type RuleWeekday = { readonly weekday: number; readonly nth: number };

/** The numbers of a BY… part of a rule, such as BYHOUR; undefined if the rule does not have the part. */
type OptionalNumberSet = ReadonlySet<number> | undefined;

/** A recurrence rule: the value of RRULE (RFC 5545, 3.3.10). */
export type RecurrenceRule = {
  readonly frequency: Frequency;
  readonly interval: number;
  readonly count: number | undefined;
  readonly until: IcalTime | undefined;
  /** The first day of a week, 0 for Sunday. */
  readonly weekStart: number;
  readonly seconds: OptionalNumberSet;
  readonly minutes: OptionalNumberSet;
  readonly hours: OptionalNumberSet;
  readonly weekdays: readonly RuleWeekday[] | undefined;
  readonly monthDays: OptionalNumberSet;
  readonly yearDays: OptionalNumberSet;
  readonly weekNumbers: OptionalNumberSet;
  readonly months: OptionalNumberSet;
  readonly setPositions: OptionalNumberSet;
};

/** Maximum of INTERVAL and COUNT. Larger values are reduced to it. */
const MAX_COUNT_OR_INTERVAL = 1_000_000_000;

/** Parses a rule; undefined if it is invalid. */
export function parseRule(text: string): RecurrenceRule | undefined {
  const parts = new Map<string, string>();
  for (const part of text.trim().toUpperCase().split(';')) {
    if (part.trim() === '') continue;
    const [partName = '', value, ...extraParts] = part.split('=');
    if (value === undefined || extraParts.length > 0) return undefined;
    parts.set(partName.trim(), value.trim());
  }
  const parser = new RuleParser(parts);
  const rule = parser.parse();
  return parser.isValid ? rule : undefined;
}

class RuleParser {
  readonly #parts: ReadonlyMap<string, string>;
  isValid = true;

  constructor(parts: ReadonlyMap<string, string>) {
    this.#parts = parts;
  }

  parse(): RecurrenceRule {
    this.#invalidateUnless((this.#parts.get('RSCALE') ?? 'GREGORIAN') === 'GREGORIAN');
    return {
      frequency: this.#parseFrequency(),
      interval: this.#parseCount('INTERVAL') ?? 1,
      count: this.#parseCount('COUNT'),
      until: this.#parseUntil(),
      weekStart: this.#parseWeekStart(),
      // Second 60, a leap second, becomes second 59.
      seconds: this.#parseNumbers('BYSECOND', 0, 60, 59),
      minutes: this.#parseNumbers('BYMINUTE', 0, 59),
      hours: this.#parseNumbers('BYHOUR', 0, 23),
      weekdays: this.#parseWeekdays(),
      monthDays: this.#parseNumbers('BYMONTHDAY', -31, 31),
      yearDays: this.#parseNumbers('BYYEARDAY', -366, 366),
      weekNumbers: this.#parseNumbers('BYWEEKNO', -53, 53),
      months: this.#parseNumbers('BYMONTH', 1, 12),
      setPositions: this.#parseNumbers('BYSETPOS', -366, 366),
    };
  }

  #invalidateUnless(condition: boolean): void {
    this.isValid &&= condition;
  }

  #parseFrequency(): Frequency {
    const frequency = FREQUENCIES.find((one) => one === this.#parts.get('FREQ'));
    this.#invalidateUnless(frequency !== undefined);
    return frequency ?? 'DAILY';
  }

  #parseCount(partName: string): number | undefined {
    const text = this.#parts.get(partName);
    if (text === undefined) return undefined;
    const count = Number(text);
    this.#invalidateUnless(/^\d+$/.test(text) && count >= 1);
    return Math.min(count, MAX_COUNT_OR_INTERVAL);
  }

  #parseUntil(): IcalTime | undefined {
    const text = this.#parts.get('UNTIL');
    if (text === undefined) return undefined;
    const until = parseTime(text, { lineNumber: 0 });
    this.#invalidateUnless(until !== undefined);
    return until;
  }

  #parseWeekStart(): number {
    const weekday = WEEKDAY_CODES.indexOf(this.#parts.get('WKST') ?? 'MO');
    this.#invalidateUnless(weekday !== -1);
    return weekday;
  }

  /**
   * Parses a list of integers from `min` to `max`. A list that may contain negative numbers, which count from the end,
   * must not contain 0. Values above `cap` become `cap`.
   */
  #parseNumbers(partName: string, min: number, max: number, cap = max): OptionalNumberSet {
    const text = this.#parts.get(partName);
    if (text === undefined) return undefined;
    const numbers = new Set<number>();
    for (const numberText of text.split(',')) {
      const parsedNumber = /^\s*[+-]?\d{1,3}\s*$/.test(numberText) ? Number(numberText) : Number.NaN;
      this.#invalidateUnless(parsedNumber >= min && parsedNumber <= max && !(min < 0 && parsedNumber === 0));
      numbers.add(Math.min(parsedNumber, cap));
    }
    return numbers;
  }

  #parseWeekdays(): readonly RuleWeekday[] | undefined {
    const text = this.#parts.get('BYDAY');
    if (text === undefined) return undefined;
    const weekdays = new Map<string, RuleWeekday>();
    for (const weekdayText of text.split(',')) {
      const [, nth = '0', weekdayCode = ''] = /^\s*([+-]?\d{1,2})?([A-Z]{2})\s*$/.exec(weekdayText) ?? [];
      const ruleWeekday = { weekday: WEEKDAY_CODES.indexOf(weekdayCode), nth: Number(nth) };
      this.#invalidateUnless(ruleWeekday.weekday !== -1 && Math.abs(ruleWeekday.nth) <= 53);
      weekdays.set(`${ruleWeekday.nth} ${ruleWeekday.weekday}`, ruleWeekday);
    }
    return [...weekdays.values()];
  }
}
