import type { SkipReport } from './skipped.ts';

/** Error of a file that is not a valid calendar. `line` is the number of the invalid line, counted from 1. */
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
  const builder = new ComponentTreeBuilder(drops);
  for (const line of unfoldLines(text)) builder.addLine(line);
  return builder.finish();
}

/** Joins folded lines: a line that begins with a space or tab continues the previous line (RFC 5545, 3.1). */
function* unfoldLines(text: string): Generator<ContentLine> {
  let lineNumber = 0;
  let parts: string[] = [];
  let firstLineNumber = 1;
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)) {
    lineNumber += 1;
    if (parts.length > 0 && (line.startsWith(' ') || line.startsWith('\t'))) {
      parts.push(line.slice(1));
      continue;
    }
    if (parts.length > 0) yield { number: firstLineNumber, text: parts.join('') };
    parts = line.trim() === '' ? [] : [line];
    firstLineNumber = lineNumber;
  }
  if (parts.length > 0) yield { number: firstLineNumber, text: parts.join('') };
}

const BEGIN_OR_END = /^[ \t]*(BEGIN|END)[ \t]*:[ \t]*([A-Z0-9-]{1,64})[ \t]*$/i;

class ComponentTreeBuilder {
  readonly #drops: SkipReport;
  readonly #openComponents: OpenComponent[] = [];
  readonly #components: IcalComponent[] = [];
  readonly #lines: ContentLine[] = [];
  #firstError: CalendarError | undefined;
  #hasBegun = false;

  constructor(drops: SkipReport) {
    this.#drops = drops;
  }

  addLine(line: ContentLine): void {
    const [, keyword = '', rawName = ''] = BEGIN_OR_END.exec(line.text) ?? [];
    const name = rawName.toUpperCase();
    const isBegin = keyword.toUpperCase() === 'BEGIN';
    if (!this.#hasBegun && !(isBegin && name === 'VCALENDAR')) {
      throw new CalendarError(line.number, 'must be BEGIN:VCALENDAR');
    }
    this.#hasBegun = true;
    if (keyword === '') (this.#openComponents.at(-1)?.lines ?? this.#lines).push(line);
    else if (isBegin) this.#beginComponent(name, line);
    else this.#endComponent(name, line);
  }

  finish(): ComponentTree {
    if (!this.#hasBegun) throw new CalendarError(1, 'must be BEGIN:VCALENDAR');
    const innermostComponent = this.#openComponents.at(-1);
    if (innermostComponent !== undefined)
      this.#firstError ??= new CalendarError(
        innermostComponent.line,
        `begins ${innermostComponent.name}, which does not end`,
      );
    // A component that is still open at the end of the file may lack more than its END, so it is left out.
    for (const { name, line } of this.#openComponents) this.#drops.add(name, 'truncated', line, '');
    this.#openComponents.length = Math.min(this.#openComponents.length, this.#depthOfCalendar());
    this.#closeDownTo(0);
    if (this.#components.length === 0 && this.#firstError !== undefined) throw this.#firstError;
    return { components: this.#components, lines: this.#lines };
  }

  #beginComponent(name: string, line: ContentLine): void {
    if (TOP_LEVEL_COMPONENTS.has(name)) {
      const isMisplaced =
        this.#openComponents.length > 0 && (name === 'VCALENDAR' || this.#openComponents.at(-1)?.name !== 'VCALENDAR');
      if (isMisplaced) this.#reportMisplaced(line, `begins ${name} within ${this.#openComponents.at(-1)?.name}`);
      this.#closeDownTo(name === 'VCALENDAR' ? 0 : this.#depthOfCalendar());
    }
    if (this.#openComponents.length >= MAX_DEPTH) throw new CalendarError(line.number, 'is within too many others');
    this.#openComponents.push({ name, line: line.number, lines: [], components: [] });
  }

  #depthOfCalendar(): number {
    return this.#openComponents[0]?.name === 'VCALENDAR' ? 1 : 0;
  }

  #endComponent(name: string, line: ContentLine): void {
    const openIndex = this.#openComponents.findLastIndex((one) => one.name === name);
    if (openIndex === -1) {
      const innermostComponent = this.#openComponents.at(-1);
      const context =
        innermostComponent === undefined
          ? 'nothing has begun'
          : `${innermostComponent.name} has begun in line ${innermostComponent.line}`;
      this.#reportMisplaced(line, `ends ${name}, and ${context}`);
      return;
    }
    if (openIndex < this.#openComponents.length - 1) {
      const innermostComponent = this.#openComponents.at(-1);
      this.#reportMisplaced(
        line,
        `ends ${name}, and ${innermostComponent?.name} has begun in line ${innermostComponent?.line}`,
      );
    }
    this.#closeDownTo(openIndex);
  }

  /** Closes open components, innermost first, down to a depth. */
  #closeDownTo(depth: number): void {
    while (this.#openComponents.length > depth) {
      const closedComponent = this.#openComponents.pop();
      if (closedComponent === undefined) return;
      if (closedComponent.name === 'VCALENDAR') for (const line of closedComponent.lines) this.#lines.push(line);
      else if (this.#openComponents.length === 0 || this.#openComponents.at(-1)?.name === 'VCALENDAR')
        this.#components.push(closedComponent);
      else this.#openComponents.at(-1)?.components.push(closedComponent);
    }
  }

  #reportMisplaced(line: ContentLine, message: string): void {
    this.#firstError ??= new CalendarError(line.number, message);
    this.#drops.add('line', 'misplaced', line.number, line.text);
  }
}
