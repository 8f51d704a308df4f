import { type OccurrenceKind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import type { Caller } from '../../permissions.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { isAssignable, removeAssignees } from './assignments.ts';
import { relationsTo } from './references.ts';
import { idBatches, type ResourceName, resourceTables } from './resource-tables.ts';

/**
 * Deletes a record and the records that belong to it. References from other records are cleared (C34).
 *
 * @returns the occurrences in order, dependent records first; empty if the record does not exist
 */
export async function cascadeDelete(
  write: AccountWrite,
  caller: Caller,
  resourceType: ResourceName,
  id: number,
): Promise<NewOccurrence[]> {
  return removeSelected(write, caller, { resourceType, column: resourceTypes[resourceType].key, values: [id] });
}

/** Returns the occurrence kinds that `cascadeDelete` may record for a resource type, in the order of recording. */
export function cascadeDeleteKinds(
  resourceType: ResourceName,
  earlier: ReadonlySet<OccurrenceKind> = new Set(),
): readonly OccurrenceKind[] {
  const kinds = new Set(earlier);
  for (const { of, onDelete } of relationsTo(resourceType)) {
    if (onDelete === 'deleted' && of !== resourceType)
      for (const kind of cascadeDeleteKinds(of, kinds)) kinds.add(kind);
    // If the cascade has already deleted the referring records, none is left to be changed.
    if (onDelete === 'cleared' && !kinds.has(`deleted_${of}`)) kinds.add(`changed_${of}`);
  }
  return [...kinds.add(`deleted_${resourceType}`)];
}

/** Selects the records that have one of `values` in a column. */
type RecordSelection = {
  readonly resourceType: ResourceName;
  readonly column: string;
  readonly values: readonly number[];
};

async function removeSelected(
  write: AccountWrite,
  caller: Caller,
  selection: RecordSelection,
): Promise<NewOccurrence[]> {
  const { resourceType, column, values } = selection;
  const [kind, { key }] = [`deleted_${resourceType}` as const, resourceTypes[resourceType]];
  const occurrences: NewOccurrence[] = [];
  for await (const ids of idBatches(write, resourceType, column, values)) {
    /** Ids of records of the same type (replies) that the cascade has already deleted and recorded. */
    const recorded = new Set<number>();
    for (const { of, field, onDelete } of relationsTo(resourceType)) {
      const follow = onDelete === 'deleted' ? removeSelected : clearReferences;
      const followUps = await follow(write, caller, { resourceType: of, column: field, values: ids });
      for (const one of followUps) if (one.kind === kind) recorded.add(one.recordId);
      occurrences.push(...followUps);
    }
    if (isAssignable(resourceType)) await removeAssignees(write, resourceType, ids);
    await write
      .deleteFrom(resourceTables[resourceType])
      .where(key as never, 'in', ids as never)
      .execute();
    const rest = ids.filter((id) => !recorded.has(id));
    occurrences.push(...toOccurrences(kind, rest, caller));
  }
  return occurrences;
}

/** Sets the reference of the selected records to 0 and keeps the records. */
async function clearReferences(
  write: AccountWrite,
  caller: Caller,
  selection: RecordSelection,
): Promise<NewOccurrence[]> {
  const { resourceType, column, values } = selection;
  const occurrences: NewOccurrence[] = [];
  for await (const ids of idBatches(write, resourceType, column, values)) {
    await write
      .updateTable(resourceTables[resourceType])
      .set({ [column]: 0, date_modified: write.now } as never)
      .where(resourceTypes[resourceType].key as never, 'in', ids as never)
      .execute();
    occurrences.push(...toOccurrences(`changed_${resourceType}`, ids, caller));
  }
  return occurrences;
}

const toOccurrences = (kind: OccurrenceKind, ids: readonly number[], { userId }: Caller): NewOccurrence[] =>
  ids.map((recordId) => ({ kind, recordId, userId }));
