import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { newestVersion } from '../store/migrate.ts';
import { type ExportedTable, exportedTables, isExportedTable } from './exported-tables.ts';
import {
  CHECKSUM_SUFFIX_LENGTH,
  convertHeader,
  convertRow,
  currentTableName,
  type ExportHeader,
  type ExportTotals,
  FORMAT_VERSION,
  isFormat1,
  parseChecksum,
  rowPrefix,
  TableHasher,
  type TableTotals,
  type TotalsByTable,
  toFormat1Names,
} from './format.ts';
import { TransferError } from './transfer-error.ts';

const CHUNK_BYTES = 1 << 20;
const LINE_FEED = 10;

/** Maximum length of a line, far above that of any row. A file with a longer line is not an export. */
const MAX_LINE_BYTES = 64 << 20;

/** A row of a file: the number of its line, from 1, and the row as JSON. */
export type FileRow = { readonly line: number; readonly json: string };

export type ExportVisitor = {
  header?(header: ExportHeader): void;
  /** Rows of one table, in the order of the file. */
  rows(table: ExportedTable, rows: readonly FileRow[]): Promise<void> | void;
};

/** Header and totals of a complete export. */
export type ExportSummary = { readonly header: ExportHeader; readonly end: ExportTotals };

/**
 * Reads an export and checks that it is undamaged: the checksum of every line, and the counts and checksums in its last
 * line. Throws `TransferError` with the number of the wrong line.
 */
export async function readExport(path: string, visitor: ExportVisitor): Promise<ExportSummary> {
  const file = await open(path).catch((error: unknown) => {
    throw new TransferError(`${path} cannot be read: ${error instanceof Error ? error.message : error}.`);
  });
  try {
    const reader = new ExportReader(path, visitor);
    await feedChunks(file, path, reader);
    return reader.result();
  } finally {
    await file.close();
  }
}

/** Reads the row count from the last line of a file, to show the progress; 0 if the last line has no totals. */
export async function readDeclaredRowCount(path: string): Promise<number> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return 0;
  try {
    const { size } = await file.stat();
    const tail = Buffer.alloc(Math.min(size, 1 << 16));
    await file.read(tail, 0, tail.length, size - tail.length);
    return Number(/\n\{"end":\{"rows":(\d{1,15}),[^\n]*\n$/.exec(tail.toString('latin1'))?.[1] ?? 0);
  } finally {
    await file.close();
  }
}

/** Reads a file in chunks and passes its complete lines to the reader. */
async function feedChunks(file: FileHandle, path: string, reader: ExportReader): Promise<void> {
  let kept = Buffer.alloc(0);
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, null);
    if (bytesRead === 0) break;
    const read = Buffer.concat([kept, chunk.subarray(0, bytesRead)]);
    const whole = read.lastIndexOf(LINE_FEED) + 1;
    if (whole > 0) await reader.readLines(read.subarray(0, whole));
    kept = Buffer.from(read.subarray(whole));
    if (kept.length > MAX_LINE_BYTES) throw new TransferError(`${path} is not an export of Carillon.`);
  }
  if (kept.length > 0) throw new TransferError(`Line ${reader.lines + 1} is cut off: the export is incomplete.`);
}

class ExportReader {
  readonly #path: string;
  readonly #visitor: ExportVisitor;
  readonly #sha256 = createHash('sha256');
  readonly #tallies: Partial<Record<ExportedTable, TableTotals>> = {};
  #tallier = new TableHasher();
  /** Totals of the converted rows, for a file in format 1. */
  readonly #convertedTallies: Partial<Record<ExportedTable, TableTotals>> = {};
  #convertedTallier = new TableHasher();
  #isFormat1 = false;
  #header: ExportHeader | undefined;
  #end: ExportTotals | undefined;
  #crc = 0;
  #rows = 0;
  /** Index of the current table in `exportedTables`. */
  #tableIndex = 0;
  #prefix = rowPrefix('accounts');
  #pendingRows: FileRow[] = [];
  /** Number of lines read. */
  lines = 0;

  constructor(path: string, visitor: ExportVisitor) {
    this.#path = path;
    this.#visitor = visitor;
  }

