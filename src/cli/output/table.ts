import { printable } from '../../control-characters.ts';

/** A record from a response. */
export type Answered = Readonly<Record<string, unknown>>;

/** The columns of a table, with their widths in terminal columns. */
export type Layout = readonly { readonly field: string; readonly width: number }[];

const GAP = '  ';

/** Minimum width of the column with the name of the record. */
const MIN_NAME_WIDTH = 16;
/** Maximum width of a cell on a terminal. */
const MAX_CELL_WIDTH = 48;

/**
 * Formats a value as one short line. A date at midnight has no time, a time has no seconds, and the zero date is empty.
 */
export function cell(value: unknown): string {
  if (Array.isArray(value)) return value.map(cell).join(', ');
  if (typeof value === 'object' && value !== null) return cell(nameIn(value) ?? JSON.stringify(value));
  const text = value === null || value === undefined ? '' : String(value);
  const [, day, time] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}):\d{2}$/.exec(text) ?? [];
  if (day === '0000-00-00') return '';
  if (day !== undefined) return time === '00:00' ? day : `${day} ${time}`;
  return printable(text);
}

function nameIn(record: object): unknown {
  return Object.entries(record).find(([field]) => field.endsWith('_name'))?.[1];
}

/**
 * Selects the columns of a table: id and name first, then the other non-empty columns that fit into `width`. If `width`
 * is undefined, all columns fit. `wanted` selects columns by name instead.
 */
export function layoutOf(
  records: readonly Answered[],
  { width, wanted }: { readonly width: number | undefined; readonly wanted?: readonly string[] | undefined },
): Layout {
  const fields = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const measured = (wanted ?? idAndNameFirst(fields.filter((field) => hasValues(records, field)))).map((field) => ({
    field,
    width: Math.max(columnsOf(field), ...records.map((record) => columnsOf(cell(record[field])))),
  }));
  if (width === undefined) return measured;
  const cut = measured.map((column) => ({ ...column, width: Math.min(column.width, MAX_CELL_WIDTH) }));
  return wanted === undefined ? fitting(cut, width) : cut;
}

/** Whether any record has a value other than empty or 0 in the field. */
function hasValues(records: readonly Answered[], field: string): boolean {
  return records.some((record) => !['', '0'].includes(cell(record[field])));
}

function idAndNameFirst(fields: readonly string[]): string[] {
  const [id, ...others] = fields;
  const name = others.find((field) => field.endsWith('_name'));
  const rest = others.filter((field) => field !== name);
  return [id, name, ...rest].filter((field) => field !== undefined);
}

function fitting(columns: Layout, width: number): Layout {
  const taken: { field: string; width: number }[] = [];
  let left = width;
  for (const [index, column] of columns.entries()) {
    const room = left - (index === 0 ? 0 : GAP.length);
    const isName = index === 1 && column.field.endsWith('_name');
    const needed = isName ? Math.min(column.width, Math.max(MIN_NAME_WIDTH, Math.floor(width / 2))) : column.width;
    if (needed > room) {
      if (index > 1) continue;
      if (room < 1) break;
    }
    const own = Math.min(needed, room);
    taken.push({ field: column.field, width: own });
    left = room - own;
  }
  return taken;
}

/** Formats the header line of a table. */
export function headOf(layout: Layout): string {
  return lineOf(layout, (field) => field.toUpperCase());
}

export function rowOf(layout: Layout, record: Answered): string {
  return lineOf(layout, (field) => cell(record[field]));
}

function lineOf(layout: Layout, textOf: (field: string) => string): string {
  return layout
    .map(({ field, width }) => fitToColumns(textOf(field), width))
    .join(GAP)
    .trimEnd();
}

/** Formats one record as lines, one for each field that is not empty. */
export function fieldLines(record: Answered): string[] {
  const filled = Object.entries(record).filter(([field]) => cell(record[field]) !== '');
  const width = Math.max(0, ...filled.map(([field]) => field.length));
  return filled.flatMap(([field, value]) =>
    isTable(value)
      ? [`${field}:`, ...tableLines(value).map((line) => `  ${line}`)]
      : [`${field.padEnd(width)}${GAP}${cell(value)}`],
  );
}

/**
 * Whether a value is a list of records without names, such as the attempts of a delivery. Such a list is printed as a
 * table.
 */
function isTable(value: unknown): value is readonly Answered[] {
  return (
    Array.isArray(value) && value.some((one) => typeof one === 'object' && one !== null && nameIn(one) === undefined)
  );
}

function tableLines(records: readonly Answered[]): string[] {
  const layout = layoutOf(records, { width: undefined });
  return [headOf(layout), ...records.map((record) => rowOf(layout, record))];
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Matches graphemes that are two terminal columns wide: East Asian wide and full-width characters, and emoji. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{20000}-\u{3fffd}]|.+\ufe0f)/u;

const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Returns the width of a printable text in terminal columns. */
export function columnsOf(text: string): number {
  // Fast path: most texts are ASCII, and a table may contain thousands of them.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return [...graphemes.segment(text)].reduce((columns, { segment }) => columns + columnsOfGrapheme(segment), 0);
}

function columnsOfGrapheme(grapheme: string): number {
  if (ZERO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** Fits a text to a number of terminal columns: pads it with spaces, or cuts it with `…`. */
export function fitToColumns(text: string, columns: number): string {
  const taken = columnsOf(text);
  if (taken <= columns) return text + ' '.repeat(columns - taken);
  let cut = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (used + columnsOfGrapheme(segment) > columns - 1) break;
    cut += segment;
    used += columnsOfGrapheme(segment);
  }
  return `${cut}…${' '.repeat(Math.max(0, columns - 1 - used))}`;
}
