import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type ExportedRow, type ExportedTable, exportedColumnsOf } from './exported-tables.ts';

// An export is a file in JSON Lines format. It has three types of lines:
//   {"carillon":2,"schema":14,…,"crc":"…"}              header, the first line
//   {"table":"events","row":{…},"crc":"…"}             a row
//   {"end":{"rows":…,"tables":{…},"sha256":"…"},"crc":"…"}   totals; without this line, the file is incomplete
// The value of `crc` is the CRC-32 of the text before it, continued from line to line, so that a reader finds the first
// damaged line.

/** The current version of the file format. The functions at the end of this file convert format 1. */
export const FORMAT_VERSION = 2;

/** The header, which is the first line of an export. */
export type ExportHeader = {
  readonly carillon: number;
  /** Number of the last migration of the exported database. */
  readonly schema: number;
  /** The version of Carillon that wrote the export. */
  readonly version: string;
  readonly exported_at: string;
  /** The domain of the exported account; null for a whole service. */
  readonly domain: string | null;
  /** The highest id that each table has issued, so that no id is issued again after an import. */
  readonly issued: Readonly<Record<string, number>>;
};

/**
 * Row count of one table, and the SHA-256 of its rows. Each row is hashed as it is in its line, followed by a line
 * feed.
 */
export type TableTotals = { readonly rows: number; readonly sha256: string };

export type TotalsByTable = Readonly<Partial<Record<ExportedTable, TableTotals>>>;

/** The totals, which are the last line of an export. */
export type ExportTotals = {
  readonly rows: number;
  readonly tables: TotalsByTable;
  /** SHA-256 of every byte before the last line: `head -n -1 export.jsonl | sha256sum`. */
  readonly sha256: string;
};

/** Matches the end of each line: `,"crc":"0123abcd"}`. */
const CHECKSUM_SUFFIX_PATTERN = /,"crc":"([0-9a-f]{8})"\}$/;
export const CHECKSUM_SUFFIX_LENGTH = ',"crc":"0123abcd"}'.length;

/** Appends the checksum to the body of a line. `previousCrc` is the checksum of the previous line. */
export function appendChecksum(body: string, previousCrc: number): { line: string; crc: number } {
  const nextCrc = crc32(body, previousCrc);
  return { line: `${body},"crc":"${nextCrc.toString(16).padStart(8, '0')}"}\n`, crc: nextCrc };
}

/** Parses the checksum at the end of a line; undefined if there is none. */
export function parseChecksum(tail: string): number | undefined {
  const [, crc] = CHECKSUM_SUFFIX_PATTERN.exec(tail) ?? [];
  return crc === undefined ? undefined : Number.parseInt(crc, 16);
}

/** Returns the start of a line of this table: the text before the row itself. */
export function buildRowPrefix(table: ExportedTable): string {
  return `{"table":"${table}","row":`;
}

/** Counts the rows of a table and computes their checksum. */
export class TableHasher {
  readonly #hash: Hash = createHash('sha256');
  #rowCount = 0;

  /** @param rowsAsJson the rows as JSON, exactly as in their lines */
  addRows(rowsAsJson: readonly string[]): void {
    if (rowsAsJson.length === 0) return;
    this.#rowCount += rowsAsJson.length;
    this.#hash.update(`${rowsAsJson.join('\n')}\n`);
  }

  get totals(): TableTotals {
    return { rows: this.#rowCount, sha256: this.#hash.copy().digest('hex') };
  }
}

/** Serializes an export. The methods return the text to be written to the file. */
export class ExportSerializer {
  readonly #sha256 = createHash('sha256');
  readonly #totalsByTable: Partial<Record<ExportedTable, TableTotals>> = {};
  #crc = 0;
  #rowCount = 0;

  serializeHeader(header: ExportHeader): string {
    return this.#serializeLines(JSON.stringify(header).slice(0, -1));
  }

  serializeRows(table: ExportedTable, rows: readonly ExportedRow[], tableHasher: TableHasher): string {
    const rowsAsJson = rows.map((row) => JSON.stringify(row));
    tableHasher.addRows(rowsAsJson);
    const prefix = buildRowPrefix(table);
    return this.#serializeLines(...rowsAsJson.map((json) => prefix + json));
  }

  /** Ends a table and stores its totals. */
  closeTable(table: ExportedTable, { totals }: TableHasher): void {
    this.#totalsByTable[table] = totals;
    this.#rowCount += totals.rows;
  }

