import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { MovedTable, Row } from './exported-tables.ts';

// An export, line by line, each a JSON object:
//   {"carillon":2,"schema":14,…,"crc":"…"}              what it is
//   {"table":"events","row":{…},"crc":"…"}             a row
//   {"end":{"rows":…,"tables":{…},"sha256":"…"},"crc":"…"}   what there was in all; without it, the file is not whole
// crc is the CRC-32 of all that stands before it, from the first line on, so that it says which line is not as it was.

/** The version of the file format. `format-1.ts` reads the one before it. */
export const FORMAT = 2;

/** The first line. */
export type Header = {
  readonly carillon: number;
  /** The number of the last migration of the database that it was taken from. */
  readonly schema: number;
  /** The version of Carillon that wrote it. */
  readonly version: string;
  readonly exported_at: string;
  /** The account that it holds; null for a whole service. */
  readonly domain: string | null;
  /** The highest id that each table had issued, so that none is issued again. */
  readonly issued: Readonly<Record<string, number>>;
};

/** What there is of one table: how many rows, and the SHA-256 of them, each as in its line and followed by a line feed. */
export type Tally = { readonly rows: number; readonly sha256: string };

export type Tallies = Readonly<Partial<Record<MovedTable, Tally>>>;

/** The last line. */
export type End = {
  readonly rows: number;
  readonly tables: Tallies;
  /** Of every byte before the last line: `head -n -1 export.jsonl | sha256sum`. */
  readonly sha256: string;
};

/** What stands between the rest of a line and its end: `,"crc":"0123abcd"}`. */
const CHECK = /,"crc":"([0-9a-f]{8})"\}$/;
export const CHECK_LENGTH = ',"crc":"0123abcd"}'.length;

/** A line's checksum as its last field, from the one before it. */
export function checked(body: string, crc: number): { line: string; crc: number } {
  const next = crc32(body, crc);
  return { line: `${body},"crc":"${next.toString(16).padStart(8, '0')}"}\n`, crc: next };
}

/** The checksum that a line says it has; undefined where it says none. */
export function checkOf(tail: string): number | undefined {
  const [, said] = CHECK.exec(tail) ?? [];
  return said === undefined ? undefined : Number.parseInt(said, 16);
}

/** The beginning of a row's line. */
export function rowPrefix(table: MovedTable): string {
  return `{"table":"${table}","row":`;
}

/** Counts the rows of a table and makes their checksum. */
export class Tallier {
  readonly #hash: Hash = createHash('sha256');
  #rows = 0;

  /** @param jsons rows as in their lines */
  add(jsons: readonly string[]): void {
    if (jsons.length === 0) return;
    this.#rows += jsons.length;
    this.#hash.update(`${jsons.join('\n')}\n`);
  }

  get tally(): Tally {
    return { rows: this.#rows, sha256: this.#hash.copy().digest('hex') };
  }
}

/** Writes the lines of an export; what it answers goes into the file as it is. */
export class LineWriter {
  readonly #sha256 = createHash('sha256');
  readonly #tables: Partial<Record<MovedTable, Tally>> = {};
  #crc = 0;
  #rows = 0;

  header(header: Header): string {
    return this.#put(JSON.stringify(header).slice(0, -1));
  }

  rows(table: MovedTable, rows: readonly Row[], tallier: Tallier): string {
    const jsons = rows.map((row) => JSON.stringify(row));
    tallier.add(jsons);
    const prefix = rowPrefix(table);
    return this.#put(...jsons.map((json) => prefix + json));
  }

  /** A table is through. */
  close(table: MovedTable, { tally }: Tallier): void {
    this.#tables[table] = tally;
    this.#rows += tally.rows;
  }

  end(): { line: string; end: End } {
    const end: End = { rows: this.#rows, tables: this.#tables, sha256: this.#sha256.copy().digest('hex') };
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
