import type pg from 'pg';

/** How many queries one answers for at the most: beyond that, a longer one would save nothing more. */
const MAX_BATCH_SIZE = 128;

/** Which of the queries a row belongs to. */
const TURN = 'turn of the query';

/** Sends a text with its values. */
type Ask = (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>;

/** One query that waits to be asked. */
type Waiting = {
  readonly parameters: readonly unknown[];
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
};

/** Several queries of one text, as one: what it says, what its values are, and which of its rows are whose. */
type BatchedQuery = {
  /** Of one of them. */
  readonly alone: string;
  readonly text: string;
  readonly values: (queries: readonly Waiting[]) => readonly unknown[];
  readonly share: (rows: readonly Record<string, unknown>[], among: number) => unknown[][];
};

/**
 * Queries of the same text that are asked at the same moment, as one: most of what a short query costs a database is that
 * it is a query. So are reads by numbers and words, such as that of a record by its id, and insertions of one row.
 */
export class QueryBatcher {
  readonly #ask: Ask;
  readonly #whenAsked: (act: () => void) => void;
  readonly #waiting = new Map<BatchedQuery, Waiting[]>();

  /** @param whenAsked does something when all have asked that do so at this moment */
  constructor(ask: Ask, whenAsked: (act: () => void) => void) {
    this.#ask = ask;
    this.#whenAsked = whenAsked;
  }

  async ask(text: string, parameters: readonly unknown[]): Promise<unknown[]> {
    const joined = batchedFor(text, parameters);
    if (joined === undefined) return (await this.#ask(text, parameters)).rows;
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) this.#whenAsked(() => this.#runAll());
      const others = this.#waiting.get(joined);
      if (others === undefined) this.#waiting.set(joined, [{ parameters, resolve, reject }]);
      else others.push({ parameters, resolve, reject });
    });
  }

  #runAll(): void {
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const [joined, waiting] of all) {
      for (let first = 0; first < waiting.length; first += MAX_BATCH_SIZE) {
        const some = waiting.slice(first, first + MAX_BATCH_SIZE);
        const asked = some.length === 1 ? this.#runOne(joined, some) : this.#runBatched(joined, some);
        asked.catch((error: unknown) => {
          for (const one of some) one.reject(error);
        });
      }
    }
  }

  async #runOne({ alone }: BatchedQuery, [one]: readonly Waiting[]): Promise<void> {
    if (one !== undefined) one.resolve((await this.#ask(alone, one.parameters)).rows);
  }

  async #runBatched({ text, values, share }: BatchedQuery, queries: readonly Waiting[]): Promise<void> {
    const { rows } = await this.#ask(text, values(queries));
    for (const [index, found] of share(rows, queries.length).entries()) queries[index]?.resolve(found);
  }
}

const known = new Map<string, BatchedQuery | undefined>();

/** The one that stands for several of a text; undefined where they have to be asked each for itself. */
function batchedFor(text: string, parameters: readonly unknown[]): BatchedQuery | undefined {
  if (!known.has(text)) known.set(text, insertion(text) ?? reading(text, parameters.map(typeOf)));
  return known.get(text);
}

/** The type of what a read compares with: the same in all of its calls. */
function typeOf(value: unknown): string | undefined {
  if (typeof value === 'string') return 'text[]';
  return Number.isSafeInteger(value) ? 'int8[]' : undefined;
}

/** The parameters of each read are a row, and the read is made for each row. */
function reading(text: string, types: readonly (string | undefined)[]): BatchedQuery | undefined {
  if (!text.startsWith('select ') || types.length === 0 || types.includes(undefined)) return undefined;
  const lists = types.map((type, column) => `$${column + 1}::${type}`).join(', ');
  const names = types.map((_, column) => `p${column + 1}`).join(', ');
  return {
    alone: text,
    text: `select found.*, asked.turn as "${TURN}" from unnest(${lists}) with ordinality as asked (${names}, turn)
      cross join lateral (${text.replace(/\$(\d+)/g, 'asked.p$1')}) as found`,
    values: (queries) => types.map((_, column) => queries.map(({ parameters }) => parameters[column])),
    share(rows, among) {
      const found: unknown[][] = Array.from({ length: among }, () => []);
      for (const row of rows) found[Number(row[TURN]) - 1]?.push(row);
      return found;
    },
  };
}

const INSERTION = /^insert into ("\w+") \(([^()]*)\) values \(([^()]*)\) returning \*$/;

/** The rows are numbered in the order in which they are inserted, and their number is the first of their columns. */
function insertion(text: string): BatchedQuery | undefined {
  const [, table, columns = '', places = ''] = INSERTION.exec(text) ?? [];
  if (table === undefined) return undefined;
  const names = columns.split(', ').map((name) => name.slice(1, -1));
  const order = places.split(', ').map((place) => Number(place.slice(1)) - 1);
  const rowOf = ({ parameters }: Waiting) =>
    Object.fromEntries(names.map((name, column) => [name, parameters[order[column] ?? column]]));
  return {
    alone: text,
    text: `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1::json)
      returning *`,
    values: (queries) => [JSON.stringify(queries.map(rowOf))],
    share(rows, among) {
      const [id = ''] = Object.keys(rows[0] ?? {});
      if (rows.length !== among) throw new Error(`${rows.length} rows were inserted, not ${among}`);
      return rows.toSorted((one, other) => Number(one[id]) - Number(other[id])).map((row) => [row]);
    },
  };
}
