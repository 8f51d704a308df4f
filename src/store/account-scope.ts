import type {
  Compilable,
  DeleteQueryBuilder,
  DeleteResult,
  Insertable,
  InsertQueryBuilder,
  InsertResult,
  OperationNodeSource,
  QueryCreator,
  Selectable,
  SelectQueryBuilder,
  UpdateQueryBuilder,
  UpdateResult,
} from 'kysely';
import { type Actor, COMMAND_LINE_ACTOR } from '../permissions.ts';
import { prepareBatchedInsert, prepareBatchedSelect, type SqlType } from './batched-queries.ts';
import { prepareQuery, prepareQueryByIds, type StatementMode, type StatementValues } from './prepared-queries.ts';
import type { LockMode, Queries, Tx } from './store.ts';
import { type AccountTable, type MutableTable, type Tables, tableColumns } from './tables.ts';

/** A row to insert, without `account_id`, which `AccountWrite` adds. */
export type RowToInsert<T extends AccountTable> = Omit<Insertable<Tables[T]>, 'account_id'>;

/**
 * Tenant isolation for reads: every query is already restricted to the caller's account. The raw queries are
 * private, so a query without the account does not compile (C3).
 */
export class AccountView {
  readonly accountId: number;
  /** Timestamp of the request, milliseconds since the epoch. */
  readonly now: number;
  readonly #queries: Queries;

  constructor(queries: Queries, accountId: number, now: number) {
    this.#queries = queries;
    this.accountId = accountId;
    this.now = now;
  }

  /** A cache key for committed reads. Undefined inside a transaction, which sees its own uncommitted changes. */
  get cacheKey(): object | undefined {
    return this.#queries;
  }

