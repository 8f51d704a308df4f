import type pg from 'pg';

/** Maximum number of queries per batch. Larger batches save nothing more. */
const MAX_BATCH_SIZE = 128;

/** Name of the column with the number of the query to which a row belongs. */
const QUERY_NUMBER_COLUMN = 'number of the query';

type SendStatement = (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>;

type WaitingQuery = {
  readonly parameters: readonly unknown[];
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
};

/** One statement for several queries of the same text: its parameters, and how its rows are split among the queries. */
type BatchedQuery = {
  /** The text of a single query. */
  readonly single: string;
  readonly text: string;
  readonly values: (queries: readonly WaitingQuery[]) => readonly unknown[];
  readonly split: (rows: readonly Record<string, unknown>[], count: number) => unknown[][];
};

/**
 * Query batching (as DataLoader does): concurrent queries of the same text are sent as one statement, since a
 * short query costs mostly its round trip and its execution overhead. Batches selects by numbers or text, such
 * as a record by its id, and inserts of one row. Any other query is sent on its own.
 */
export class QueryBatcher {
  readonly #send: SendStatement;
  readonly #schedule: (run: () => void) => void;
  readonly #waiting = new Map<BatchedQuery, WaitingQuery[]>();

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
    const batched = batchFormOf(text, parameters);
    if (batched === undefined) return (await this.#send(text, parameters)).rows;
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) this.#schedule(() => this.#runAll());
      const others = this.#waiting.get(batched);
      if (others === undefined) this.#waiting.set(batched, [{ parameters, resolve, reject }]);
      else others.push({ parameters, resolve, reject });
    });
  }

  #runAll(): void {
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const [batched, waiting] of all) {
      for (let first = 0; first < waiting.length; first += MAX_BATCH_SIZE) {
        const queries = waiting.slice(first, first + MAX_BATCH_SIZE);
        const running = queries.length === 1 ? this.#runSingle(batched, queries) : this.#runBatched(batched, queries);
        running.catch((error: unknown) => {
          for (const query of queries) query.reject(error);
        });
      }
    }
  }

  async #runSingle({ single }: BatchedQuery, [query]: readonly WaitingQuery[]): Promise<void> {
    if (query !== undefined) query.resolve((await this.#send(single, query.parameters)).rows);
  }

  async #runBatched({ text, values, split }: BatchedQuery, queries: readonly WaitingQuery[]): Promise<void> {
    const { rows } = await this.#send(text, values(queries));
    for (const [index, found] of split(rows, queries.length).entries()) queries[index]?.resolve(found);
  }
}

const batchedByText = new Map<string, BatchedQuery | undefined>();

/** Returns the batched form of a query; undefined if the query cannot be batched. */
function batchFormOf(text: string, parameters: readonly unknown[]): BatchedQuery | undefined {
  if (!batchedByText.has(text))
    batchedByText.set(text, batchedInsert(text) ?? batchedSelect(text, parameters.map(arrayTypeOf)));
  return batchedByText.get(text);
}

/**
 * Returns the array type of a parameter; undefined if its type cannot be batched. All calls of a query must have the
 * same types.
 */
function arrayTypeOf(value: unknown): string | undefined {
  if (typeof value === 'string') return 'text[]';
  return Number.isSafeInteger(value) ? 'int8[]' : undefined;
}

/** Returns the batched form of a select: `unnest` the parameters, one row per query, and lateral-join the select. */
function batchedSelect(text: string, types: readonly (string | undefined)[]): BatchedQuery | undefined {
  if (!text.startsWith('select ') || types.length === 0 || types.includes(undefined)) return undefined;
  const lists = types.map((type, column) => `$${column + 1}::${type}`).join(', ');
  const names = types.map((_, column) => `p${column + 1}`).join(', ');
  return {
    single: text,
    text: `select found.*, query.number as "${QUERY_NUMBER_COLUMN}" from unnest(${lists}) with ordinality as query (${names}, number)
      cross join lateral (${text.replace(/\$(\d+)/g, 'query.p$1')}) as found`,
    values: (queries) => types.map((_, column) => queries.map(({ parameters }) => parameters[column])),
    split(rows, count) {
      const found: unknown[][] = Array.from({ length: count }, () => []);
      for (const row of rows) found[Number(row[QUERY_NUMBER_COLUMN]) - 1]?.push(row);
      return found;
    },
  };
}

const INSERT_PATTERN = /^insert into ("\w+") \(([^()]*)\) values \(([^()]*)\) returning \*$/;

/**
 * Returns the batched form of an insert. Generated ids ascend in insertion order and are the first column, so sorting
 * the rows by id assigns them to the queries.
 */
function batchedInsert(text: string): BatchedQuery | undefined {
  const [, table, columns = '', placeholders = ''] = INSERT_PATTERN.exec(text) ?? [];
  if (table === undefined) return undefined;
  const names = columns.split(', ').map((name) => name.slice(1, -1));
  const order = placeholders.split(', ').map((placeholder) => Number(placeholder.slice(1)) - 1);
  const rowOf = ({ parameters }: WaitingQuery) =>
    Object.fromEntries(names.map((name, column) => [name, parameters[order[column] ?? column]]));
  return {
    single: text,
    text: `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1::json)
      returning *`,
    values: (queries) => [JSON.stringify(queries.map(rowOf))],
    split(rows, count) {
      const [id = ''] = Object.keys(rows[0] ?? {});
      if (rows.length !== count) throw new Error(`${rows.length} rows were inserted, not ${count}`);
      return rows.toSorted((one, other) => Number(one[id]) - Number(other[id])).map((row) => [row]);
    },
  };
}
