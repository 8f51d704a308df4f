import type { SkipReport } from './skipped.ts';

/** Error of a file that is not a valid calendar. `line` is the number of the wrong line, counted from 1. */
export class CalendarError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.name = 'CalendarError';
    this.line = line;
  }
}

/** A content line, unfolded, with the number of its first line in the file. */
export type ContentLine = { readonly number: number; readonly text: string };

/** A component of a calendar with its own lines and nested components. */
export type IcalComponent = {
  readonly name: string;
  readonly line: number;
  readonly lines: readonly ContentLine[];
  readonly components: readonly IcalComponent[];
};

/** The components of all calendars of a file, and the lines outside of components. */
export type ComponentTree = { readonly components: readonly IcalComponent[]; readonly lines: readonly ContentLine[] };

/** A component whose END has not been read yet. */
type OpenComponent = {
  readonly name: string;
  readonly line: number;
  readonly lines: ContentLine[];
  readonly components: IcalComponent[];
};

/**
 * Components that can only be nested directly in a calendar. If one of them begins inside another component, the END of
 * that other component is missing.
 */
const TOP_LEVEL_COMPONENTS: ReadonlySet<string> = new Set([
  ...['VCALENDAR', 'VEVENT', 'VTODO', 'VJOURNAL', 'VFREEBUSY', 'VTIMEZONE', 'VAVAILABILITY'],
]);

const MAX_DEPTH = 8;

/**
 * Splits a file into components without parsing their lines. Accepts any line endings. A misplaced BEGIN or END is left
 * out and reported; complete components around it are kept.
 *
 * @throws CalendarError if the file contains no calendar
 */
export function readComponents(text: string, drops: SkipReport): ComponentTree {
  const outline = new ComponentTreeBuilder(drops);
  for (const line of unfoldLines(text)) outline.add(line);
  return outline.end();
}

/** Joins folded lines: a line that begins with a space or tab continues the one before it (RFC 5545, 3.1). */
function* unfoldLines(text: string): Generator<ContentLine> {
  let number = 0;
  let parts: string[] = [];
  let first = 1;
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)) {
    number += 1;
    if (parts.length > 0 && (line.startsWith(' ') || line.startsWith('\t'))) {
      parts.push(line.slice(1));
      continue;
    }
    if (parts.length > 0) yield { number: first, text: parts.join('') };
    parts = line.trim() === '' ? [] : [line];
    first = number;
  }
  if (parts.length > 0) yield { number: first, text: parts.join('') };
}

const BEGIN_OR_END = /^[ \t]*(BEGIN|END)[ \t]*:[ \t]*([A-Z0-9-]{1,64})[ \t]*$/i;

class ComponentTreeBuilder {
  readonly #drops: SkipReport;
  readonly #open: OpenComponent[] = [];
  readonly #components: IcalComponent[] = [];
  readonly #lines: ContentLine[] = [];
  #firstError: CalendarError | undefined;
  #hasBegun = false;

  constructor(drops: SkipReport) {
    this.#drops = drops;
  }

  add(line: ContentLine): void {
    const [, border = '', word = ''] = BEGIN_OR_END.exec(line.text) ?? [];
    const name = word.toUpperCase();
    const begins = border.toUpperCase() === 'BEGIN';
    if (!this.#hasBegun && !(begins && name === 'VCALENDAR')) {
      throw new CalendarError(line.number, 'must be BEGIN:VCALENDAR');
    }
    this.#hasBegun = true;
    if (border === '') (this.#open.at(-1)?.lines ?? this.#lines).push(line);
    else if (begins) this.#begin(name, line);
    else this.#close(name, line);
  }

  end(): ComponentTree {
    if (!this.#hasBegun) throw new CalendarError(1, 'must be BEGIN:VCALENDAR');
    const last = this.#open.at(-1);
    if (last !== undefined)
      this.#firstError ??= new CalendarError(last.line, `begins ${last.name}, which does not end`);
    // A component that is still open at the end of the file may lack more than its END, so it is left out.
    for (const { name, line } of this.#open) this.#drops.add(name, 'truncated', line, '');
    this.#open.length = Math.min(this.#open.length, this.#depthOfCalendar());
    this.#closeDownTo(0);
    if (this.#components.length === 0 && this.#firstError !== undefined) throw this.#firstError;
    return { components: this.#components, lines: this.#lines };
  }

  #begin(name: string, line: ContentLine): void {
    if (TOP_LEVEL_COMPONENTS.has(name)) {
      const isNested = this.#open.length > 0 && (name === 'VCALENDAR' || this.#open.at(-1)?.name !== 'VCALENDAR');
      if (isNested) this.#reportMisplaced(line, `begins ${name} within ${this.#open.at(-1)?.name}`);
      this.#closeDownTo(name === 'VCALENDAR' ? 0 : this.#depthOfCalendar());
    }
    if (this.#open.length >= MAX_DEPTH) throw new CalendarError(line.number, 'is within too many others');
    this.#open.push({ name, line: line.number, lines: [], components: [] });
  }

  #depthOfCalendar(): number {
    return this.#open[0]?.name === 'VCALENDAR' ? 1 : 0;
  }

  #close(name: string, line: ContentLine): void {
    const level = this.#open.findLastIndex((one) => one.name === name);
    if (level === -1) {
      const last = this.#open.at(-1);
      const context = last === undefined ? 'nothing has begun' : `${last.name} has begun in line ${last.line}`;
      this.#reportMisplaced(line, `ends ${name}, and ${context}`);
      return;
    }
    if (level < this.#open.length - 1) {
      const last = this.#open.at(-1);
      this.#reportMisplaced(line, `ends ${name}, and ${last?.name} has begun in line ${last?.line}`);
    }
    this.#closeDownTo(level);
  }

  /** Closes open components, innermost first, down to a depth. */
  #closeDownTo(depth: number): void {
    while (this.#open.length > depth) {
      const closed = this.#open.pop();
      if (closed === undefined) return;
      if (closed.name === 'VCALENDAR') for (const line of closed.lines) this.#lines.push(line);
      else if (this.#open.length === 0 || this.#open.at(-1)?.name === 'VCALENDAR') this.#components.push(closed);
      else this.#open.at(-1)?.components.push(closed);
    }
  }

  #reportMisplaced(line: ContentLine, message: string): void {
    this.#firstError ??= new CalendarError(line.number, message);
    this.#drops.add('line', 'misplaced', line.number, line.text);
  }
}
