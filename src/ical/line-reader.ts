import type { SkipReport } from './skipped.ts';

/** Error of a file that is not a valid calendar. `lineNumber` is the number of the invalid line, counted from 1. */
export class CalendarError extends Error {
  readonly lineNumber: number;

  constructor(lineNumber: number, message: string) {
    super(message);
    this.name = 'CalendarError';
    this.lineNumber = lineNumber;
  }
}

/** A content line, unfolded, with the number of its first line in the file. */
export type ContentLine = { readonly lineNumber: number; readonly text: string };

/** A component of a calendar: the number of its first line, its own lines, and its nested components. */
export type IcalComponent = {
  readonly name: string;
  readonly lineNumber: number;
  readonly lines: readonly ContentLine[];
  readonly components: readonly IcalComponent[];
};

/** The components of all calendars of a file, and the lines that are in none of these components. */
type ComponentTree = {
  readonly components: readonly IcalComponent[];
  readonly calendarLines: readonly ContentLine[];
};

/** A component whose END has not been read yet. */
type OpenComponent = {
  readonly name: string;
  readonly lineNumber: number;
  readonly lines: ContentLine[];
  readonly components: IcalComponent[];
};

/**
 * Components that occur only at the top level of a file or directly in a calendar. If one of them begins inside another
 * component, the END of that other component is missing.
 */
const TOP_LEVEL_COMPONENTS: ReadonlySet<string> = new Set([
  ...['VCALENDAR', 'VEVENT', 'VTODO', 'VJOURNAL', 'VFREEBUSY', 'VTIMEZONE', 'VAVAILABILITY'],
]);

const MAX_NESTING_DEPTH = 8;

/**
 * Splits a file into components without parsing their lines. Accepts any line endings. A misplaced BEGIN or END is left
 * out and reported; complete components around it are kept.
 *
 * @throws CalendarError if the file contains no calendar
 */
export function readComponents(text: string, skipReport: SkipReport): ComponentTree {
  const builder = new ComponentTreeBuilder(skipReport);
  for (const line of unfoldLines(text)) builder.addLine(line);
  return builder.finish();
}

/** Joins folded lines: a line that begins with a space or tab continues the previous line (RFC 5545, 3.1). */
function* unfoldLines(text: string): Generator<ContentLine> {
  let lineNumber = 0;
  let foldedParts: string[] = [];
  let firstLineNumber = 1;
  for (const rawLine of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)) {
    lineNumber += 1;
    if (foldedParts.length > 0 && (rawLine.startsWith(' ') || rawLine.startsWith('\t'))) {
      foldedParts.push(rawLine.slice(1));
      continue;
    }
    if (foldedParts.length > 0) yield { lineNumber: firstLineNumber, text: foldedParts.join('') };
    foldedParts = rawLine.trim() === '' ? [] : [rawLine];
    firstLineNumber = lineNumber;
  }
  if (foldedParts.length > 0) yield { lineNumber: firstLineNumber, text: foldedParts.join('') };
}

const BEGIN_OR_END_PATTERN = /^[ \t]*(BEGIN|END)[ \t]*:[ \t]*([A-Z0-9-]{1,64})[ \t]*$/i;

class ComponentTreeBuilder {
  readonly #skipReport: SkipReport;
  readonly #openComponents: OpenComponent[] = [];
  readonly #components: IcalComponent[] = [];
  readonly #calendarLines: ContentLine[] = [];
  #firstError: CalendarError | undefined;
  #hasCalendarBegun = false;

  constructor(skipReport: SkipReport) {
    this.#skipReport = skipReport;
  }

