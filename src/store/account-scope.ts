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
import { type Actor, COMMAND_LINE } from '../permissions.ts';
import { type Planned, prepared, preparedByIds } from './prepared-queries.ts';
import type { LockMode, Queries, Tx } from './store.ts';
import type { AccountTable, ChangingTable, Tables } from './tables.ts';

/** A row to be inserted, without the account: the scope knows it. */
export type NewRow<T extends AccountTable> = Omit<Insertable<Tables[T]>, 'account_id'>;

/**
 * What a caller may read: queries that begin at a table are already narrowed to the caller's account. The raw queries
 * are private, so a query that forgets the account does not compile (C3).
 */
export class AccountView {
  readonly accountId: number;
  /** The moment of this call, milliseconds since the epoch. */
  readonly now: number;
  readonly #queries: Queries;

  constructor(queries: Queries, accountId: number, now: number) {
    this.#queries = queries;
    this.accountId = accountId;
    this.now = now;
  }

  /** Where this reads what is committed, to be known again by; undefined inside of a transaction, which has changes of its own. */
  get committed(): object | undefined {
    return this.#queries;
  }

  /**
   * A query over an account for the hot path, built and compiled once (see `prepared`): what differs from call to call,
   * the account and the moment among it, are placeholders to `build`, which hands them on and never looks at them.
   */
  static prepared<Values extends Readonly<Record<string, unknown>>, Row>(
    build: (view: AccountView, values: Values) => Compilable<Row>,
    planned?: Planned,
  ): (view: AccountView, values: Values) => Promise<Row[]> {
    const run = prepared(
      (queries, values: Values & { readonly accountId: number; readonly now: number }) =>
        build(new AccountView(queries, values.accountId, values.now), values),
      planned,
    );
    return (view, values) => run(view.#queries, { ...values, accountId: view.accountId, now: view.now });
  }

  /** The same for records by their ids, in any order (see `preparedByIds`). */
  static preparedByIds<Row>(
    build: (view: AccountView, ids: readonly number[]) => Compilable<Row>,
  ): (view: AccountView, ids: readonly number[]) => Promise<Row[]> {
    const run = preparedByIds((queries, ids, values: { readonly accountId: number; readonly now: number }) =>
      build(new AccountView(queries, values.accountId, values.now), ids),
    );
    return (view, ids) => run(view.#queries, ids, { accountId: view.accountId, now: view.now });
  }

  selectFrom<T extends AccountTable>(table: T): SelectQueryBuilder<Tables, T, object> {
    // Kysely cannot follow a table that is a type parameter; what is narrowed here is told to it by hand, once.
    const query = this.#queries
      .selectFrom(table as AccountTable)
      .where(`${table}.account_id` as never, '=', this.accountId as never);
    return query as unknown as SelectQueryBuilder<Tables, T, object>;
  }
}

/** What a caller may change: one transaction, narrowed to the caller's account. */
export class AccountWrite extends AccountView {
  /** Who acts, for the audit log. */
  readonly by: Actor;
  /** Whether the account may be pending more than it is; where not, what would add to it is refused. */
  mayEnqueue = true;
  readonly #tx: Tx;

  /**
   * @param how which other writes of the account wait for this one; to be made before the transaction asks anything
   * @param by who acts; left out: whoever is at the command line
   */
  constructor(tx: Tx, accountId: number, now: number, how: LockMode = 'alone', by: Actor = COMMAND_LINE) {
    super(tx.queries, accountId, now);
    this.by = by;
    this.#tx = tx;
    tx.lockAccount(accountId, how);
  }

  override get committed(): undefined {
    return undefined;
  }

  /** Queries whose results the work need not wait for: they are sent with the commit. */
  pipelineWithCommit(query: Compilable<unknown>): void {
    this.#tx.withCommit(query);
  }

  /** Who may do what is different from the moment at which this commits. */
  accessChanges(): void {
    this.#tx.news.addAccessChange();
  }

  /** The whole transaction: for `delivery/` alone, which tells hooks across accounts; a test keeps it so. */
  static transactionOf(write: AccountWrite): Tx {
    return write.#tx;
  }

  insertInto<T extends AccountTable>(
    table: T,
    rows: NewRow<T> | readonly NewRow<T>[],
  ): InsertQueryBuilder<Tables, T, InsertResult> {
    const list = (Array.isArray(rows) ? rows : [rows]) as readonly object[];
    const values = list.map((row) => ({ ...row, account_id: this.accountId }));
    const query = this.#tx.queries.insertInto(table as AccountTable).values(values as never);
    return query as unknown as InsertQueryBuilder<Tables, T, InsertResult>;
  }

  /**
   * Inserts one row and answers it as stored. Compiled once for each table and set of columns, since it is what every
   * creation does.
   */
  async insertRow<T extends AccountTable>(table: T, row: NewRow<T>): Promise<Selectable<Tables[T]>> {
    const columns = ['account_id', ...Object.keys(row)];
    const insert = insertOf(table, columns);
    const [stored] = await insert(this.#tx.queries, { ...row, account_id: this.accountId });
    if (stored === undefined) throw new Error(`nothing was inserted into ${table}`);
    return stored as Selectable<Tables[T]>;
  }

  updateTable<T extends ChangingTable>(table: T): UpdateQueryBuilder<Tables, T, T, UpdateResult> {
    const query = this.#tx.queries
      .updateTable(table as AccountTable)
      .where(`${table}.account_id` as never, '=', this.accountId as never);
    return query as unknown as UpdateQueryBuilder<Tables, T, T, UpdateResult>;
  }

  deleteFrom<T extends ChangingTable>(table: T): DeleteQueryBuilder<Tables, T, DeleteResult> {
    const query = this.#tx.queries
      .deleteFrom(table as AccountTable)
      .where(`${table}.account_id` as never, '=', this.accountId as never);
    return query as unknown as DeleteQueryBuilder<Tables, T, DeleteResult>;
  }
}

type InsertOne = (queries: Queries, row: Readonly<Record<string, unknown>>) => Promise<unknown[]>;

const inserts = new Map<string, InsertOne>();

function insertOf(table: AccountTable, columns: readonly string[]): InsertOne {
  const name = `${table}(${columns.join()})`;
  let insert = inserts.get(name);
  if (insert === undefined) {
    insert = prepared((queries, values: Readonly<Record<string, unknown>>) => {
      const row = Object.fromEntries(columns.map((column) => [column, values[column]]));
      return queries
        .insertInto(table)
        .values(row as never)
        .returningAll();
    }, 'together');
    inserts.set(name, insert);
  }
  return insert;
}
