import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

type Queries = Kysely<Tables>;

/** The id sequence of one table. */
export type Sequence = {
  readonly table: string;
  readonly column: string;
  /** The highest id that was issued or is in the table; 0 for none. */
  readonly last: number;
};

/** Access to the id sequences of a database. Each implementation exports one as `sequences`. */
export type Sequences = {
  /** The sequences of all tables with generated ids, from the database's catalog. */
  all(queries: Queries): Promise<readonly Sequence[]>;
  /** Raises the sequence to at least `last`; the next id is higher. */
  raise(queries: Queries, sequence: Sequence, last: number): Promise<void>;
};
