import { type OccurrenceKind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import type { Caller } from '../../permissions.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { canHaveAssignees, removeAssignees } from './assignments.ts';
import { relationsTo } from './references.ts';
import { findProjects, loadIdBatches, resourceTables, type StandardResourceType } from './resource-tables.ts';

/**
 * Deletes a record and the records that belong to it. References from other records are cleared (C34).
 *
 * @returns the occurrences (domain events) to record, dependent records first; empty if the record does not exist
 */
export async function cascadeDelete(
  write: AccountWrite,
  caller: Caller,
  resourceType: StandardResourceType,
  id: number,
): Promise<NewOccurrence[]> {
  return deleteSelectedRecords(write, caller, { resourceType, column: resourceTypes[resourceType].key, values: [id] });
}

/** Returns the event kinds (occurrence kinds) that deleting a record of this type may record, in recording order. */
export function getCascadeDeleteKinds(
  resourceType: StandardResourceType,
  earlierKinds: ReadonlySet<OccurrenceKind> = new Set(),
): readonly OccurrenceKind[] {
  const kinds = new Set(earlierKinds);
  for (const { referringType, onDelete } of relationsTo(resourceType)) {
    if (onDelete === 'deleted' && referringType !== resourceType)
      for (const kind of getCascadeDeleteKinds(referringType, kinds)) kinds.add(kind);
    // If the cascade has already deleted the referring records, none is left to be changed.
    if (onDelete === 'cleared' && !kinds.has(`deleted_${referringType}`)) kinds.add(`changed_${referringType}`);
  }
  return [...kinds.add(`deleted_${resourceType}`)];
}

/** Selects the records that have one of `values` in a column. */
type RecordSelection = {
  readonly resourceType: StandardResourceType;
  readonly column: string;
  readonly values: readonly number[];
};

async function deleteSelectedRecords(
  write: AccountWrite,
  caller: Caller,
  selection: RecordSelection,
): Promise<NewOccurrence[]> {
  const { resourceType, column, values } = selection;
  const [kind, { key }] = [`deleted_${resourceType}` as const, resourceTypes[resourceType]];
  const occurrences: NewOccurrence[] = [];
  for await (const ids of loadIdBatches(write, resourceType, column, values)) {
    // Pipelined with the deletion: the result is awaited after it.
    const projectsPromise = findProjects(write, resourceType, ids);
    projectsPromise.catch(() => undefined);
    /** Ids of records of the same type, such as replies, whose deletion the cascade has already recorded. */
    const recordedIds = new Set<number>();
    for (const { referringType, field, onDelete } of relationsTo(resourceType)) {
      const deleteOrClear = onDelete === 'deleted' ? deleteSelectedRecords : clearReferences;
      const cascadedOccurrences = await deleteOrClear(write, caller, {
        resourceType: referringType,
        column: field,
        values: ids,
      });
      for (const occurrence of cascadedOccurrences) if (occurrence.kind === kind) recordedIds.add(occurrence.recordId);
      occurrences.push(...cascadedOccurrences);
    }
    if (canHaveAssignees(resourceType)) await removeAssignees(write, resourceType, ids);
    await write.deleteFromDynamic(resourceTables[resourceType]).where(key, 'in', ids).execute();
    const findProject = await projectsPromise;
    const unrecordedIds = ids.filter((id) => !recordedIds.has(id));
    occurrences.push(
      ...unrecordedIds.map((id) => ({ kind, recordId: id, userId: caller.userId, projectId: findProject(id) })),
    );
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
  for await (const ids of loadIdBatches(write, resourceType, column, values)) {
    const projectsPromise = findProjects(write, resourceType, ids);
    projectsPromise.catch(() => undefined);
    await write
      .updateDynamic(resourceTables[resourceType])
      .set({ [column]: 0, date_modified: write.now })
      .where(resourceTypes[resourceType].key, 'in', ids)
      .execute();
    const findProject = await projectsPromise;
    for (const id of ids) {
      const projectId = findProject(id);
      occurrences.push({
        kind: `changed_${resourceType}`,
        recordId: id,
        userId: caller.userId,
        fields: [column],
        ...(column === 'project_id' ? { previousProjectId: projectId } : { projectId }),
      });
    }
  }
  return occurrences;
}