  /**
   * Prepares a query over an account (see `prepareQuery`). `build` runs once, with placeholders for the values, the
   * account and the timestamp. It must pass the placeholders on and never inspect them.
   */
  static prepareQuery<Values extends Readonly<Record<string, unknown>>, Row>(
    build: (view: AccountView, values: Values) => Compilable<Row>,
    mode?: StatementMode,
  ): (view: AccountView, values: Values) => Promise<Row[]> {
    const runPrepared = prepareQuery(
      (queries, values: Values & { readonly accountId: number; readonly now: number }) =>
        build(new AccountView(queries, values.accountId, values.now), values),
      mode,
    );
    return (view, values) => runPrepared(view.#queries, { ...values, accountId: view.accountId, now: view.now });
  }

  /** Prepares a select whose concurrent executions can be merged into one statement (see `prepareBatchedSelect`). */
  static prepareBatchedSelect<Values extends StatementValues, Row>(
    valueTypes: { readonly [Name in keyof Values]: SqlType },
    build: (view: AccountView, values: Values) => Compilable<Row> & OperationNodeSource,
  ): (view: AccountView, values: Values) => Promise<Row[]> {
    const runPrepared = prepareBatchedSelect(
      { ...valueTypes, accountId: 'int8', now: 'int8' } as const,
      (queries, values: Values & { readonly accountId: number; readonly now: number }) =>
        build(new AccountView(queries, values.accountId, values.now), values),
    );
    return (view, values) => runPrepared(view.#queries, { ...values, accountId: view.accountId, now: view.now });
  }

  /** Prepares a query of records by id, in any order (see `prepareQueryByIds`). */
  static prepareQueryByIds<Row>(
    build: (view: AccountView, ids: readonly number[]) => Compilable<Row>,
  ): (view: AccountView, ids: readonly number[]) => Promise<Row[]> {
    const runPrepared = prepareQueryByIds(
      (queries, ids, values: { readonly accountId: number; readonly now: number }) =>
        build(new AccountView(queries, values.accountId, values.now), ids),
    );
    return (view, ids) => runPrepared(view.#queries, ids, { accountId: view.accountId, now: view.now });
  }

  selectFrom<T extends AccountTable>(table: T): SelectQueryBuilder<Tables, T, object> {
    return this.#select(table);
  }

  /** Selects from a table whose name is known only at run time; its columns are not checked by the compiler. */
  selectFromDynamic(table: AccountTable): SelectQueryBuilder<DynamicTables, string, object> {
    return this.#select(table);
  }

  #select(table: string): DynamicQuery<object> {
    return withDynamicTables(this.#queries).selectFrom(table).where(`${table}.account_id`, '=', this.accountId);
  }
}

/** Tenant isolation for writes: one transaction, restricted to the caller's account. */
export class AccountWrite extends AccountView {
  /** The actor of this write, for the audit log. */
  readonly actor: Actor;
  /** Whether the account is below its quota of pending deliveries. If not, writes that add deliveries are rejected. */
  mayEnqueue = true;
  readonly #tx: Tx;

  /**
   * Locks the account, so create the object before the first query of the transaction.
   *
   * @param lockMode account lock mode
   * @param actor the actor for the audit log; default: the command line
   */
  constructor(
    tx: Tx,
    accountId: number,
    now: number,
    lockMode: LockMode = 'exclusive',
    actor: Actor = COMMAND_LINE_ACTOR,
  ) {
    super(tx.queries, accountId, now);
    this.actor = actor;
    this.#tx = tx;
    tx.lockAccount(accountId, lockMode);
  }

  override get cacheKey(): undefined {
    return undefined;
  }

  /** Sends a query together with the commit, without waiting for its result. */
  pipelineWithCommit(query: Compilable<unknown>): void {
    this.#tx.sendWithCommit(query);
  }

  /** Marks that permissions change with this commit, which clears the caller caches. */
  markAccessChange(): void {
    this.#tx.events.addAccessChange();
  }

  /** Returns the unrestricted transaction. Only for `delivery/`, which works across accounts; a test enforces this. */
  static transactionOf(write: AccountWrite): Tx {
    return write.#tx;
  }

  insertInto<T extends AccountTable>(
    table: T,
    rows: RowToInsert<T> | readonly RowToInsert<T>[],
  ): InsertQueryBuilder<Tables, T, InsertResult> {
    return this.#insert(table, (Array.isArray(rows) ? rows : [rows]) as readonly object[]) as InsertQueryBuilder<
      Tables,
      T,
      InsertResult
    >;
  }

  /** Inserts into a table whose name is known only at run time. */
  insertIntoDynamic(
    table: AccountTable,
    rows: readonly object[],
  ): InsertQueryBuilder<DynamicTables, string, InsertResult> {
    return this.#insert(table, rows);
  }

  /**
   * Inserts one row and returns it as stored. The query is compiled only once per table and set of columns, since every
   * creation uses it.
   */
  insertRow<T extends AccountTable>(table: T, row: RowToInsert<T>): Promise<Selectable<Tables[T]>> {
    return this.insertRowIntoDynamic(table, row) as Promise<Selectable<Tables[T]>>;
  }

  /** Inserts one row into a table whose name is known only at run time, and returns it as stored. */
  async insertRowIntoDynamic(table: AccountTable, row: object): Promise<Record<string, unknown>> {
    const columns = ['account_id', ...Object.keys(row)];
    const runInsert = getPreparedInsert(table, columns);
    const [storedRow] = await runInsert(this.#tx.queries, { ...row, account_id: this.accountId });
    if (storedRow === undefined) throw new Error(`nothing was inserted into ${table}`);
    return storedRow;
  }

  updateTable<T extends MutableTable>(table: T): UpdateQueryBuilder<Tables, T, T, UpdateResult> {
    return this.#update(table) as UpdateQueryBuilder<Tables, T, T, UpdateResult>;
  }

  /** Updates a table whose name is known only at run time. */
  updateDynamic(table: MutableTable): UpdateQueryBuilder<DynamicTables, string, string, UpdateResult> {
    return this.#update(table);
  }

  deleteFrom<T extends MutableTable>(table: T): DeleteQueryBuilder<Tables, T, DeleteResult> {
    return this.#delete(table) as DeleteQueryBuilder<Tables, T, DeleteResult>;
  }

  /** Deletes from a table whose name is known only at run time. */
  deleteFromDynamic(table: MutableTable): DeleteQueryBuilder<DynamicTables, string, DeleteResult> {
    return this.#delete(table);
  }

  #insert(table: string, rows: readonly object[]): InsertQueryBuilder<DynamicTables, string, InsertResult> {
    const values = rows.map((row) => ({ ...row, account_id: this.accountId }));
    return withDynamicTables(this.#tx.queries).insertInto(table).values(values);
  }

  #update(table: string): UpdateQueryBuilder<DynamicTables, string, string, UpdateResult> {
    return withDynamicTables(this.#tx.queries).updateTable(table).where(`${table}.account_id`, '=', this.accountId);
  }

  #delete(table: string): DeleteQueryBuilder<DynamicTables, string, DeleteResult> {
    return withDynamicTables(this.#tx.queries).deleteFrom(table).where(`${table}.account_id`, '=', this.accountId);
  }
}

/** The tables as the query builder sees them when their names are known only at run time. */
export type DynamicTables = Record<string, Record<string, unknown>>;

/** A query whose tables and columns are not checked by the compiler. */
export type DynamicQuery<Row> = SelectQueryBuilder<DynamicTables, string, Row>;

/** Kysely cannot infer the types of a table that is a type parameter, so its builder is used without types here. */
const withDynamicTables = (queries: Queries) => queries as QueryCreator<DynamicTables>;

type PreparedInsert = ReturnType<typeof prepareBatchedInsert>;

const preparedInserts = new Map<string, PreparedInsert>();

function getPreparedInsert(table: AccountTable, columns: readonly string[]): PreparedInsert {
  const statementKey = `${table}(${columns.join()})`;
  let runInsert = preparedInserts.get(statementKey);
  if (runInsert === undefined) {
    const [idColumn = ''] = Object.keys(tableColumns[table]);
    runInsert = prepareBatchedInsert(table, columns, idColumn);
    preparedInserts.set(statementKey, runInsert);
  }
  return runInsert;
}