  addLine(line: ContentLine): void {
    const [, keyword = '', rawName = ''] = BEGIN_OR_END_PATTERN.exec(line.text) ?? [];
    const name = rawName.toUpperCase();
    const isBegin = keyword.toUpperCase() === 'BEGIN';
    if (!this.#hasCalendarBegun && !(isBegin && name === 'VCALENDAR')) {
      throw new CalendarError(line.lineNumber, 'must be BEGIN:VCALENDAR');
    }
    this.#hasCalendarBegun = true;
    if (keyword === '') (this.#openComponents.at(-1)?.lines ?? this.#calendarLines).push(line);
    else if (isBegin) this.#beginComponent(name, line);
    else this.#endComponent(name, line);
  }

  finish(): ComponentTree {
    if (!this.#hasCalendarBegun) throw new CalendarError(1, 'must be BEGIN:VCALENDAR');
    const innermostComponent = this.#openComponents.at(-1);
    if (innermostComponent !== undefined)
      this.#firstError ??= new CalendarError(
        innermostComponent.lineNumber,
        `begins ${innermostComponent.name}, which does not end`,
      );
    // A component that is still open at the end of the file may lack more than its END, so it is left out.
    for (const { name, lineNumber } of this.#openComponents) this.#skipReport.add(name, 'truncated', lineNumber, '');
    this.#openComponents.length = Math.min(this.#openComponents.length, this.#depthOfCalendar());
    this.#closeComponentsDownTo(0);
    if (this.#components.length === 0 && this.#firstError !== undefined) throw this.#firstError;
    return { components: this.#components, calendarLines: this.#calendarLines };
  }

  #beginComponent(name: string, line: ContentLine): void {
    if (TOP_LEVEL_COMPONENTS.has(name)) {
      const isMisplaced =
        this.#openComponents.length > 0 && (name === 'VCALENDAR' || this.#openComponents.at(-1)?.name !== 'VCALENDAR');
      if (isMisplaced) this.#reportMisplaced(line, `begins ${name} within ${this.#openComponents.at(-1)?.name}`);
      this.#closeComponentsDownTo(name === 'VCALENDAR' ? 0 : this.#depthOfCalendar());
    }
    if (this.#openComponents.length >= MAX_NESTING_DEPTH)
      throw new CalendarError(line.lineNumber, 'is within too many others');
    this.#openComponents.push({ name, lineNumber: line.lineNumber, lines: [], components: [] });
  }

  #depthOfCalendar(): number {
    return this.#openComponents[0]?.name === 'VCALENDAR' ? 1 : 0;
  }

  #endComponent(name: string, line: ContentLine): void {
    const matchingIndex = this.#openComponents.findLastIndex((component) => component.name === name);
    if (matchingIndex === -1) {
      const innermostComponent = this.#openComponents.at(-1);
      const contextText =
        innermostComponent === undefined
          ? 'nothing has begun'
          : `${innermostComponent.name} has begun in line ${innermostComponent.lineNumber}`;
      this.#reportMisplaced(line, `ends ${name}, and ${contextText}`);
      return;
    }
    if (matchingIndex < this.#openComponents.length - 1) {
      const innermostComponent = this.#openComponents.at(-1);
      this.#reportMisplaced(
        line,
        `ends ${name}, and ${innermostComponent?.name} has begun in line ${innermostComponent?.lineNumber}`,
      );
    }
    this.#closeComponentsDownTo(matchingIndex);
  }

  /** Closes open components, innermost first, down to a depth. */
  #closeComponentsDownTo(depth: number): void {
    while (this.#openComponents.length > depth) {
      const closedComponent = this.#openComponents.pop();
      if (closedComponent === undefined) return;
      if (closedComponent.name === 'VCALENDAR')
        for (const line of closedComponent.lines) this.#calendarLines.push(line);
      else if (this.#openComponents.length === 0 || this.#openComponents.at(-1)?.name === 'VCALENDAR')
        this.#components.push(closedComponent);
      else this.#openComponents.at(-1)?.components.push(closedComponent);
    }
  }

  #reportMisplaced(line: ContentLine, message: string): void {
    this.#firstError ??= new CalendarError(line.lineNumber, message);
    this.#skipReport.add('line', 'misplaced', line.lineNumber, line.text);
  }
}
