import type pg from 'pg';
import { splitIntoBatches } from '../../async/batches.ts';

/** Maximum number of queries per batch. Larger batches are not faster. */
const MAX_BATCH_SIZE = 128;

/** Name of the column with the number of the query to which a row belongs. */
const QUERY_NUMBER_COLUMN = 'number of the query';

type SendStatement = (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>;

type WaitingQuery = {
  readonly parameters: readonly unknown[];
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * The statement that replaces several queries of the same text. `buildParameters` returns its parameters, and
 * `splitRows` assigns its rows to the queries.
 */
type BatchedQuery = {
  /** The text of a single query. */
  readonly singleText: string;
  readonly batchText: string;
  readonly buildParameters: (queries: readonly WaitingQuery[]) => readonly unknown[];
  readonly splitRows: (rows: readonly Record<string, unknown>[], queryCount: number) => unknown[][];
};

/**
 * Query batching (as DataLoader does): concurrent queries of the same text are sent as one statement, since a
 * short query costs mostly its round trip and its execution overhead. Batches selects by numbers or text, such
 * as a record by its id, and inserts of one row. Any other query is sent on its own.
 */
export class QueryBatcher {
  readonly #send: SendStatement;
  readonly #schedule: (run: () => void) => void;
  readonly #waitingQueries = new Map<BatchedQuery, WaitingQuery[]>();

  /**
   * Creates a batcher.
   *
   * @param schedule calls its argument when all queries of one batch have been added: `setImmediate` or `nextTick`
   */
  constructor(send: SendStatement, schedule: (run: () => void) => void) {
    this.#send = send;
    this.#schedule = schedule;
  }

  async query(text: string, parameters: readonly unknown[]): Promise<unknown[]> {
    const batchedQuery = batchedQueryOf(text, parameters);
    if (batchedQuery === undefined) return (await this.#send(text, parameters)).rows;
    return new Promise((resolve, reject) => {
      if (this.#waitingQueries.size === 0) this.#schedule(() => this.#runBatches());
      const waitingQueries = this.#waitingQueries.get(batchedQuery);
      if (waitingQueries === undefined) this.#waitingQueries.set(batchedQuery, [{ parameters, resolve, reject }]);
      else waitingQueries.push({ parameters, resolve, reject });
    });
  }

  #runBatches(): void {
    const batches = [...this.#waitingQueries];
    this.#waitingQueries.clear();
    for (const [batchedQuery, waitingQueries] of batches) {
      for (const queries of splitIntoBatches(waitingQueries, MAX_BATCH_SIZE)) {
        const runningBatch =
          queries.length === 1 ? this.#runSingle(batchedQuery, queries) : this.#runBatched(batchedQuery, queries);
        runningBatch.catch((error: unknown) => {
          for (const query of queries) query.reject(error);
        });
      }
    }
  }

  async #runSingle({ singleText }: BatchedQuery, [query]: readonly WaitingQuery[]): Promise<void> {
    if (query !== undefined) query.resolve((await this.#send(singleText, query.parameters)).rows);
  }

  async #runBatched(
    { batchText, buildParameters, splitRows }: BatchedQuery,
    queries: readonly WaitingQuery[],
  ): Promise<void> {
    const { rows } = await this.#send(batchText, buildParameters(queries));
    for (const [index, rowsOfQuery] of splitRows(rows, queries.length).entries()) queries[index]?.resolve(rowsOfQuery);
  }
}

const batchedQueryByText = new Map<string, BatchedQuery | undefined>();

/** Returns the batched form of a query; undefined if the query cannot be batched. */
function batchedQueryOf(text: string, parameters: readonly unknown[]): BatchedQuery | undefined {
  if (!batchedQueryByText.has(text))
    batchedQueryByText.set(text, toBatchedInsert(text) ?? toBatchedSelect(text, parameters.map(arrayTypeOf)));
  return batchedQueryByText.get(text);
}

/**
 * Returns the array type of a parameter; undefined if its type cannot be batched. All calls of a query must have the
 * same types.
 */
function arrayTypeOf(value: unknown): string | undefined {
  if (typeof value === 'string') return 'text[]';
  return Number.isSafeInteger(value) ? 'int8[]' : undefined;
}

/**
 * Returns the batched form of a select. It expands the parameters to one row per query (`unnest`), and runs the select
 * for each of these rows (lateral join).
 */
function toBatchedSelect(text: string, arrayTypes: readonly (string | undefined)[]): BatchedQuery | undefined {
  if (!text.startsWith('select ') || arrayTypes.length === 0 || arrayTypes.includes(undefined)) return undefined;
  const unnestArguments = arrayTypes.map((type, index) => `$${index + 1}::${type}`).join(', ');
  const parameterNames = arrayTypes.map((_, index) => `p${index + 1}`).join(', ');
  return {
    singleText: text,
    batchText: `select found.*, query.number as "${QUERY_NUMBER_COLUMN}" from unnest(${unnestArguments}) with ordinality as query (${parameterNames}, number)
      cross join lateral (${text.replace(/\$(\d+)/g, 'query.p$1')}) as found`,
    buildParameters: (queries) => arrayTypes.map((_, index) => queries.map(({ parameters }) => parameters[index])),
    splitRows(rows, queryCount) {
      const rowsByQuery: unknown[][] = Array.from({ length: queryCount }, () => []);
      for (const row of rows) rowsByQuery[Number(row[QUERY_NUMBER_COLUMN]) - 1]?.push(row);
      return rowsByQuery;
    },
  };
}

const INSERT_PATTERN = /^insert into ("\w+") \(([^()]*)\) values \(([^()]*)\) returning \*$/;

/**
 * Returns the batched form of an insert. Generated ids ascend in insertion order and are the first column, so sorting
 * the rows by id assigns them to the queries.
 */
function toBatchedInsert(text: string): BatchedQuery | undefined {
  const [, table, columns = '', placeholders = ''] = INSERT_PATTERN.exec(text) ?? [];
  if (table === undefined) return undefined;
  const columnNames = columns.split(', ').map((name) => name.slice(1, -1));
  const parameterOrder = placeholders.split(', ').map((placeholder) => Number(placeholder.slice(1)) - 1);
  const toRow = ({ parameters }: WaitingQuery) =>
    Object.fromEntries(columnNames.map((name, index) => [name, parameters[parameterOrder[index] ?? index]]));
  return {
    singleText: text,
    batchText: `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1::json)
      returning *`,
    buildParameters: (queries) => [JSON.stringify(queries.map(toRow))],
    splitRows(rows, queryCount) {
      const [idColumn = ''] = Object.keys(rows[0] ?? {});
      if (rows.length !== queryCount) throw new Error(`${rows.length} rows were inserted, not ${queryCount}`);
      return rows.toSorted((one, other) => Number(one[idColumn]) - Number(other[idColumn])).map((row) => [row]);
    },
  };
}