  /** @param bytes complete lines of the file */
  async readLines(bytes: Buffer): Promise<void> {
    let begin = 0;
    while (begin < bytes.length) {
      const end = bytes.indexOf(LINE_FEED, begin);
      this.lines += 1;
      if (this.#end !== undefined) throw new TransferError(`Line ${this.lines} is after the end of the export.`);
      const body = this.#verifyChecksum(bytes.subarray(begin, end));
      if (this.#header === undefined) this.#header = this.#readHeader(body);
      else if (body.startsWith('{"end":')) {
        this.#sha256.update(bytes.subarray(0, begin));
        await this.#readEnd(body);
      } else {
        if (!body.startsWith(this.#prefix)) await this.#enterTable(body);
        this.#pendingRows.push({ line: this.lines, json: body.slice(this.#prefix.length) });
      }
      begin = end + 1;
    }
    if (this.#end === undefined) this.#sha256.update(bytes);
    await this.#flush();
  }

  result(): ExportSummary {
    if (this.#header === undefined) throw new TransferError(`${this.#path} is empty: it is not an export of Carillon.`);
    if (this.#end === undefined)
      throw new TransferError(`Line ${this.lines + 1}, the end of the export, is missing: the export is incomplete.`);
    return { header: this.#header, end: this.#end };
  }

  /** Verifies the checksum of a line. Returns the line without its checksum. */
  #verifyChecksum(line: Buffer): string {
    const length = line.length - CHECKSUM_SUFFIX_LENGTH;
    const expected = length < 0 ? undefined : parseChecksum(line.toString('latin1', length));
    if (expected === undefined && this.lines === 1)
      throw new TransferError(`${this.#path} is not an export of Carillon.`);
    if (expected === undefined)
      throw new TransferError(`Line ${this.lines} is not a line of an export: it has no checksum.`);
    const body = line.subarray(0, length);
    this.#crc = crc32(body, this.#crc);
    if (expected !== this.#crc) throw new TransferError(`Line ${this.lines} is damaged: its checksum does not match.`);
    return body.toString('utf8');
  }

  #readHeader(body: string): ExportHeader {
    const header = parseJson(`${body}}`);
    if (!isHeader(header)) throw new TransferError(`${this.#path} is not an export of Carillon.`);
    const known = newestVersion();
    if (header.carillon > FORMAT_VERSION || header.schema > known)
      throw new TransferError(
        `The file is from a newer Carillon (${header.version}, schema ${header.schema}); this one knows ${known}. Update Carillon.`,
      );
    this.#isFormat1 = isFormat1(header);
    if (!this.#isFormat1 && (header.carillon < FORMAT_VERSION || header.schema < known))
      throw new TransferError(
        `The file is from an older Carillon (${header.version}, schema ${header.schema}); this one only imports schema ${known}. Import it with ${header.version} and then upgrade, or export it again.`,
      );
    const named = this.#isFormat1 ? convertHeader(header) : header;
    this.#visitor.header?.(named);
    return named;
  }

  async #enterTable(body: string): Promise<void> {
    await this.#flush();
    const [prefix, name = ''] = /^\{"table":"(\w+)","row":/.exec(body) ?? [];
    const table = this.#isFormat1 ? currentTableName(name) : name;
    if (prefix === undefined) throw new TransferError(`Line ${this.lines} is neither a row nor the end of an export.`);
    if (!isExportedTable(table)) throw new TransferError(`Line ${this.lines}: there is no table ${name}.`);
    const index = exportedTables.indexOf(table);
    if (index < this.#tableIndex)
      throw new TransferError(
        `Line ${this.lines}: ${table} must come before ${exportedTables[this.#tableIndex]} in an export.`,
      );
    this.#closeTables(index);
    this.#prefix = prefix;
  }

  /** Stores the totals of the tables before `index`. */
  #closeTables(index: number): void {
    for (const table of exportedTables.slice(this.#tableIndex, index)) {
      this.#tallies[table] = this.#tallier.tally;
      this.#tallier = new TableHasher();
      this.#convertedTallies[table] = this.#convertedTallier.tally;
      this.#convertedTallier = new TableHasher();
    }
    this.#tableIndex = index;
  }

  async #flush(): Promise<void> {
    const rows = this.#pendingRows;
    const table = exportedTables[this.#tableIndex];
    if (rows.length === 0 || table === undefined) return;
    this.#pendingRows = [];
    this.#rows += rows.length;
    this.#tallier.add(rows.map(({ json }) => json));
    if (!this.#isFormat1) return this.#visitor.rows(table, rows);
    const converted = rows.map((row) => ({ ...row, json: convertRow(table, row.json) }));
    this.#convertedTallier.add(converted.map(({ json }) => json));
    await this.#visitor.rows(table, converted);
  }

  async #readEnd(body: string): Promise<void> {
    await this.#flush();
    this.#closeTables(exportedTables.length);
    const expected: ExportTotals = { rows: this.#rows, tables: this.#tallies, sha256: this.#sha256.digest('hex') };
    const end = parseJson(`${body}}`);
    const written = this.#isFormat1 ? { ...expected, tables: toFormat1Names(expected.tables) } : expected;
    if (JSON.stringify(end) !== JSON.stringify({ end: written }))
      throw new TransferError(...this.#findEndFaults(end, expected.tables));
    this.#end = this.#isFormat1 ? { ...expected, tables: this.#convertedTallies } : expected;
  }

  /** Describes how the last line differs from the lines before it. */
  #findEndFaults(end: unknown, found: TotalsByTable): string[] {
    const { rows, tables: tallies } = parseTotals(end);
    const faults = exportedTables.flatMap((table) => {
      const [actual, atEnd] = [found[table]?.rows, tallies[table]?.rows];
      if (actual === atEnd) return [];
      return [`Line ${this.lines}: ${table} has ${actual} rows in the file, and ${atEnd} by its end.`];
    });
    if (faults.length > 0) return faults;
    return [`Line ${this.lines}, the end of the export (${rows} rows), is not that of the lines before it.`];
  }
}

function parseTotals(line: unknown): { rows: unknown; tables: TotalsByTable } {
  if (!isObject(line) || !isObject(line.end)) return { rows: 'no', tables: {} };
  const { rows, tables: tallies } = line.end;
  return { rows, tables: isObject(tallies) ? (tallies as TotalsByTable) : {} };
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isHeader(value: unknown): value is ExportHeader {
  if (!isObject(value) || !isObject(value.issued)) return false;
  const { carillon, schema, version, domain, issued } = value;
  return (
    Number.isSafeInteger(carillon) &&
    Number.isSafeInteger(schema) &&
    typeof version === 'string' &&
    (domain === null || typeof domain === 'string') &&
    Object.values(issued).every(Number.isSafeInteger)
  );
}
