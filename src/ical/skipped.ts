/** Why something in a file was not imported, or was changed; texts for the report. */
export const reasons = {
  not_an_event: 'Only events are brought in.',
  no_field: 'An event has no field for it.',
  cut_off: 'The file ends before it does; what is whole is here.',
  no_start: 'It has no beginning.',
  out_of_range: 'It is not within the years 1 to 9999.',
  no_property: 'The line was left out: it is not a name, a colon and a value.',
  misplaced: 'The line does not fit where it stands; what stands around it was read as well as it could be.',
  said_before: 'The line was left out: an event says this once, and the first one counts.',
  bad_time: 'The line was left out: it has no date or time, or one that does not exist.',
  bad_duration: 'The line was left out: it has no duration.',
  bad_rule: 'The line was left out: it has no rule for repeating. Where it was the only one, the event is here once.',
  rule_without_times: 'The rule for repeating comes to no time; the event is here once.',
  unknown_zone: 'Its time zone is not known: its times are as they are written.',
  no_zone:
    'The account has no time zone: times with a zone kept the clock time that they are written with. Give time_zone, or the account one.',
  zone_of_file: 'The account has no time zone: times with a zone were converted to the one that the file names.',
  cancelled: 'It is cancelled.',
  replaced: 'The file has another version of it.',
  own: 'It comes from this account, and is here.',
  repeated_before: 'It repeats, and began more than a year ago; what was before then is left out.',
  repeated_after: 'It repeats without an end, or for more than two years to come; what comes then is left out.',
  repeated_too_often: 'It repeats too often; of what comes within these years the first 1,100 times are here at most.',
  untitled: 'It has no name, and is called Untitled.',
  shortened: 'Its name is longer than 255 characters, and was cut.',
} as const satisfies Record<string, string>;

export type Reason = keyof typeof reasons;

/** Items left out for one reason: what they are (`VTODO`, `LOCATION`), their number, and the first ones as examples. */
export type Skipped = {
  readonly what: string;
  readonly reason: Reason;
  readonly count: number;
  readonly examples: readonly string[];
};

const MAX_EXAMPLES = 5;
const MAX_EXAMPLE_LENGTH = 120;

/** Maximum number of report rows; real files have far fewer. */
const MAX_ROWS = 200;

/** Collects what was left out, grouped by reason and item. */
export class SkippedLines {
  readonly #rows = new Map<string, { what: string; reason: Reason; count: number; examples: string[] }>();

  add(what: string, reason: Reason, line: number, example: string): void {
    const key = `${reason} ${what}`;
    const row = this.#rows.get(key) ?? { what, reason, count: 0, examples: [] };
    if (row.count === 0 && this.#rows.size >= MAX_ROWS) return;
    this.#rows.set(key, row);
    row.count += 1;
    if (row.examples.length < MAX_EXAMPLES) {
      const text = shortened(example, MAX_EXAMPLE_LENGTH).toWellFormed().replaceAll('\0', '');
      row.examples.push(`line ${line}: ${text}`);
    }
  }

  get rows(): readonly Skipped[] {
    const order = Object.keys(reasons);
    return [...this.#rows.values()].sort(
      (one, other) => order.indexOf(one.reason) - order.indexOf(other.reason) || other.count - one.count,
    );
  }
}

/** Truncates a text without splitting a character. */
export function shortened(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : [...text.slice(0, 2 * maxLength)].slice(0, maxLength).join('');
}
