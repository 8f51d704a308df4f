import { hash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { parseId } from '../http/fields/field.ts';
import { createFile } from '../store/sqlite/file-lock.ts';
import { TransferError } from '../transfer/operator-report.ts';
import type { ResourceTypeName } from './resource-types.ts';

/**
 * The origin of a record. `source`: the source lists it. `nameless`: the source lists it, but without an id. `made`:
 * the import has created it because other records refer to it.
 */
type RecordOrigin = 'source' | 'nameless' | 'made';

/** A record as it was read from the source, and its id at this service. */
export type StoredRecord = {
  readonly id: string;
  readonly json: string;
  readonly new_id: number;
  readonly origin: RecordOrigin;
};

/**
 * Progress of reading a list in one pass: `reading` is the number of the pass, `next` the offset of the next page, and
 * `total` the number of records that the source reports. A list is `waiting` until the pass has read it to its end;
 * `absent` means that the source has no such list, and `refused` that the key may not read it.
 */
type ListState = {
  readonly state: 'waiting' | 'read' | 'absent' | 'refused';
  readonly reading: number;
  readonly next: number;
  readonly total: number | null;
  /** Number of records that were new, changed or gone in this pass. */
  readonly changed: number;
};

/** A page of a list, and the progress after it. The fields have the same meaning as those of `ListState`. */
type FetchedPage = {
  readonly reading: number;
  readonly next: number;
  readonly total: number | null;
  readonly records: readonly unknown[];
};

type TypeWithIdField = { readonly name: ResourceTypeName; readonly idField: string };

/** Maximum id that is kept. Higher ids are renumbered, because they would leave too few ids for new records. */
const MAX_KEPT_ID = 2 ** 52;

/**
 * SQLite's `application_id` of work files. It contains the version of their schema, so that a file of another version
 * is not continued.
 */
const APPLICATION_ID = 0x43_6d_76_01;

const SCHEMA = `
  create table if not exists facts (name text primary key, value text not null) strict;
  create table if not exists lists (noun text primary key, state text not null, reading integer not null,
    next integer not null, total integer, changed integer not null) strict;
  create table if not exists records (noun text not null, id text not null, number integer, reading integer not null,
    origin text not null, is_left integer not null default 0, new_id integer, json text not null,
    constraint "a record must not nest a thousand deep" check (json_valid(json))) strict;
  create unique index if not exists records_by_id on records (noun, id);
  create index if not exists records_by_reading on records (noun, reading);
  create index if not exists records_by_new_id on records (noun, new_id);
  create table if not exists assignments (noun text not null, record_id integer not null, user_id integer not null,
    primary key (noun, record_id, user_id)) strict, without rowid;`;

/**
 * The work file of an import. It stores the records read so far and the progress, in one transaction per page, so that
 * an interrupted import continues where it stopped. It contains the records of the account, but no API key.
 */
export class WorkFile {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string) {
    this.path = path;
    createFile(path);
    try {
      this.#db = new DatabaseSync(path, { timeout: 0 });
    } catch (error) {
      throw toWorkFileError(path, error);
    }
    try {
      this.#db.exec('pragma locking_mode = exclusive; pragma synchronous = normal; pragma cache_size = -65536');
      this.#requireWorkFile();
      this.#db.exec(
        `pragma journal_mode = wal; begin immediate; pragma application_id = ${APPLICATION_ID}; ${SCHEMA} commit`,
      );
    } catch (error) {
      this.#db.close();
      throw toWorkFileError(path, error);
    }
  }

  /**
   * Throws if the file is not a work file, such as a database of Carillon. Such a file must not be overwritten or
   * removed.
   */
  #requireWorkFile(): void {
    const { application_id } = this.#db.prepare('pragma application_id').get() ?? {};
    if (application_id === APPLICATION_ID) return;
    const { found } = this.#db.prepare('select count(*) as found from sqlite_schema').get() ?? {};
    if (found !== 0)
      throw new TransferError(`${this.path} is not a work file of this version: --work must name another file.`);
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  /** Closes and deletes the work file, after a complete import. */
  remove(): void {
    this.close();
    for (const suffix of ['', '-wal', '-shm', '.jsonl']) {
      const file = `${this.path}${suffix}`;
      if (existsSync(file)) rmSync(file);
    }
  }

  /** Reads a named value that this run or an earlier one has saved; undefined if there is none. */
  readSavedValue<T>(name: string): T | undefined {
    const row = this.#queryRow('select value from facts where name = ?', name);
    return row === undefined ? undefined : (JSON.parse(String(row.value)) as T);
  }

  /** Saves a value under a name, for later runs of the same import. */
  saveValue(name: string, value: unknown): void {
    this.run('insert or replace into facts (name, value) values (?, ?)', name, JSON.stringify(value));
  }

  getListState(typeName: ResourceTypeName): ListState {
    const row = this.#queryRow('select state, reading, next, total, changed from lists where noun = ?', typeName);
    return row === undefined ? { state: 'waiting', reading: 0, next: 0, total: null, changed: 0 } : (row as ListState);
  }

  setListState(typeName: ResourceTypeName, { state, reading, next, total, changed }: ListState): void {
    const values = [typeName, state, reading, next, total, changed] as const;
    this.run(
      'insert or replace into lists (noun, state, reading, next, total, changed) values (?, ?, ?, ?, ?, ?)',
      ...values,
    );
  }

  /** Stores a page and the progress in one transaction; returns how many of its records are new in this pass. */
  storePage(resourceType: TypeWithIdField, { reading, next, total, records }: FetchedPage): number {
    return this.inTransaction(() => {
      const putResults = records.map((record) => this.#putIfChanged(resourceType, reading, record));
      const previousState = this.getListState(resourceType.name);
      const changed = previousState.changed + putResults.filter((one) => one === 'changed').length;
      this.setListState(resourceType.name, { ...previousState, reading, next, total, changed });
      return putResults.filter((one) => one !== 'seen').length;
    });
  }

  /**
   * Stores a record. Returns `changed` if the record is new or differs from an earlier pass, `same` if it equals that
   * of an earlier pass, and `seen` if this pass has already read it.
   */
  #putIfChanged(resourceType: TypeWithIdField, reading: number, record: unknown): 'seen' | 'same' | 'changed' {
    const json = JSON.stringify(record);
    const id = recordIdOf(record, resourceType.idField) ?? `?${hash('sha256', json)}`;
    const storedRow = this.#queryRow(
      'select json, reading from records where noun = ? and id = ?',
      resourceType.name,
      id,
    );
    if (storedRow?.json === json) {
      if (storedRow.reading === reading) return 'seen';
      this.run('update records set reading = ? where noun = ? and id = ?', reading, resourceType.name, id);
      return 'same';
    }
    this.putRecord(resourceType.name, { id, reading, origin: id.startsWith('?') ? 'nameless' : 'source', json });
    return 'changed';
  }

  putRecord(
    typeName: ResourceTypeName,
    { id, reading, origin, json }: { id: string; reading: number; origin: RecordOrigin; json: string },
  ): void {
    const parsedId = parseId(id);
    const keptId = parsedId !== undefined && parsedId > 0 && parsedId <= MAX_KEPT_ID ? parsedId : null;
    this.run(
      `insert or replace into records (noun, id, number, new_id, reading, origin, json) values (?, ?, ?, ?, ?, ?, ?)`,
      ...[typeName, id, keptId, keptId, reading, origin, json],
    );
  }

  /** Returns the id of a record that an earlier pass has read and this pass has not; undefined if there is none. */
  findUnseenId(typeName: ResourceTypeName, reading: number): string | undefined {
    const [row] = this.queryRows(
      'select id from records where noun = ? and reading < ? order by reading limit 1',
      typeName,
      reading,
    );
    return row === undefined ? undefined : String(row.id);
  }

  deleteRecord(typeName: ResourceTypeName, id: string): void {
    this.run('delete from records where noun = ? and id = ?', typeName, id);
  }

  /**
   * Resolves a reference: returns the id of an imported record at this service; undefined if the record is not
   * imported.
   */
  findNewId(typeName: ResourceTypeName, id: string): number | undefined {
    const row = this.#queryRow('select new_id from records where noun = ? and id = ? and is_left = 0', typeName, id);
    return typeof row?.new_id === 'number' ? row.new_id : undefined;
  }

  /** Yields the records of a type in pages, in the order of their ids at this service. */
  *readRecordPages(typeName: ResourceTypeName, rowsPerPage = 1_000): Generator<readonly StoredRecord[]> {
    for (let lastNewId = -1; ; ) {
      const rows = this.queryRows(
        'select id, json, new_id, origin from records where noun = ? and new_id > ? order by new_id limit ?',
        ...[typeName, lastNewId, rowsPerPage],
      ) as StoredRecord[];
      if (rows.length === 0) return;
      yield rows;
      lastNewId = rows.at(-1)?.new_id ?? lastNewId;
    }
  }

  /** Yields the assignments in pages, in the order of an export. */
  *readAssignmentPages(): Generator<readonly Readonly<Record<string, unknown>>[]> {
    for (let lastKey: readonly SQLInputValue[] = ['', 0, 0]; ; ) {
      const rows = this.queryRows(
        `select noun as resource_type, record_id, user_id from assignments where (noun, record_id, user_id) > (?, ?, ?)
         order by noun, record_id, user_id limit 1000`,
        ...lastKey,
      );
      const lastRow = rows.at(-1);
      if (lastRow === undefined) return;
      yield rows;
      lastKey = [String(lastRow.resource_type), Number(lastRow.record_id), Number(lastRow.user_id)];
    }
  }

  /** Runs several writes in one transaction. */
  inTransaction<T>(runWrites: () => T): T {
    this.#db.exec('begin');
    try {
      const result = runWrites();
      this.#db.exec('commit');
      return result;
    } catch (error) {
      // SQLite has already rolled back if the disk is full.
      if (this.#db.isTransaction) this.#db.exec('rollback');
      throw error;
    }
  }

  run(query: string, ...values: readonly SQLInputValue[]): void {
    this.#prepareStatement(query).run(...values);
  }

  queryRows(query: string, ...values: readonly SQLInputValue[]): Readonly<Record<string, unknown>>[] {
    return this.#prepareStatement(query).all(...values);
  }

  /** Returns the first column of the first row as a number; 0 if there is no row. */
  queryNumber(query: string, ...values: readonly SQLInputValue[]): number {
    return Number(Object.values(this.#queryRow(query, ...values) ?? {})[0] ?? 0);
  }

  #queryRow(query: string, ...values: readonly SQLInputValue[]): Readonly<Record<string, unknown>> | undefined {
    return this.#prepareStatement(query).get(...values);
  }

  #prepareStatement(query: string): StatementSync {
    const cachedStatement = this.#statements.get(query);
    if (cachedStatement !== undefined) return cachedStatement;
    const statement = this.#db.prepare(query);
    this.#statements.set(query, statement);
    return statement;
  }
}

function toWorkFileError(path: string, error: unknown): TransferError {
  if (error instanceof TransferError) return error;
  const reason = error instanceof Error ? error.message : error;
  return new TransferError(`${path} cannot be used: ${reason}. Is another import using it?`);
}

/** Converts an id, which is a number or a text, to text; undefined if the value is not an id. */
export function toIdText(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function recordIdOf(record: unknown, idField: string): string | undefined {
  const id = typeof record === 'object' && record !== null ? toIdText(Reflect.get(record, idField)) : undefined;
  return id === undefined || id.startsWith('?') ? undefined : id;
}
