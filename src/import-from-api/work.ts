import { hash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { parseId } from '../http/fields/ids.ts';
import { makeFile } from '../store/sqlite/file-lock.ts';
import { TransferError } from '../transfer/transfer-error.ts';
import type { ResourceTypeName } from './nouns.ts';

/**
 * Where a record comes from: the list of the source; a line of it that has no id; or nowhere, made so that what refers
 * to it need not be changed.
 */
export type Origin = 'source' | 'nameless' | 'made';

/** A record as it was read, and the id that it gets here. */
export type Kept = { readonly id: string; readonly json: string; readonly new_id: number; readonly origin: Origin };

/** How far the list of a noun was read in a reading. */
export type ListState = {
  readonly state: 'waiting' | 'read' | 'absent' | 'refused';
  readonly reading: number;
  readonly next: number;
  readonly total: number | null;
  /** How many records were new, other, or gone. */
  readonly changed: number;
};

/** One page, or one record. */
export type Taken = {
  readonly reading: number;
  readonly next: number;
  readonly total: number | null;
  readonly records: readonly unknown[];
};

type Named = { readonly name: ResourceTypeName; readonly id: string };

/** Ids above it would leave nothing for those to come. */
const MAX_KEPT_ID = 2 ** 52;

/** What marks a work file, and how it is laid out: one that an older version has begun is not gone on with. */
const MARK = 0x43_6d_76_01;

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
 * The work file: what was read so far, and how far that is, in one transaction each, so that whoever comes after a kill
 * goes on where it was. It holds the records of the account and no key.
 */
export class Work {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string) {
    this.path = path;
    makeFile(path);
    try {
      this.#db = new DatabaseSync(path, { timeout: 0 });
    } catch (error) {
      throw unworkable(path, error);
    }
    try {
      this.#db.exec('pragma locking_mode = exclusive; pragma synchronous = normal; pragma cache_size = -65536');
      this.#mustBeOurs();
      this.#db.exec(`pragma journal_mode = wal; begin immediate; pragma application_id = ${MARK}; ${SCHEMA} commit`);
    } catch (error) {
      this.#db.close();
      throw unworkable(path, error);
    }
  }

  /** Whatever else lies under that name, a database of ours for one, is neither written to nor removed in the end. */
  #mustBeOurs(): void {
    const { application_id } = this.#db.prepare('pragma application_id').get() ?? {};
    if (application_id === MARK) return;
    const { found } = this.#db.prepare('select count(*) as found from sqlite_schema').get() ?? {};
    if (found !== 0)
      throw new TransferError(`${this.path} is no work file of this version: --work must name another file.`);
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  /** All is done: nothing of it is needed any more. */
  remove(): void {
    this.close();
    for (const ending of ['', '-wal', '-shm', '.jsonl']) {
      const file = `${this.path}${ending}`;
      if (existsSync(file)) rmSync(file);
    }
  }

  fact<T>(name: string): T | undefined {
    const row = this.#get('select value from facts where name = ?', name);
    return row === undefined ? undefined : (JSON.parse(String(row.value)) as T);
  }

  setFact(name: string, value: unknown): void {
    this.run('insert or replace into facts (name, value) values (?, ?)', name, JSON.stringify(value));
  }

  list(resourceType: ResourceTypeName): ListState {
    const row = this.#get('select state, reading, next, total, changed from lists where noun = ?', resourceType);
    return row === undefined
      ? { state: 'waiting', reading: 0, next: 0, total: null, changed: 0 }
      : (row as unknown as ListState);
  }

  setList(resourceType: ResourceTypeName, { state, reading, next, total, changed }: ListState): void {
    const values = [resourceType, state, reading, next, total, changed] as const;
    this.run(
      'insert or replace into lists (noun, state, reading, next, total, changed) values (?, ?, ?, ?, ?, ?)',
      ...values,
    );
  }

  /** Keeps a page together with how far the list was read by it; answers how many of it this reading had not seen yet. */
  take(resourceType: Named, { reading, next, total, records }: Taken): number {
    return this.inOne(() => {
      const found = records.map((record) => this.#keep(resourceType, reading, record));
      const before = this.list(resourceType.name);
      const changed = before.changed + found.filter((one) => one === 'changed').length;
      this.setList(resourceType.name, { ...before, reading, next, total, changed });
      return found.filter((one) => one !== 'seen').length;
    });
  }

  /** `changed`: the record is new, or another than it was. `seen`: this reading has come across it already. */
  #keep(resourceType: Named, reading: number, record: unknown): 'seen' | 'same' | 'changed' {
    const json = JSON.stringify(record);
    const id = idIn(record, resourceType.id) ?? `?${hash('sha256', json)}`;
    const known = this.#get('select json, reading from records where noun = ? and id = ?', resourceType.name, id);
    if (known?.json === json) {
      if (known.reading === reading) return 'seen';
      this.run('update records set reading = ? where noun = ? and id = ?', reading, resourceType.name, id);
      return 'same';
    }
    this.put(resourceType.name, { id, reading, origin: id.startsWith('?') ? 'nameless' : 'source', json });
    return 'changed';
  }

  put(
    resourceType: ResourceTypeName,
    { id, reading, origin, json }: { id: string; reading: number; origin: Origin; json: string },
  ): void {
    const number = parseId(id);
    const usable = number !== undefined && number > 0 && number <= MAX_KEPT_ID ? number : null;
    this.run(
      `insert or replace into records (noun, id, number, new_id, reading, origin, json) values (?, ?, ?, ?, ?, ?, ?)`,
      ...[resourceType, id, usable, usable, reading, origin, json],
    );
  }

  /** A record that was read before and not in this reading. */
  unseen(resourceType: ResourceTypeName, reading: number): string | undefined {
    const [row] = this.all(
      'select id from records where noun = ? and reading < ? order by reading limit 1',
      resourceType,
      reading,
    );
    return row === undefined ? undefined : String(row.id);
  }

  drop(resourceType: ResourceTypeName, id: string): void {
    this.run('delete from records where noun = ? and id = ?', resourceType, id);
  }

  /** Where a reference leads: the id here of a record that is taken. */
  newId(resourceType: ResourceTypeName, id: string): number | undefined {
    const row = this.#get('select new_id from records where noun = ? and id = ? and is_left = 0', resourceType, id);
    return typeof row?.new_id === 'number' ? row.new_id : undefined;
  }

  /** The records of a noun in the order of their ids here. */
  *pages(resourceType: ResourceTypeName, rowsAPage = 1_000): Generator<readonly Kept[]> {
    for (let last = -1; ; ) {
      const rows = this.all(
        'select id, json, new_id, origin from records where noun = ? and new_id > ? order by new_id limit ?',
        ...[resourceType, last, rowsAPage],
      ) as unknown as Kept[];
      if (rows.length === 0) return;
      yield rows;
      last = rows.at(-1)?.new_id ?? last;
    }
  }

  /** Who is assigned to what, in the order of an export. */
  *assignments(): Generator<readonly Readonly<Record<string, unknown>>[]> {
    for (let last: readonly SQLInputValue[] = ['', 0, 0]; ; ) {
      const rows = this.all(
        `select noun as resource_type, record_id, user_id from assignments where (noun, record_id, user_id) > (?, ?, ?)
         order by noun, record_id, user_id limit 1000`,
        ...last,
      );
      const end = rows.at(-1);
      if (end === undefined) return;
      yield rows;
      last = [String(end.resource_type), Number(end.record_id), Number(end.user_id)];
    }
  }

  /** All or nothing of several writes, in one commit. */
  inOne<T>(work: () => T): T {
    this.#db.exec('begin');
    try {
      const done = work();
      this.#db.exec('commit');
      return done;
    } catch (error) {
      // A full disk has rolled back by itself.
      if (this.#db.isTransaction) this.#db.exec('rollback');
      throw error;
    }
  }

  run(query: string, ...values: readonly SQLInputValue[]): void {
    this.#statement(query).run(...values);
  }

  all(query: string, ...values: readonly SQLInputValue[]): Readonly<Record<string, unknown>>[] {
    return this.#statement(query).all(...values);
  }

  /** The number that a query answers. */
  count(query: string, ...values: readonly SQLInputValue[]): number {
    return Number(Object.values(this.#get(query, ...values) ?? {})[0] ?? 0);
  }

  #get(query: string, ...values: readonly SQLInputValue[]): Readonly<Record<string, unknown>> | undefined {
    return this.#statement(query).get(...values);
  }

  #statement(query: string): StatementSync {
    const known = this.#statements.get(query);
    if (known !== undefined) return known;
    const made = this.#db.prepare(query);
    this.#statements.set(query, made);
    return made;
  }
}

function unworkable(path: string, error: unknown): TransferError {
  if (error instanceof TransferError) return error;
  const why = error instanceof Error ? error.message : error;
  return new TransferError(`${path} cannot be worked with: ${why}. Is another import at work on it?`);
}

/** An id as text, however it was written; undefined where there is none. */
export function idText(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function idIn(record: unknown, field: string): string | undefined {
  const id = typeof record === 'object' && record !== null ? idText(Reflect.get(record, field)) : undefined;
  return id === undefined || id.startsWith('?') ? undefined : id;
}
