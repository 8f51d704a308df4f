import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

type Queries = Kysely<Tables>;

/** What numbers the rows of one table. */
export type Sequence = {
  readonly table: string;
  readonly column: string;
  /** The last number that it issued, or that stands in the table, whichever is more; 0 for none. */
  readonly last: number;
};

/** How a database numbers its rows. Each exports one under the name `sequences`. */
export type Sequences = {
  /** Every table whose ids the database issues, as the database itself says it. */
  all(queries: Queries): Promise<readonly Sequence[]>;
  /** From now on, ids behind `last` are issued. Never goes back. */
  raise(queries: Queries, sequence: Sequence, last: number): Promise<void>;
};
