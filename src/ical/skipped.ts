/** Reasons why an item of the file was left out or changed, as sentences for the report. */
export const skipReasons = {
  not_an_event: 'Only events are imported.',
  no_field: 'Events have no field for it.',
  truncated: 'The file ends in the middle of it. Complete items were imported.',
  no_start: 'It has no start.',
  out_of_range: 'It is outside the years 1 to 9999.',
  malformed_line: 'The line was ignored: it is not a name, a colon and a value.',
  misplaced: 'The line is not allowed here and was ignored.',
  repeated_property: 'The line was ignored: an event may have this property once, and the first one counts.',
  bad_time: 'The line was ignored: it has no valid date or time.',
  bad_duration: 'The line was ignored: it has no valid duration.',
  bad_rule: 'The line was ignored: it has no valid recurrence rule. An event without another rule was imported once.',
  empty_rule: 'The recurrence rule has no occurrences. The event was imported once.',
  unknown_zone: 'Its time zone is unknown: the times were kept as written.',
  no_zone:
    'The account has no time zone: times with a zone were kept as written. Set time_zone in the request or for the account.',
  zone_of_file: 'The account has no time zone: times with a zone were converted to the zone that the file names.',
  cancelled: 'It is cancelled.',
  replaced: 'The file contains a newer version of it.',
  own: 'It was exported from this account and still exists.',
  repeated_before: 'It recurs and began more than a year ago: earlier occurrences were left out.',
  repeated_after: 'It recurs without an end, or for more than two years: later occurrences were left out.',
  repeated_too_often: 'It recurs too often: at most the first 1,100 occurrences of these years were imported.',
  untitled: 'It has no title and was named Untitled.',
  shortened: 'Its title is longer than 255 characters and was shortened.',
} as const satisfies Record<string, string>;

export type SkipReason = keyof typeof skipReasons;

/**
 * Items that were left out for one reason: their type (`VTODO`, `LOCATION`), their number, and the first ones as
 * examples.
 */
export type SkippedItems = {
  /** Type of the items: the name of a component or property, or `line` for a line that is neither. */
  readonly what: string;
  readonly reason: SkipReason;
  readonly count: number;
  readonly examples: readonly string[];
};

const MAX_EXAMPLES = 5;
const MAX_EXAMPLE_LENGTH = 120;

/** Maximum number of rows in the report. Real files need far fewer. */
const MAX_REPORT_ROWS = 200;

/** Collects the items that were left out, grouped by reason and type. */
export class SkipReport {
  readonly #rows = new Map<string, { what: string; reason: SkipReason; count: number; examples: string[] }>();

  add(itemType: string, reason: SkipReason, lineNumber: number, example: string): void {
    const rowKey = `${reason} ${itemType}`;
    const row = this.#rows.get(rowKey) ?? { what: itemType, reason, count: 0, examples: [] };
    if (row.count === 0 && this.#rows.size >= MAX_REPORT_ROWS) return;
    this.#rows.set(rowKey, row);
    row.count += 1;
    if (row.examples.length < MAX_EXAMPLES) {
      const text = truncateText(example, MAX_EXAMPLE_LENGTH).toWellFormed().replaceAll('\0', '');
      row.examples.push(`line ${lineNumber}: ${text}`);
    }
  }

  get rows(): readonly SkippedItems[] {
    const reasonOrder = Object.keys(skipReasons);
    return [...this.#rows.values()].sort(
      (one, other) => reasonOrder.indexOf(one.reason) - reasonOrder.indexOf(other.reason) || other.count - one.count,
    );
  }
}

/** Truncates a text to a maximum number of characters without splitting a character. */
export function truncateText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : [...text.slice(0, 2 * maxLength)].slice(0, maxLength).join('');
}
