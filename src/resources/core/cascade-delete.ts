import type { SelectQueryBuilder } from 'kysely';
import { type Kind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import type { Caller } from '../../permissions.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { Tables } from '../../store/tables.ts';
import { isAssignable, unassign } from './assignments.ts';
import { relationsTo } from './relations.ts';
import { type ListedTable, type ResourceName, tables } from './resource-tables.ts';

/**
 * Deletes a record with everything that belongs to it; what only names it stays, and names none (C34).
 *
 * @returns what happened, in its order: what belonged to it goes first; nothing where there is no such record
 */
export async function cascadeDelete(
  write: AccountWrite,
  caller: Caller,
  resourceType: ResourceName,
  id: number,
): Promise<NewOccurrence[]> {
  return remove(write, caller, { resourceType, column: resourceTypes[resourceType].key, value: id });
}

/** The kinds that such a deletion may record, in that order. */
export function kindsOfRemoval(resourceType: ResourceName, gone: ReadonlySet<Kind> = new Set()): readonly Kind[] {
  const kinds = new Set(gone);
  for (const { of, becomes } of relationsTo(resourceType)) {
    if (becomes === 'deleted' && of !== resourceType) for (const kind of kindsOfRemoval(of, kinds)) kinds.add(kind);
    // What has gone already is not changed any more.
    if (becomes === 'cleared' && !kinds.has(`deleted_${of}`)) kinds.add(`changed_${of}`);
  }
  return [...kinds.add(`deleted_${resourceType}`)];
}

/** Records of a noun: those that have an id in a column, or the id of one of other such records. */
type Some = { readonly resourceType: ResourceName; readonly column: string; readonly value: number | Some };

type Ids = SelectQueryBuilder<Tables, ListedTable, { id: number }>;

/** What a column is compared with. A deletion asks by it too, and not by ids that it would have to look for once more. */
function valuesOf(view: AccountView, { value }: Some): never {
  if (typeof value === 'number') return [value] as never;
  const isOne = typeof value.value === 'number' && value.column === resourceTypes[value.resourceType].key;
  return [isOne ? value.value : idsOf(view, value)] as never;
}

function idsOf(view: AccountView, some: Some): Ids {
  const [table, { key }] = [tables[some.resourceType], resourceTypes[some.resourceType]];
  const all = view.selectFrom(table).where(`${table}.${some.column}` as never, 'in', valuesOf(view, some));
  return all.select(`${table}.${key} as id` as never) as unknown as Ids;
}

async function remove(write: AccountWrite, caller: Caller, gone: Some): Promise<NewOccurrence[]> {
  const { resourceType, column } = gone;
  const found = await idsOf(write, gone).orderBy('id').execute();
  if (found.length === 0) return [];
  const facts: NewOccurrence[] = [];
  for (const { of, field, becomes } of relationsTo(resourceType)) {
    const naming: Some = { resourceType: of, column: field, value: gone };
    facts.push(...(becomes === 'deleted' ? await remove(write, caller, naming) : await clear(write, caller, naming)));
  }
  if (isAssignable(resourceType)) await unassign(write, resourceType, idsOf(write, gone));
  await write
    .deleteFrom(tables[resourceType])
    .where(column as never, 'in', valuesOf(write, gone))
    .execute();
  // What belongs to another of its own noun has gone with that one.
  const kind = `deleted_${resourceType}` as const;
  const before = new Set(facts.flatMap((fact) => (fact.kind === kind ? [fact.recordId] : [])));
  const rest = found.filter(({ id }) => !before.has(id));
  return [...facts, ...factsOf(kind, rest, caller)];
}

/** Records stay, and name none any more. */
async function clear(write: AccountWrite, caller: Caller, naming: Some): Promise<NewOccurrence[]> {
  const { resourceType, column } = naming;
  const found = await idsOf(write, naming).orderBy('id').execute();
  const changing = write.updateTable(tables[resourceType]).set({ [column]: 0, date_modified: write.now } as never);
  if (found.length > 0) await changing.where(column as never, 'in', valuesOf(write, naming)).execute();
  return factsOf(`changed_${resourceType}`, found, caller);
}

const factsOf = (kind: Kind, found: readonly { readonly id: number }[], { userId }: Caller): NewOccurrence[] =>
  found.map(({ id }) => ({ kind, recordId: id, userId }));
