import type { SelectQueryBuilder } from 'kysely';
import { type Kind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import type { Caller } from '../../permissions.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { Tables } from '../../store/tables.ts';
import { isAssignable, unassign } from './assignments.ts';
import { relationsTo } from './references.ts';
import { type ListedTable, type ResourceName, tables } from './resource-tables.ts';

/**
 * Deletes a record and the records that belong to it; references from other records are cleared (C34).
 *
 * @returns the occurrences in order, dependent records first; empty if the record does not exist
 */
export async function cascadeDelete(
  write: AccountWrite,
  caller: Caller,
  resourceType: ResourceName,
  id: number,
): Promise<NewOccurrence[]> {
  return remove(write, caller, { resourceType, column: resourceTypes[resourceType].key, value: id });
}

/** Kinds that `cascadeDelete` may record for a resource type, in that order. */
export function kindsOfRemoval(resourceType: ResourceName, earlier: ReadonlySet<Kind> = new Set()): readonly Kind[] {
  const kinds = new Set(earlier);
  for (const { of, becomes } of relationsTo(resourceType)) {
    if (becomes === 'deleted' && of !== resourceType) for (const kind of kindsOfRemoval(of, kinds)) kinds.add(kind);
    // Records of this type were deleted earlier in the cascade, so none is left to be changed.
    if (becomes === 'cleared' && !kinds.has(`deleted_${of}`)) kinds.add(`changed_${of}`);
  }
  return [...kinds.add(`deleted_${resourceType}`)];
}

/** Records selected by a column: its value is an id, or the id of any record of another selection. */
type Selection = { readonly resourceType: ResourceName; readonly column: string; readonly value: number | Selection };

type Ids = SelectQueryBuilder<Tables, ListedTable, { id: number }>;

/** Right-hand side of `column in …`. Deletions use it as well, so they need no separate list of ids. */
function valuesOf(view: AccountView, { value }: Selection): never {
  if (typeof value === 'number') return [value] as never;
  const isOne = typeof value.value === 'number' && value.column === resourceTypes[value.resourceType].key;
  return [isOne ? value.value : idsOf(view, value)] as never;
}

function idsOf(view: AccountView, selection: Selection): Ids {
  const [table, { key }] = [tables[selection.resourceType], resourceTypes[selection.resourceType]];
  const all = view.selectFrom(table).where(`${table}.${selection.column}` as never, 'in', valuesOf(view, selection));
  return all.select(`${table}.${key} as id` as never) as unknown as Ids;
}

async function remove(write: AccountWrite, caller: Caller, selection: Selection): Promise<NewOccurrence[]> {
  const { resourceType, column } = selection;
  const found = await idsOf(write, selection).orderBy('id').execute();
  if (found.length === 0) return [];
  const occurrences: NewOccurrence[] = [];
  for (const { of, field, becomes } of relationsTo(resourceType)) {
    const referring: Selection = { resourceType: of, column: field, value: selection };
    const followUps =
      becomes === 'deleted' ? await remove(write, caller, referring) : await clear(write, caller, referring);
    occurrences.push(...followUps);
  }
  if (isAssignable(resourceType)) await unassign(write, resourceType, idsOf(write, selection));
  await write
    .deleteFrom(tables[resourceType])
    .where(column as never, 'in', valuesOf(write, selection))
    .execute();
  // A record that belongs to another of the same type (a reply) was deleted and recorded with that one.
  const kind = `deleted_${resourceType}` as const;
  const recorded = new Set(occurrences.flatMap((one) => (one.kind === kind ? [one.recordId] : [])));
  const rest = found.filter(({ id }) => !recorded.has(id));
  return [...occurrences, ...occurrencesOf(kind, rest, caller)];
}

/** Sets the reference of the selected records to 0 and keeps the records. */
async function clear(write: AccountWrite, caller: Caller, selection: Selection): Promise<NewOccurrence[]> {
  const { resourceType, column } = selection;
  const found = await idsOf(write, selection).orderBy('id').execute();
  const changing = write.updateTable(tables[resourceType]).set({ [column]: 0, date_modified: write.now } as never);
  if (found.length > 0) await changing.where(column as never, 'in', valuesOf(write, selection)).execute();
  return occurrencesOf(`changed_${resourceType}`, found, caller);
}

const occurrencesOf = (kind: Kind, found: readonly { readonly id: number }[], { userId }: Caller): NewOccurrence[] =>
  found.map(({ id }) => ({ kind, recordId: id, userId }));
