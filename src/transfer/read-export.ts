import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { getNewestSchemaVersion } from '../store/migrate.ts';
import { type ExportedTable, exportedTables, isExportedTable } from './exported-tables.ts';
import {
  buildRowPrefix,
  CHECKSUM_SUFFIX_LENGTH,
  convertFormat1Header,
  convertFormat1Row,
  convertTotalsToFormat1,
  type ExportHeader,
  type ExportTotals,
  FORMAT_VERSION,
  isFormat1,
  parseChecksum,
  TableHasher,
  type TableTotals,
  type TotalsByTable,
  toCurrentTableName,
} from './format.ts';
import { TransferError } from './operator-report.ts';

const CHUNK_BYTES = 1 << 20;
const LINE_FEED = 10;

/** Maximum length of a line, far above that of any row. A file with a longer line is not an export. */
const MAX_LINE_BYTES = 64 << 20;

/** A row of a file: the number of its line (the first line is 1), and the row as JSON. */
export type FileRow = { readonly lineNumber: number; readonly json: string };

type ExportVisitor = {
  onHeader?(header: ExportHeader): void;
  /** Called with rows of one table, in the order of the file. */
  onRows(table: ExportedTable, rows: readonly FileRow[]): Promise<void> | void;
};

/** Header and totals of a complete export. */
export type ExportSummary = { readonly header: ExportHeader; readonly totals: ExportTotals };

/**
 * Reads an export and checks that it is undamaged: the checksum of every line, and the counts and checksums in its last
 * line. Throws `TransferError` with the number of the damaged line.
 */
export async function readExport(path: string, visitor: ExportVisitor): Promise<ExportSummary> {
  const file = await open(path).catch((error: unknown) => {
    throw new TransferError(`${path} cannot be read: ${error instanceof Error ? error.message : error}.`);
  });
  try {
    const reader = new ExportReader(path, visitor);
    await readChunks(file, path, reader);
    return reader.toSummary();
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
    const fileTail = Buffer.alloc(Math.min(size, 1 << 16));
    await file.read(fileTail, 0, fileTail.length, size - fileTail.length);
    return Number(/\n\{"end":\{"rows":(\d{1,15}),[^\n]*\n$/.exec(fileTail.toString('latin1'))?.[1] ?? 0);
  } finally {
    await file.close();
  }
}

/** Reads a file in chunks and passes its complete lines to the reader. */
async function readChunks(file: FileHandle, path: string, reader: ExportReader): Promise<void> {
  let incompleteLine = Buffer.alloc(0);
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, null);
    if (bytesRead === 0) break;
    const bytes = Buffer.concat([incompleteLine, chunk.subarray(0, bytesRead)]);
    const completeLength = bytes.lastIndexOf(LINE_FEED) + 1;
    if (completeLength > 0) await reader.readLines(bytes.subarray(0, completeLength));
    incompleteLine = Buffer.from(bytes.subarray(completeLength));
    if (incompleteLine.length > MAX_LINE_BYTES) throw new TransferError(`${path} is not an export of Carillon.`);
  }
  if (incompleteLine.length > 0)
    throw new TransferError(`Line ${reader.lineCount + 1} is cut off: the export is incomplete.`);
}

class ExportReader {
  readonly #path: string;
  readonly #visitor: ExportVisitor;
  readonly #sha256 = createHash('sha256');
  readonly #totalsByTable: Partial<Record<ExportedTable, TableTotals>> = {};
  #tableHasher = new TableHasher();
  /** Totals of the converted rows, for a file in format 1. */
  readonly #convertedTotals: Partial<Record<ExportedTable, TableTotals>> = {};
  #convertedHasher = new TableHasher();
  #isFormat1 = false;
  #header: ExportHeader | undefined;
  #totals: ExportTotals | undefined;
  #crc = 0;
  #rowCount = 0;
  /** Index of the current table in `exportedTables`. */
  #tableIndex = 0;
  #currentRowPrefix = buildRowPrefix('accounts');
  #unflushedRows: FileRow[] = [];
  /** Number of lines read. */
  lineCount = 0;