  serializeTotals(): { line: string; totals: ExportTotals } {
    const totals: ExportTotals = {
      rows: this.#rowCount,
      tables: this.#totalsByTable,
      sha256: this.#sha256.copy().digest('hex'),
    };
    return { line: this.#serializeLines(`{"end":${JSON.stringify(totals)}`), totals };
  }

  #serializeLines(...bodies: readonly string[]): string {
    let text = '';
    for (const body of bodies) {
      const { line, crc } = appendChecksum(body, this.#crc);
      this.#crc = crc;
      text += line;
    }
    this.#sha256.update(text);
    return text;
  }
}

// Format 1 uses the names of tables, columns and audit actions from before migration 0014. Everything else is as in
// format 2.

/** Schema version of the format 1 files that can be imported: the last one before tables and columns were renamed. */
const FORMAT_1_SCHEMA = 13;

const currentTableNames: Readonly<Record<string, ExportedTable>> = {
  owed: 'pending_deliveries',
  settled: 'finalized_deliveries',
  asks: 'manual_attempts',
};

const currentColumnNames: Readonly<Partial<Record<ExportedTable, Readonly<Record<string, string>>>>> = {
  pending_deliveries: { owed_at: 'created_at' },
  finalized_deliveries: { owed_at: 'created_at', settled_at: 'finalized_at' },
  manual_attempts: { ask_id: 'manual_attempt_id' },
  assignments: { noun: 'resource_type' },
  team_assignments: { noun: 'resource_type' },
  hooks: { kind: 'events' },
};

const currentAuditActions: Readonly<Record<string, string>> = {
  'account.moved_in': 'account.imported',
  'hook.made': 'hook.created',
  'login.opened': 'session.created',
  'login.refused': 'sign_in.rejected',
  'login.closed': 'session.ended',
  'invitation.made': 'invitation.created',
  'invitation.withdrawn': 'invitation.revoked',
  'calendar.made': 'calendar.created',
  'denied.dead_key': 'denied.invalid_key',
  'denied.others': 'denied.other',
};

export const isFormat1 = ({ carillon, schema }: ExportHeader): boolean => carillon === 1 && schema === FORMAT_1_SCHEMA;

/** Returns the current name of a table of format 1. */
export const toCurrentTableName = (name: string): string => currentTableNames[name] ?? name;

/** Converts a header of format 1 to the current names of tables. */
export function convertFormat1Header(header: ExportHeader): ExportHeader {
  const issued = Object.fromEntries(Object.entries(header.issued).map(([name, id]) => [toCurrentTableName(name), id]));
  return { ...header, issued };
}

/** Values of the columns that later migrations have added. */
const addedColumns: Readonly<Partial<Record<ExportedTable, Readonly<Record<string, string | number | null>>>>> = {
  hooks: { name: '', scope: 'own', project_id: 0, enabled: 1, permissions: '' },
  occurrences: { project_id: 0, previous_project_id: 0, fields: null, is_silent: 0 },
  pending_deliveries: { fields: null },
  finalized_deliveries: { fields: null },
  attempts: { response: '' },
};

/** Converts a row of format 1, as JSON, to the current columns and names of audit actions. */
export function convertFormat1Row(table: ExportedTable, json: string): string {
  if (table === 'audit') {
    const entry = JSON.parse(json);
    return JSON.stringify({ ...entry, action: currentAuditActions[entry.action] ?? entry.action });
  }
  const currentNames = currentColumnNames[table];
  if (currentNames === undefined && addedColumns[table] === undefined) return json;
  const rowEntries = Object.entries(JSON.parse(json)).map(([name, value]) => [currentNames?.[name] ?? name, value]);
  const row = { ...Object.fromEntries(rowEntries), ...addedColumns[table] };
  return JSON.stringify(Object.fromEntries(exportedColumnsOf(table).map((column) => [column, row[column]])));
}

/** Returns totals under the table names of format 1, as the last line of such a file has them. */
export function convertTotalsToFormat1(totalsByTable: TotalsByTable): Readonly<Record<string, unknown>> {
  const oldNames = new Map(Object.entries(currentTableNames).map(([oldName, name]) => [String(name), oldName]));
  return Object.fromEntries(
    Object.entries(totalsByTable).map(([name, totals]) => [oldNames.get(name) ?? name, totals]),
  );
}
