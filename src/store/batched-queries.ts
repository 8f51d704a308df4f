import { type OperationNodeSource, sql } from 'kysely';
import { splitIntoBatches } from '../async/batches.ts';
import { type BuiltQuery, compileOnce, Placeholder, prepareQuery, type StatementValues } from './prepared-queries.ts';
import type { Queries } from './store.ts';

/** Maximum number of executions per statement. Larger batches are not faster. */
const MAX_BATCH_SIZE = 128;

/** Name of the column with the number of the execution to which a row belongs. */
const EXECUTION_NUMBER_COLUMN = 'number of the execution';

/** A query in two forms: for one execution, and for several executions in one statement. */
type BatchedQuery = {
  /** Whether the query changes rows. */
  readonly isWrite: boolean;
  runSingle(queries: Queries, values: StatementValues): Promise<unknown[]>;
  /** Runs several executions. Returns the rows of each, in their order. */
  runBatch(queries: Queries, executions: readonly StatementValues[]): Promise<unknown[][]>;
};

/** Adds one execution of a query to the next batch, and returns its rows. */
type RunBatched = (query: BatchedQuery, values: StatementValues) => Promise<unknown[]>;

const batchFunctions = new WeakMap<Queries, RunBatched>();

/** Registers the function that runs batched queries. Without one, each execution is sent on its own. */
export function registerBatching(queries: Queries, runBatched: RunBatched): void {
  batchFunctions.set(queries, runBatched);
}

/** The type of a value in PostgreSQL. */
export type SqlType = 'int8' | 'text';

/**
 * Prepares a select whose concurrent executions can be merged into one statement. The order of its rows must not
 * matter.
 *
 * @param build builds the select. It is called with placeholders for the values of one execution, and with references
 *   to the values of all executions. It must pass them to the builder and never inspect them
 */
export function prepareBatchedSelect<Values extends StatementValues, Row>(
  valueTypes: { readonly [Name in keyof Values]: SqlType },
  build: (queries: Queries, values: Values) => BuiltQuery<Row> & OperationNodeSource,
): (queries: Queries, values: Values) => Promise<Row[]> {
  const runBatch = compileOnce((queries) => buildBatchedSelect(queries, valueTypes, build), 'prepared');
  return prepareBatched({
    isWrite: false,
    runSingle: prepareQuery(build),
    async runBatch(queries, executions) {
      const rowsByExecution: unknown[][] = executions.map(() => []);
      for (const row of await runBatch(queries, {}, executions))
        rowsByExecution[Number(row[EXECUTION_NUMBER_COLUMN]) - 1]?.push(row);
      return rowsByExecution;
    },
  });
}

/**
 * Builds the select for several executions. Their values are the rows of `unnest`, and the select runs for each of
 * these rows (lateral join).
 */
function buildBatchedSelect<Values extends StatementValues>(
  queries: Queries,
  valueTypes: { readonly [Name in keyof Values]: SqlType },
  build: (queries: Queries, values: Values) => OperationNodeSource,
) {
  const types = Object.entries<SqlType>(valueTypes);
  const arrays = types.map(([name, type]) => sql`${new Placeholder(name, 'all')}::${sql.raw(type)}[]`);
  const columns = [...types.map(([name]) => name), 'number'].map((name) => sql.ref(name));
  const references = Object.fromEntries(types.map(([name]) => [name, sql.ref(`execution.${name}`)]));
  return sql<Record<string, unknown>>`select found.*, execution.number as ${sql.ref(EXECUTION_NUMBER_COLUMN)}
    from unnest(${sql.join(arrays)}) with ordinality as execution (${sql.join(columns)})
    cross join lateral (${build(queries, references as StatementValues as Values)}) as found`;
}

/**
 * Prepares an insert of one row that returns the row as stored. Concurrent executions can be merged into one statement.
 *
 * @param idColumn the column with the generated id. Ids ascend in the order of insertion, so they tell which row belongs
 *   to which execution
 */
export function prepareBatchedInsert(
  table: string,
  columns: readonly string[],
  idColumn: string,
): (queries: Queries, row: StatementValues) => Promise<Record<string, unknown>[]> {
  const [tableReference, columnList] = [sql.table(table), sql.join(columns.map((column) => sql.ref(column)))];
  const runSingle = prepareQuery((_, row: StatementValues) => {
    const values = sql.join(columns.map((column) => row[column]));
    return sql<Record<string, unknown>>`insert into ${tableReference} (${columnList}) values (${values}) returning *`;
  });
  const runBatch = compileOnce(
    () => sql<Record<string, unknown>>`insert into ${tableReference} (${columnList}) select ${columnList}
      from json_populate_recordset(null::${tableReference}, ${new Placeholder('rows')}::json) returning *`,
    'prepared',
  );
  return prepareBatched({
    isWrite: true,
    runSingle,
    async runBatch(queries, executions) {
      const rows = await runBatch(queries, { rows: JSON.stringify(executions) }, []);
      if (rows.length !== executions.length)
        throw new Error(`${rows.length} rows were inserted, not ${executions.length}`);
      return rows.toSorted((one, other) => Number(one[idColumn]) - Number(other[idColumn])).map((row) => [row]);
    },
  });
}

function prepareBatched<Row>(query: BatchedQuery): (queries: Queries, values: StatementValues) => Promise<Row[]> {
  return async (queries, values) => {
    const runBatched = batchFunctions.get(queries);
    const rows = runBatched === undefined ? query.runSingle(queries, values) : runBatched(query, values);
    return (await rows) as Row[];
  };
}

type WaitingExecution = {
  readonly values: StatementValues;
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Query batching (as DataLoader does): concurrent executions of a query are sent as one statement, since a short query
 * costs mostly its round trip and its execution overhead.
 */
export class QueryBatcher {
  readonly #queries: Queries;
  readonly #schedule: (run: () => void) => void;
  readonly #waitingExecutions = new Map<BatchedQuery, WaitingExecution[]>();

  /**
   * Creates a batcher.
   *
   * @param queries sends the statements
   * @param schedule calls its argument when all executions of one batch have been added: `setImmediate` or `nextTick`
   */
  constructor(queries: Queries, schedule: (run: () => void) => void) {
    this.#queries = queries;
    this.#schedule = schedule;
  }

  run(query: BatchedQuery, values: StatementValues): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      if (this.#waitingExecutions.size === 0) this.#schedule(() => this.#runBatches());
      const executions = this.#waitingExecutions.get(query);
      if (executions === undefined) this.#waitingExecutions.set(query, [{ values, resolve, reject }]);
      else executions.push({ values, resolve, reject });
    });
  }

  #runBatches(): void {
    const waitingExecutions = [...this.#waitingExecutions];
    this.#waitingExecutions.clear();
    for (const [query, executions] of waitingExecutions) {
      for (const batch of splitIntoBatches(executions, MAX_BATCH_SIZE)) {
        this.#runBatch(query, batch).catch((error: unknown) => {
          for (const { reject } of batch) reject(error);
        });
      }
    }
  }

  async #runBatch(query: BatchedQuery, batch: readonly WaitingExecution[]): Promise<void> {
    const [first] = batch;
    const rowsByExecution =
      batch.length === 1 && first !== undefined
        ? [await query.runSingle(this.#queries, first.values)]
        : await query.runBatch(
            this.#queries,
            batch.map(({ values }) => values),
          );
    for (const [index, { resolve }] of batch.entries()) resolve(rowsByExecution[index] ?? []);
  }
}
