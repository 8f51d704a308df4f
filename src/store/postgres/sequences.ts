import { sql } from 'kysely';
import type { Sequence, Sequences } from '../sequences.ts';
import type { Queries } from '../store.ts';

/** PostgreSQL keeps the last id of each identity column in a sequence, which is not transactional. */
export const sequences: Sequences = {
  async readAll(queries) {
    // Partitions use the sequence of their parent table.
    const { rows } = await sql<{ table: string; column: string }>`
      select c.relname as "table", a.attname as "column" from pg_attribute a join pg_class c on c.oid = a.attrelid
      where a.attidentity <> '' and c.relkind in ('r', 'p') and not c.relispartition
        and c.relnamespace = current_schema()::regnamespace
      order by c.relname`.execute(queries);
    const allSequences: Sequence[] = [];
    for (const row of rows) allSequences.push({ ...row, last: await readLastId(queries, row) });
    return allSequences;
  },
  async raise(queries, { table, column }, lastId) {
    await sql`select setval(pg_get_serial_sequence(${table}, ${column}), greatest(${lastId}::bigint,
      coalesce(pg_sequence_last_value(pg_get_serial_sequence(${table}, ${column})::regclass), 0)))`.execute(queries);
  },
};

async function readLastId(queries: Queries, { table, column }: Omit<Sequence, 'last'>): Promise<number> {
  const { rows } = await sql<{ last: number }>`
    select greatest((select max(${sql.ref(column)}) from ${sql.table(table)}),
      pg_sequence_last_value(pg_get_serial_sequence(${table}, ${column})::regclass), 0) as last`.execute(queries);
  return rows[0]?.last ?? 0;
}
