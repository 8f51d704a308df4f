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

/** Access to the id sequences of a database. Both databases export it as `sequences`. */
export type Sequences = {
  /** Returns the sequences of all tables with generated ids, from the catalog of the database. */
  readAll(queries: Queries): Promise<readonly Sequence[]>;
  /** Raises a sequence to at least `lastId`. The next generated id is higher. */
  raise(queries: Queries, sequence: Sequence, lastId: number): Promise<void>;
};
