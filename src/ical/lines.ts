/** A file that is no calendar; `line` counts from 1. */
export class CalendarFault extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.name = 'CalendarFault';
    this.line = line;
  }
}

/** One component of a calendar as it stands in the file: an event, a zone, a task. */
export type Part = { readonly name: string; readonly line: number; readonly text: string };

/** A file in its parts, and the lines of the calendars themselves. */
export type Parted = { readonly parts: readonly Part[]; readonly properties: readonly string[] };

const BORDER = /^(BEGIN|END)\s*:\s*([A-Za-z0-9-]+)\s*$/i;

type Open = { readonly name: string; readonly line: number };

/**
 * Takes a file apart without reading what stands in it, so that one part that cannot be read is one part less, and what
 * is wrong has a line. Lines may end as they like.
 */
export function partsOf(text: string): Parted {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  const open: Open[] = [];
  const parts: Part[] = [];
  const properties: string[] = [];
  for (const [index, line] of lines.entries()) {
    const number = index + 1;
    const [, border, word = ''] = BORDER.exec(line) ?? [];
    const name = word.toUpperCase();
    if (border === undefined) {
      if (open.length === 1) properties.push(mustBeProperty(line, number));
      if (open.length === 0 && line.trim() !== '') throw new CalendarFault(number, 'must be BEGIN:VCALENDAR');
    } else if (border.toUpperCase() === 'BEGIN') {
      if (open.length === 0 && name !== 'VCALENDAR') throw new CalendarFault(number, 'must be BEGIN:VCALENDAR');
      if (open.length > MOST_LEVELS) throw new CalendarFault(number, 'is within too many others');
      open.push({ name, line: number });
    } else {
      const last = open.pop();
      if (last?.name !== name) throw new CalendarFault(number, `ends ${name}, and ${standing(last)}`);
      if (open.length === 1)
        parts.push({ name, line: last.line, text: lines.slice(last.line - 1, number).join('\r\n') });
    }
  }
  const last = open.at(-1);
  if (last !== undefined) throw new CalendarFault(last.line, `begins ${last.name}, which does not end`);
  if (parts.length === 0 && !lines.some((line) => BORDER.test(line)))
    throw new CalendarFault(1, 'must be BEGIN:VCALENDAR');
  return { parts, properties };
}

const MOST_LEVELS = 8;

function standing(open: Open | undefined): string {
  return open === undefined ? 'nothing has begun' : `${open.name} has begun in line ${open.line}`;
}

function mustBeProperty(line: string, number: number): string {
  if (line.trim() !== '' && !/^\s|[:;]/.test(line))
    throw new CalendarFault(number, 'is no property: there is no colon');
  return line;
}
