import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { MovedTable, Row } from './exported-tables.ts';

// The export format: JSON Lines.
//   {"carillon":2,"schema":14,…,"crc":"…"}              header
//   {"table":"events","row":{…},"crc":"…"}             a row
//   {"end":{"rows":…,"tables":{…},"sha256":"…"},"crc":"…"}   totals; without this line, the file is incomplete
// crc is the CRC-32 of everything before it, from the first line on, so that the first damaged line is known.

/** The version of the file format. `format-1.ts` reads the one before it. */
export const FORMAT = 2;

/** The first line. */
export type Header = {
  readonly carillon: number;
  /** The last migration of the exported database. */
  readonly schema: number;
  /** The version of Carillon that wrote it. */
  readonly version: string;
  readonly exported_at: string;
  /** The domain of the exported account; null for a whole service. */
  readonly domain: string | null;
  /** The highest id issued by each table, so that none is issued again after an import. */
  readonly issued: Readonly<Record<string, number>>;
};

/** Row count of one table, and the SHA-256 of its rows, each as in its line and followed by a line feed. */
export type Tally = { readonly rows: number; readonly sha256: string };

export type Tallies = Readonly<Partial<Record<MovedTable, Tally>>>;

/** The last line. */
export type Totals = {
  readonly rows: number;
  readonly tables: Tallies;
  /** SHA-256 of every byte before the last line: `head -n -1 export.jsonl | sha256sum`. */
  readonly sha256: string;
};

/** The end of each line: `,"crc":"0123abcd"}`. */
const CHECK = /,"crc":"([0-9a-f]{8})"\}$/;
export const CHECK_LENGTH = ',"crc":"0123abcd"}'.length;

/** Appends the checksum to a line; `crc` is that of the previous line. */
export function checked(body: string, crc: number): { line: string; crc: number } {
  const next = crc32(body, crc);
  return { line: `${body},"crc":"${next.toString(16).padStart(8, '0')}"}\n`, crc: next };
}

/** Parses the checksum at the end of a line; undefined if there is none. */
export function checkOf(tail: string): number | undefined {
  const [, crc] = CHECK.exec(tail) ?? [];
  return crc === undefined ? undefined : Number.parseInt(crc, 16);
}

/** The start of the line of a row. */
export function rowPrefix(table: MovedTable): string {
  return `{"table":"${table}","row":`;
}

/** Counts the rows of a table and computes their checksum. */
export class TableHasher {
  readonly #hash: Hash = createHash('sha256');
  #rows = 0;

  /** @param jsons rows as JSON, as in their lines */
  add(jsons: readonly string[]): void {
    if (jsons.length === 0) return;
    this.#rows += jsons.length;
    this.#hash.update(`${jsons.join('\n')}\n`);
  }

  get tally(): Tally {
    return { rows: this.#rows, sha256: this.#hash.copy().digest('hex') };
  }
}

/** Serializes an export. The methods return the text to be written to the file. */
export class LineWriter {
  readonly #sha256 = createHash('sha256');
  readonly #tables: Partial<Record<MovedTable, Tally>> = {};
  #crc = 0;
  #rows = 0;

  header(header: Header): string {
    return this.#put(JSON.stringify(header).slice(0, -1));
  }

  rows(table: MovedTable, rows: readonly Row[], tallier: TableHasher): string {
    const jsons = rows.map((row) => JSON.stringify(row));
    tallier.add(jsons);
    const prefix = rowPrefix(table);
    return this.#put(...jsons.map((json) => prefix + json));
  }

  /** Ends a table and stores its totals. */
  close(table: MovedTable, { tally }: TableHasher): void {
    this.#tables[table] = tally;
    this.#rows += tally.rows;
  }

  end(): { line: string; end: Totals } {
    const end: Totals = { rows: this.#rows, tables: this.#tables, sha256: this.#sha256.copy().digest('hex') };
    return { line: this.#put(`{"end":${JSON.stringify(end)}`), end };
  }

  #put(...bodies: readonly string[]): string {
    let text = '';
    for (const body of bodies) {
      const { line, crc } = checked(body, this.#crc);
      this.#crc = crc;
      text += line;
    }
    this.#sha256.update(text);
    return text;
  }
}

// Format 1 uses the names of tables and columns from before migration 0014. Everything else is as in format 2.

/** Only format 1 exports with this schema can be imported: the last one before the names changed. */
const SCHEMA = 13;

const tables: Readonly<Record<string, MovedTable>> = {
  owed: 'pending_deliveries',
  settled: 'finalized_deliveries',
  asks: 'manual_attempts',
};

const columns: Readonly<Partial<Record<MovedTable, Readonly<Record<string, string>>>>> = {
  pending_deliveries: { owed_at: 'created_at' },
  finalized_deliveries: { owed_at: 'created_at', settled_at: 'finalized_at' },
  manual_attempts: { ask_id: 'manual_attempt_id' },
  assignments: { noun: 'resource_type' },
  team_assignments: { noun: 'resource_type' },
  hooks: { unheard: 'unacknowledged' },
};

export const isFormat1 = ({ carillon, schema }: Header): boolean => carillon === 1 && schema === SCHEMA;

/** The current name of a table of format 1. */
export const currentTableName = (name: string): string => tables[name] ?? name;

/** Converts a header to the current names. */
export function convertHeader(header: Header): Header {
  const issued = Object.fromEntries(Object.entries(header.issued).map(([name, id]) => [currentTableName(name), id]));
  return { ...header, issued };
}

/** Converts a row, as JSON, to the current names. */
export function convertRow(table: MovedTable, json: string): string {
  const renamed = columns[table];
  if (renamed === undefined) return json;
  const row = Object.entries(JSON.parse(json)).map(([name, value]) => [renamed[name] ?? name, value]);
  return JSON.stringify(Object.fromEntries(row));
}

/** The totals under the table names of format 1, as in the end of such a file. */
export function tallyNames(tallies: Tallies): Readonly<Record<string, unknown>> {
  const oldNames = new Map(Object.entries(tables).map(([old, name]) => [String(name), old]));
  return Object.fromEntries(Object.entries(tallies).map(([name, tally]) => [oldNames.get(name) ?? name, tally]));
}
