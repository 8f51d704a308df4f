import { sql } from 'kysely';
import type { Sequence, Sequences } from '../sequences.ts';
import type { Queries } from '../store.ts';

/** SQLite stores the last id of each `autoincrement` table in `sqlite_sequence`, once the table has had a row. */
export const sequences: Sequences = {
  async readAll(queries) {
    const { rows } = await sql<{ table: string; column: string }>`
      select m.name as "table", c.name as "column" from sqlite_master m join pragma_table_info(m.name) c on c.pk = 1
      where m.type = 'table' and m.sql like '%autoincrement%' order by m.name`.execute(queries);
    const allSequences: Sequence[] = [];
    for (const row of rows) allSequences.push({ ...row, last: await readLastId(queries, row) });
    return allSequences;
  },
  async raise(queries, { table }, lastId) {
    const { numAffectedRows } = await sql`
      update sqlite_sequence set seq = max(seq, cast(${lastId} as integer)) where name = ${table}`.execute(queries);
    if (numAffectedRows === 0n)
      await sql`insert into sqlite_sequence (name, seq) values (${table}, cast(${lastId} as integer))`.execute(queries);
  },
};

async function readLastId(queries: Queries, { table, column }: Omit<Sequence, 'last'>): Promise<number> {
  const { rows } = await sql<{ last: number }>`
    select max(coalesce((select max(${sql.ref(column)}) from ${sql.table(table)}), 0),
      coalesce((select seq from sqlite_sequence where name = ${table}), 0)) as last`.execute(queries);
  return rows[0]?.last ?? 0;
}
