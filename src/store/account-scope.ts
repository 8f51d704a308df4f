import type {
  Compilable,
  DeleteQueryBuilder,
  DeleteResult,
  Insertable,
  InsertQueryBuilder,
  InsertResult,
  Selectable,
  SelectQueryBuilder,
  UpdateQueryBuilder,
  UpdateResult,
} from 'kysely';
import { type Actor, COMMAND_LINE_ACTOR } from '../permissions.ts';
import { prepareQuery, prepareQueryByIds, type StatementMode } from './prepared-queries.ts';
import type { LockMode, Queries, Tx } from './store.ts';
import type { AccountTable, MutableTable, Tables } from './tables.ts';

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
    // Kysely cannot infer the types of a table that is a type parameter, hence the casts.
    const query = this.#queries
      .selectFrom(table as AccountTable)
      .where(`${table}.account_id` as never, '=', this.accountId as never);
    return query as unknown as SelectQueryBuilder<Tables, T, object>;
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
    const rowList = (Array.isArray(rows) ? rows : [rows]) as readonly object[];
    const values = rowList.map((row) => ({ ...row, account_id: this.accountId }));
    const query = this.#tx.queries.insertInto(table as AccountTable).values(values as never);
    return query as unknown as InsertQueryBuilder<Tables, T, InsertResult>;
  }

  /**
   * Inserts one row and returns it as stored. The query is compiled only once per table and set of columns, since every
   * creation uses it.
   */
  async insertRow<T extends AccountTable>(table: T, row: RowToInsert<T>): Promise<Selectable<Tables[T]>> {
    const columns = ['account_id', ...Object.keys(row)];
    const runInsert = getPreparedInsert(table, columns);
    const [storedRow] = await runInsert(this.#tx.queries, { ...row, account_id: this.accountId });
    if (storedRow === undefined) throw new Error(`nothing was inserted into ${table}`);
    return storedRow as Selectable<Tables[T]>;
  }

  updateTable<T extends MutableTable>(table: T): UpdateQueryBuilder<Tables, T, T, UpdateResult> {
    const query = this.#tx.queries
      .updateTable(table as AccountTable)
      .where(`${table}.account_id` as never, '=', this.accountId as never);
    return query as unknown as UpdateQueryBuilder<Tables, T, T, UpdateResult>;
  }

  deleteFrom<T extends MutableTable>(table: T): DeleteQueryBuilder<Tables, T, DeleteResult> {
    const query = this.#tx.queries
      .deleteFrom(table as AccountTable)
      .where(`${table}.account_id` as never, '=', this.accountId as never);
    return query as unknown as DeleteQueryBuilder<Tables, T, DeleteResult>;
  }
}

type PreparedInsert = (queries: Queries, row: Readonly<Record<string, unknown>>) => Promise<unknown[]>;

const preparedInserts = new Map<string, PreparedInsert>();

function getPreparedInsert(table: AccountTable, columns: readonly string[]): PreparedInsert {
  const statementKey = `${table}(${columns.join()})`;
  let runInsert = preparedInserts.get(statementKey);
  if (runInsert === undefined) {
    runInsert = prepareQuery((queries, values: Readonly<Record<string, unknown>>) => {
      const row = Object.fromEntries(columns.map((column) => [column, values[column]]));
      return queries
        .insertInto(table)
        .values(row as never)
        .returningAll();
    }, 'batched');
    preparedInserts.set(statementKey, runInsert);
  }
  return runInsert;
}
