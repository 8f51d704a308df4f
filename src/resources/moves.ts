import type { Caller } from '../access.ts';
import { nouns } from '../delivery/kinds.ts';
import type { Fact } from '../delivery/record.ts';
import type { AccountWrite } from '../store/account.ts';
import { type ListedNoun, tables } from './listed.ts';
import { relationsOf, relationsTo } from './relations.ts';

/**
 * What names a record goes along when that moves: it names what the record belongs to now.
 *
 * @param to the fields of what the record belongs to now, with their ids
 * @returns what was changed by it
 */
export async function moveAlong(
  write: AccountWrite,
  { userId }: Caller,
  moved: { readonly noun: ListedNoun; readonly id: number },
  to: Readonly<Record<string, number>>,
): Promise<Fact[]> {
  const facts: Fact[] = [];
  for (const { of, field } of relationsTo(moved.noun)) {
    const columns = relationsOf(of).flatMap((one) => (one.field in to ? [[one.field, to[one.field]]] : []));
    if (columns.length === 0) continue;
    const { key } = nouns[of];
    const rows: readonly Record<string, unknown>[] = await write
      .updateTable(tables[of])
      .set({ ...Object.fromEntries(columns), date_modified: write.now } as never)
      .where(field as never, '=', moved.id as never)
      .returning(key as never)
      .execute();
    const ids = rows.map((row) => Number(row[key])).sort((a, b) => a - b);
    facts.push(...ids.map((id): Fact => ({ kind: `changed_${of}`, recordId: id, userId })));
  }
  return facts;
}
