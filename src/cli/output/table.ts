import { toPrintable } from '../../control-characters.ts';

/** A record from a response. */
export type ResponseRecord = Readonly<Record<string, unknown>>;

/** The columns of a table, with their widths in terminal columns. */
export type TableLayout = readonly { readonly field: string; readonly width: number }[];

const COLUMN_GAP = '  ';

/** Minimum width of the column with the name of the record. */
const MIN_NAME_WIDTH = 16;
/** Maximum width of a cell on a terminal. */
const MAX_CELL_WIDTH = 48;

/**
 * Formats a value as one short line. A timestamp is shown without seconds, and at midnight as a date without a time.
 * The zero date becomes an empty text.
 */
export function formatCell(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatCell).join(', ');
  if (typeof value === 'object' && value !== null) return formatCell(findRecordName(value) ?? JSON.stringify(value));
  const text = value === null || value === undefined ? '' : String(value);
  const [, day, time] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}):\d{2}$/.exec(text) ?? [];
  if (day === '0000-00-00') return '';
  if (day !== undefined) return time === '00:00' ? day : `${day} ${time}`;
  return toPrintable(text);
}

function findRecordName(record: object): unknown {
  return Object.entries(record).find(([field]) => field.endsWith('_name'))?.[1];
}

/**
 * Selects the columns of a table: id and name first, then the other non-empty columns that fit into `lineWidth`. If
 * `lineWidth` is undefined, all columns fit. If `requestedFields` is given, exactly these fields become columns.
 */
export function createLayout(
  records: readonly ResponseRecord[],
  {
    lineWidth,
    requestedFields,
  }: { readonly lineWidth: number | undefined; readonly requestedFields?: readonly string[] | undefined },
): TableLayout {
  const fields = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const measuredColumns = (
    requestedFields ?? moveIdAndNameFirst(fields.filter((field) => hasNonEmptyValue(records, field)))
  ).map((field) => ({
    field,
    width: Math.max(measureTextWidth(field), ...records.map((record) => measureTextWidth(formatCell(record[field])))),
  }));
  if (lineWidth === undefined) return measuredColumns;
  const cappedColumns = measuredColumns.map((column) => ({ ...column, width: Math.min(column.width, MAX_CELL_WIDTH) }));
  return requestedFields === undefined ? selectFittingColumns(cappedColumns, lineWidth) : cappedColumns;
}

/** Whether any record has a value other than empty or 0 in the field. */
function hasNonEmptyValue(records: readonly ResponseRecord[], field: string): boolean {
  return records.some((record) => !['', '0'].includes(formatCell(record[field])));
}

function moveIdAndNameFirst(fields: readonly string[]): string[] {
  const [idField, ...otherFields] = fields;
  const nameField = otherFields.find((field) => field.endsWith('_name'));
  const remainingFields = otherFields.filter((field) => field !== nameField);
  return [idField, nameField, ...remainingFields].filter((field) => field !== undefined);
}

function selectFittingColumns(columns: TableLayout, lineWidth: number): TableLayout {
  const selectedColumns: { field: string; width: number }[] = [];
  let remainingWidth = lineWidth;
  for (const [index, column] of columns.entries()) {
    const availableWidth = remainingWidth - (index === 0 ? 0 : COLUMN_GAP.length);
    const isNameColumn = index === 1 && column.field.endsWith('_name');
    const neededWidth = isNameColumn
      ? Math.min(column.width, Math.max(MIN_NAME_WIDTH, Math.floor(lineWidth / 2)))
      : column.width;
    if (neededWidth > availableWidth) {
      if (index > 1) continue;
      if (availableWidth < 1) break;
    }
    const columnWidth = Math.min(neededWidth, availableWidth);
    selectedColumns.push({ field: column.field, width: columnWidth });
    remainingWidth = availableWidth - columnWidth;
  }
  return selectedColumns;
}

/** Formats the header line of a table. */
export function formatHeader(layout: TableLayout): string {
  return formatLine(layout, (field) => field.toUpperCase());
}

export function formatRecordLine(layout: TableLayout, record: ResponseRecord): string {
  return formatLine(layout, (field) => formatCell(record[field]));
}

function formatLine(layout: TableLayout, cellTextOf: (field: string) => string): string {
  return layout
    .map(({ field, width }) => fitToWidth(cellTextOf(field), width))
    .join(COLUMN_GAP)
    .trimEnd();
}

/** Formats one record as lines, one for each field that is not empty. */
export function formatFields(record: ResponseRecord): string[] {
  const nonEmptyFields = Object.entries(record).filter(([field]) => formatCell(record[field]) !== '');
  const fieldNameWidth = Math.max(0, ...nonEmptyFields.map(([field]) => field.length));
  return nonEmptyFields.flatMap(([field, value]) =>
    isRecordList(value)
      ? [`${field}:`, ...formatTable(value).map((line) => `  ${line}`)]
      : [`${field.padEnd(fieldNameWidth)}${COLUMN_GAP}${formatCell(value)}`],
  );
}

/**
 * Whether a value is a list of records without names, such as the attempts of a delivery. Such a list is printed as a
 * table.
 */
function isRecordList(value: unknown): value is readonly ResponseRecord[] {
  return (
    Array.isArray(value) &&
    value.some((element) => typeof element === 'object' && element !== null && findRecordName(element) === undefined)
  );
}

function formatTable(records: readonly ResponseRecord[]): string[] {
  const layout = createLayout(records, { lineWidth: undefined });
  return [formatHeader(layout), ...records.map((record) => formatRecordLine(layout, record))];
}

const graphemeSegmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Matches graphemes that are two terminal columns wide: East Asian wide and full-width characters, and emoji. */
const WIDE_GRAPHEME =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{20000}-\u{3fffd}]|.+\ufe0f)/u;

const ZERO_WIDTH_GRAPHEME = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Returns the width of a printable text in terminal columns. */
export function measureTextWidth(text: string): number {
  // Fast path: most texts are ASCII, and a table may contain thousands of them.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return [...graphemeSegmenter.segment(text)].reduce(
    (totalWidth, { segment }) => totalWidth + measureGraphemeWidth(segment),
    0,
  );
}

function measureGraphemeWidth(grapheme: string): number {
  if (ZERO_WIDTH_GRAPHEME.test(grapheme)) return 0;
  return WIDE_GRAPHEME.test(grapheme) ? 2 : 1;
}

/** Fits a text to a number of terminal columns: pads it with spaces, or cuts it with `…`. */
export function fitToWidth(text: string, targetWidth: number): string {
  const fullWidth = measureTextWidth(text);
  if (fullWidth <= targetWidth) return text + ' '.repeat(targetWidth - fullWidth);
  let cutText = '';
  let usedWidth = 0;
  for (const { segment } of graphemeSegmenter.segment(text)) {
    if (usedWidth + measureGraphemeWidth(segment) > targetWidth - 1) break;
    cutText += segment;
    usedWidth += measureGraphemeWidth(segment);
  }
  return `${cutText}…${' '.repeat(Math.max(0, targetWidth - 1 - usedWidth))}`;
}
