import type { SelectQueryBuilder } from 'kysely';
import type { Caller } from '../access.ts';
import { type Kind, nouns } from '../delivery/kinds.ts';
import type { Fact } from '../delivery/record.ts';
import type { AccountView, AccountWrite } from '../store/account.ts';
import type { Tables } from '../store/tables.ts';
import { isAssignable, unassign } from './assigned.ts';
import { type ListedNoun, type ListedTable, tables } from './listed.ts';
import { relationsTo } from './relations.ts';

/**
 * Deletes a record with everything that belongs to it; what only names it stays, and names none (C34).
 *
 * @returns what happened, in its order: what belonged to it goes first; nothing where there is no such record
 */
export async function removeWhole(write: AccountWrite, caller: Caller, noun: ListedNoun, id: number): Promise<Fact[]> {
  return remove(write, caller, noun, having(write, noun, nouns[noun].key, id));
}

/** The kinds that such a deletion may record, in that order. */
export function kindsOfRemoval(noun: ListedNoun, gone: ReadonlySet<Kind> = new Set()): readonly Kind[] {
  const kinds = new Set(gone);
  for (const { of, becomes } of relationsTo(noun)) {
    if (becomes === 'deleted' && of !== noun) for (const kind of kindsOfRemoval(of, kinds)) kinds.add(kind);
    // What has gone already is not changed any more.
    if (becomes === 'cleared' && !kinds.has(`deleted_${of}`)) kinds.add(`changed_${of}`);
  }
  return [...kinds.add(`deleted_${noun}`)];
}

/** The ids of records. */
type Ids = SelectQueryBuilder<Tables, ListedTable, { id: number }>;

/** The records of a noun that have this, or one of these, in a column. */
function having(view: AccountView, noun: ListedNoun, column: string, value: number | Ids): Ids {
  const [table, { key }] = [tables[noun], nouns[noun]];
  const all = view.selectFrom(table).where(`${table}.${column}` as never, 'in', [value] as never);
  return all.select(`${table}.${key} as id` as never) as unknown as Ids;
}

async function remove(write: AccountWrite, caller: Caller, noun: ListedNoun, gone: Ids): Promise<Fact[]> {
  const [table, { key }] = [tables[noun], nouns[noun]];
  const found = await gone.orderBy('id').execute();
  if (found.length === 0) return [];
  const facts: Fact[] = [];
  for (const { of, field, becomes } of relationsTo(noun)) {
    const naming = having(write, of, field, gone);
    if (becomes === 'deleted') facts.push(...(await remove(write, caller, of, naming)));
    else facts.push(...(await clear(write, caller, of, field, naming)));
  }
  if (isAssignable(noun)) await unassign(write, noun, gone);
  await write
    .deleteFrom(table)
    .where(key as never, 'in', gone as never)
    .execute();
  return [...facts, ...factsOf(`deleted_${noun}`, found, caller)];
}

/** Records stay, and name none any more. */
async function clear(
  write: AccountWrite,
  caller: Caller,
  noun: ListedNoun,
  field: string,
  naming: Ids,
): Promise<Fact[]> {
  const found = await naming.orderBy('id').execute();
  const changing = write.updateTable(tables[noun]).set({ [field]: 0, date_modified: write.now } as never);
  if (found.length > 0) await changing.where(nouns[noun].key as never, 'in', naming as never).execute();
  return factsOf(`changed_${noun}`, found, caller);
}

const factsOf = (kind: Kind, found: readonly { readonly id: number }[], { userId }: Caller): Fact[] =>
  found.map(({ id }) => ({ kind, recordId: id, userId }));
