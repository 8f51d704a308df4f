import type { Compilable, CompiledQuery, DialectAdapter } from 'kysely';
import type { Queries } from './store.ts';

/** Stands for a value that is not known when the query is compiled. */
class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * How often the database itself plans a query: once for each connection, or each time anew, where what is best depends
 * on the values. SQLite knows the first way alone.
 */
export type Planned = 'once' | 'anew';

/** Runs SQL on one connection and answers its rows. */
export type Run = (sql: string, parameters: readonly unknown[], planned: Planned) => unknown[] | Promise<unknown[]>;

const runners = new WeakMap<Queries, Run>();

/** Says how compiled queries run on a connection: past the query builder, straight to it. */
export function runDirectly(queries: Queries, run: Run): void {
  runners.set(queries, run);
}

/**
 * A query for the hot path: built and compiled once for each database, then run with the values of each call. `build`
 * receives placeholders instead of values; it hands them to the builder and never looks at them.
 */
export function prepared<Values extends Readonly<Record<string, unknown>>, Row>(
  build: (queries: Queries, values: Values) => Compilable<Row>,
  planned: Planned = 'once',
): (queries: Queries, values: Values) => Promise<Row[]> {
  const compiledFor = new WeakMap<DialectAdapter, CompiledQuery<Row>>();
  return async (queries, values) => {
    const { adapter } = queries.getExecutor();
    let compiled = compiledFor.get(adapter);
    if (compiled === undefined) {
      compiled = build(queries, placeholders<Values>()).compile();
      compiledFor.set(adapter, compiled);
    }
    const parameters = compiled.parameters.map((one) => (one instanceof Placeholder ? values[one.name] : one));
    const run = runners.get(queries);
    if (run !== undefined) return (await run(compiled.sql, parameters, planned)) as Row[];
    const { rows } = await queries.executeQuery<Row>({ ...compiled, parameters });
    return rows;
  };
}

/** Sends a query this very moment, so that whatever is sent later comes after it. */
export async function sendNow<Row>(queries: Queries, query: Compilable<Row>): Promise<Row[]> {
  const run = runners.get(queries);
  if (run === undefined) throw new Error('this connection takes no compiled queries');
  const { sql, parameters } = query.compile();
  return (await run(sql, parameters, 'once')) as Row[];
}

function placeholders<Values>(): Values {
  const named = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) });
  return named as Values;
}
