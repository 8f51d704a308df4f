import type { Compilable, CompiledQuery, DialectAdapter } from 'kysely';
import type { Queries } from './store.ts';

/** Stands for a value that is not known when the query is compiled: by its name, and of which thing of a list. */
class Placeholder {
  readonly name: string;
  readonly item: number | undefined;

  constructor(name: string, item?: number) {
    this.name = name;
    this.item = item;
  }
}

/**
 * How often the database itself plans a query: once for each connection, or each time anew, where what is best depends
 * on the values. `together`: once, and those of the same text that are asked at the same moment may be one query, where the
 * database is some way off: a read by numbers, whose rows come in any order; or the insertion of one numbered row.
 */
export type Planned = 'once' | 'anew' | 'together';

/** Runs SQL on one connection and answers its rows. */
export type Run = (sql: string, parameters: readonly unknown[], planned: Planned) => unknown[] | Promise<unknown[]>;

const runners = new WeakMap<Queries, Run>();

/** Says how compiled queries run on a connection: past the query builder, straight to it. */
export function runDirectly(queries: Queries, run: Run): void {
  runners.set(queries, run);
}

/** Whether there are other writers at the same time, in this process or another. */
export function isShared(queries: Queries): boolean {
  return queries.getExecutor().adapter.supportsMultipleConnections === true;
}

/** A query whose rows can be kept from others. */
type Lockable = { forNoKeyUpdate(): unknown; skipLocked(): unknown };

/** Keeps the rows that a query finds from being changed by others until the transaction is through that it is a part of. */
export function locked<Q extends Lockable>(queries: Queries, query: Q): Q {
  // Where there is one writer at a time, they are kept already.
  return isShared(queries) ? (query.forNoKeyUpdate() as Q) : query;
}

/** The same, but for the rows that another transaction keeps: they are passed over, and nobody waits for anybody. */
export function lockedOrSkipped<Q extends Lockable>(queries: Queries, query: Q): Q {
  return isShared(queries) ? ((query.forNoKeyUpdate() as Q).skipLocked() as Q) : query;
}

type Values = Readonly<Record<string, unknown>>;

/** What a query is made from: by the builder, or in SQL. */
type Built<Row> = { compile(queries: Queries): CompiledQuery<Row> };

/** A query that was built once, with what stands for the values of each call. */
type Compiled<Row> = (queries: Queries, values: Values, items: readonly Values[]) => Promise<Row[]>;

function compiledOnce<Row>(build: (queries: Queries) => Built<Row>, planned: Planned): Compiled<Row> {
  const compiledFor = new WeakMap<DialectAdapter, CompiledQuery<Row>>();
  return async (queries, values, items) => {
    const { adapter } = queries.getExecutor();
    let compiled = compiledFor.get(adapter);
    if (compiled === undefined) {
      compiled = build(queries).compile(queries);
      compiledFor.set(adapter, compiled);
    }
    const parameters = compiled.parameters.map((one) => {
      if (!(one instanceof Placeholder)) return one;
      return one.item === undefined ? values[one.name] : items[one.item]?.[one.name];
    });
    const run = runners.get(queries);
    if (run !== undefined) return (await run(compiled.sql, parameters, planned)) as Row[];
    const { rows } = await queries.executeQuery<Row>({ ...compiled, parameters });
    return rows;
  };
}

/**
 * A query for the hot path: built and compiled once for each database, then run with the values of each call. `build`
 * receives placeholders instead of values; it hands them to the builder and never looks at them.
 */
export function prepared<Given extends Values, Row>(
  build: (queries: Queries, values: Given) => Built<Row>,
  planned: Planned = 'once',
): (queries: Queries, values: Given) => Promise<Row[]> {
  const run = compiledOnce((queries) => build(queries, placeholders<Given>()), planned);
  return (queries, values) => run(queries, values, []);
}

/** The longest list that one query is compiled for: each length is a text of its own, and of those there are to be few. */
const MAX_PIECE_LENGTH = 128;

/**
 * The same over a list: it is taken apart into pieces, each as long as a power of two, so that a few texts serve lists of
 * any length. All pieces are sent at once, in the order of the list.
 */
export function preparedOver<Item extends Values, Given extends Values, Row>(
  build: (queries: Queries, items: readonly Item[], values: Given) => Built<Row>,
): (queries: Queries, items: readonly Item[], values: Given) => Promise<Row[]> {
  const compiledFor = compiledByLength(build);
  return async (queries, items, values) => {
    const answers = piecesOf(items).map((piece) => compiledFor(piece.length)(queries, values, piece));
    return (await Promise.all(answers)).flat();
  };
}

/** The most ids of one query. */
const MAX_IDS = 1_024;

/**
 * The same for records by their ids, in any order. The ids are one query as long as they are no more than a page: the last
 * of them is repeated until there are as many as a power of two.
 */
export function preparedByIds<Given extends Values, Row>(
  build: (queries: Queries, ids: readonly number[], values: Given) => Built<Row>,
): (queries: Queries, ids: readonly number[], values: Given) => Promise<Row[]> {
  const compiledFor = compiledByLength((queries, items: readonly { readonly id: number }[], values: Given) => {
    const ids = items.map(({ id }) => id);
    return build(queries, ids, values);
  });
  const some = (queries: Queries, ids: readonly number[], values: Given) => {
    const length = 2 ** Math.ceil(Math.log2(ids.length));
    const items = Array.from({ length }, (_, index) => ({ id: ids[index] ?? ids.at(-1) }));
    return compiledFor(length)(queries, values, items);
  };
  return async (queries, ids, values) => {
    const answers: Promise<Row[]>[] = [];
    for (let begin = 0; begin < ids.length; begin += MAX_IDS)
      answers.push(some(queries, ids.slice(begin, begin + MAX_IDS), values));
    return (await Promise.all(answers)).flat();
  };
}

function compiledByLength<Item extends Values, Given extends Values, Row>(
  build: (queries: Queries, items: readonly Item[], values: Given) => Built<Row>,
): (length: number) => Compiled<Row> {
  const ofLength = new Map<number, Compiled<Row>>();
  return (length) => {
    const known = ofLength.get(length);
    if (known !== undefined) return known;
    const items = Array.from({ length }, (_, item) => placeholders<Item>(item));
    const compiled = compiledOnce((queries) => build(queries, items, placeholders<Given>()), 'once');
    ofLength.set(length, compiled);
    return compiled;
  };
}

function piecesOf<Item>(items: readonly Item[]): (readonly Item[])[] {
  const pieces: (readonly Item[])[] = [];
  let begin = 0;
  for (let length = MAX_PIECE_LENGTH; begin < items.length; ) {
    if (length > items.length - begin) length /= 2;
    else {
      pieces.push(items.slice(begin, begin + length));
      begin += length;
    }
  }
  return pieces;
}

/** Sends a query this very moment, so that whatever is sent later comes after it. */
export async function sendPipelined<Row>(queries: Queries, query: Compilable<Row>): Promise<Row[]> {
  const run = runners.get(queries);
  if (run === undefined) throw new Error('this connection takes no compiled queries');
  const { sql, parameters } = query.compile();
  return (await run(sql, parameters, 'once')) as Row[];
}

function placeholders<Given>(item?: number): Given {
  const named = new Proxy({}, { get: (_, name) => new Placeholder(String(name), item) });
  return named as Given;
}