  constructor(path: string, visitor: ExportVisitor) {
    this.#path = path;
    this.#visitor = visitor;
  }

  /** @param bytes complete lines of the file */
  async readLines(bytes: Buffer): Promise<void> {
    let lineStart = 0;
    while (lineStart < bytes.length) {
      const lineEnd = bytes.indexOf(LINE_FEED, lineStart);
      this.lineCount += 1;
      if (this.#totals !== undefined) throw new TransferError(`Line ${this.lineCount} is after the end of the export.`);
      const body = this.#verifyChecksum(bytes.subarray(lineStart, lineEnd));
      if (this.#header === undefined) this.#header = this.#readHeader(body);
      else if (body.startsWith('{"end":')) {
        this.#sha256.update(bytes.subarray(0, lineStart));
        await this.#readTotalsLine(body);
      } else {
        if (!body.startsWith(this.#currentRowPrefix)) await this.#beginTable(body);
        this.#unflushedRows.push({ lineNumber: this.lineCount, json: body.slice(this.#currentRowPrefix.length) });
      }
      lineStart = lineEnd + 1;
    }
    if (this.#totals === undefined) this.#sha256.update(bytes);
    await this.#flush();
  }

  toSummary(): ExportSummary {
    if (this.#header === undefined) throw new TransferError(`${this.#path} is empty: it is not an export of Carillon.`);
    if (this.#totals === undefined)
      throw new TransferError(
        `Line ${this.lineCount + 1}, the end of the export, is missing: the export is incomplete.`,
      );
    return { header: this.#header, totals: this.#totals };
  }

  /** Verifies the checksum of a line. Returns the line without its checksum. */
  #verifyChecksum(line: Buffer): string {
    const bodyLength = line.length - CHECKSUM_SUFFIX_LENGTH;
    const expectedCrc = bodyLength < 0 ? undefined : parseChecksum(line.toString('latin1', bodyLength));
    if (expectedCrc === undefined && this.lineCount === 1)
      throw new TransferError(`${this.#path} is not an export of Carillon.`);
    if (expectedCrc === undefined)
      throw new TransferError(`Line ${this.lineCount} is not a line of an export: it has no checksum.`);
    const body = line.subarray(0, bodyLength);
    this.#crc = crc32(body, this.#crc);
    if (expectedCrc !== this.#crc)
      throw new TransferError(`Line ${this.lineCount} is damaged: its checksum does not match.`);
    return body.toString('utf8');
  }

  #readHeader(body: string): ExportHeader {
    const header = tryParseJson(`${body}}`);
    if (!isHeader(header)) throw new TransferError(`${this.#path} is not an export of Carillon.`);
    const supportedSchema = getNewestSchemaVersion();
    if (header.carillon > FORMAT_VERSION || header.schema > supportedSchema)
      throw new TransferError(
        `The file is from a newer Carillon (${header.version}, schema ${header.schema}); this one knows ${supportedSchema}. Update Carillon.`,
      );
    this.#isFormat1 = isFormat1(header);
    if (!this.#isFormat1 && (header.carillon < FORMAT_VERSION || header.schema < supportedSchema))
      throw new TransferError(
        `The file is from an older Carillon (${header.version}, schema ${header.schema}); this one only imports schema ${supportedSchema}. Import it with ${header.version} and then upgrade, or export it again.`,
      );
    const currentHeader = this.#isFormat1 ? convertFormat1Header(header) : header;
    this.#visitor.onHeader?.(currentHeader);
    return currentHeader;
  }

  async #beginTable(body: string): Promise<void> {
    await this.#flush();
    const [prefix, name = ''] = /^\{"table":"(\w+)","row":/.exec(body) ?? [];
    const table = this.#isFormat1 ? toCurrentTableName(name) : name;
    if (prefix === undefined)
      throw new TransferError(`Line ${this.lineCount} is neither a row nor the end of an export.`);
    if (!isExportedTable(table)) throw new TransferError(`Line ${this.lineCount}: there is no table ${name}.`);
    const index = exportedTables.indexOf(table);
    if (index < this.#tableIndex)
      throw new TransferError(
        `Line ${this.lineCount}: ${table} must come before ${exportedTables[this.#tableIndex]} in an export.`,
      );
    this.#storeTableTotals(index);
    this.#currentRowPrefix = prefix;
  }

  /** Stores the totals of the tables from the current one up to, but not including, the table at `index`. */
  #storeTableTotals(index: number): void {
    for (const table of exportedTables.slice(this.#tableIndex, index)) {
      this.#totalsByTable[table] = this.#tableHasher.totals;
      this.#tableHasher = new TableHasher();
      this.#convertedTotals[table] = this.#convertedHasher.totals;
      this.#convertedHasher = new TableHasher();
    }
    this.#tableIndex = index;
  }

  /** Passes the rows that were read since the last flush to the visitor, and adds them to the totals. */
  async #flush(): Promise<void> {
    const rows = this.#unflushedRows;
    const table = exportedTables[this.#tableIndex];
    if (rows.length === 0 || table === undefined) return;
    this.#unflushedRows = [];
    this.#rowCount += rows.length;
    this.#tableHasher.addRows(rows.map(({ json }) => json));
    if (!this.#isFormat1) return this.#visitor.onRows(table, rows);
    const convertedRows = rows.map((row) => ({ ...row, json: convertFormat1Row(table, row.json) }));
    this.#convertedHasher.addRows(convertedRows.map(({ json }) => json));
    await this.#visitor.onRows(table, convertedRows);
  }

  async #readTotalsLine(body: string): Promise<void> {
    await this.#flush();
    this.#storeTableTotals(exportedTables.length);
    const computedTotals: ExportTotals = {
      rows: this.#rowCount,
      tables: this.#totalsByTable,
      sha256: this.#sha256.digest('hex'),
    };
    const parsedTotalsLine = tryParseJson(`${body}}`);
    const expectedTotals = this.#isFormat1
      ? { ...computedTotals, tables: convertTotalsToFormat1(computedTotals.tables) }
      : computedTotals;
    if (JSON.stringify(parsedTotalsLine) !== JSON.stringify({ end: expectedTotals }))
      throw new TransferError(...this.#findEndDifferences(parsedTotalsLine, computedTotals.tables));
    this.#totals = this.#isFormat1 ? { ...computedTotals, tables: this.#convertedTotals } : computedTotals;
  }

  /** Describes how the totals in the last line differ from the lines before it. */
  #findEndDifferences(parsedTotalsLine: unknown, actualTotals: TotalsByTable): string[] {
    const { rows, tables: declaredTotals } = parseTotals(parsedTotalsLine);
    const differences = exportedTables.flatMap((table) => {
      const [actualRows, declaredRows] = [actualTotals[table]?.rows, declaredTotals[table]?.rows];
      if (actualRows === declaredRows) return [];
      return [`Line ${this.lineCount}: ${table} has ${actualRows} rows in the file, and ${declaredRows} by its end.`];
    });
    if (differences.length > 0) return differences;
    return [`Line ${this.lineCount}, the end of the export (${rows} rows), is not that of the lines before it.`];
  }
}

function parseTotals(endLine: unknown): { rows: unknown; tables: TotalsByTable } {
  if (!isObject(endLine) || !isObject(endLine.end)) return { rows: 'no', tables: {} };
  const { rows, tables: totals } = endLine.end;
  return { rows, tables: isObject(totals) ? (totals as TotalsByTable) : {} };
}

function tryParseJson(json: string): unknown {
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
