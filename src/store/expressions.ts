import { type RawBuilder, sql } from 'kysely';

/** A whole number among what a query selects: there, PostgreSQL would take a bare value for text. */
export function whole(value: number): RawBuilder<number> {
  return sql<number>`cast(${value} as bigint)`;
}

/** A text among what a query selects, told for the same reason. */
export function text(value: string): RawBuilder<string> {
  return sql<string>`cast(${value} as text)`;
}
