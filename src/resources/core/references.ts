import { type OccurrenceKind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import { invalidInput, notFound, Problem } from '../../problems.ts';
import { AccountView, type AccountWrite } from '../../store/account-scope.ts';
import { requireUsers } from '../users/lookup.ts';
import {
  idColumnOf,
  loadIdBatches,
  mapResources,
  resourceTables,
  type StandardResourceType,
} from './resource-tables.ts';

/** Values of a row by column name. */
export type ColumnValues = Readonly<Record<string, unknown>>;

/** Returns the columns that referring records copy from records of this type. */
const copiedColumnsOf = (resourceType: StandardResourceType) => [
  ...new Set(relationsTo(resourceType).flatMap(({ copiedColumns = [] }) => copiedColumns)),
];

/** For each resource type, a query by id for the columns that referring records copy. */
const recordQueriesByType = mapResources((resourceType) =>
  AccountView.prepareBatchedSelect({ id: 'int8' }, (view, { id }: { readonly id: number }) => {
    const [table, column] = [resourceTables[resourceType], idColumnOf(resourceType)];
    return view
      .selectFromDynamic(table)
      .select([column, ...copiedColumnsOf(resourceType).map((copiedColumn) => `${table}.${copiedColumn}`)])
      .where(column, '=', id);
  }),
);

/**
 * Returns the columns that other records copy when they refer to this record. Throws 404 if the account has no such
 * record.
 */
export async function requireRecord(
  view: AccountView,
  resourceType: StandardResourceType,
  id: number,
): Promise<ColumnValues> {
  const [row] = await recordQueriesByType[resourceType](view, { id });
  if (row === undefined) throw notFound();
  return row;
}

/**
 * Looks up the records that a record refers to. The queries for the given ids start immediately, so that they can be
 * batched with other queries. The returned function throws their errors.
 *
 * @param inputColumns the input columns of the record, including the id of its parent
 * @returns a function that adds the columns copied from the referenced records to the input; it throws 400 if a copied
 *   column differs from the referenced record
 */
export function resolveReferences(
  view: AccountView,
  resourceType: StandardResourceType,
  inputColumns: ColumnValues,
): (oldRecord?: ColumnValues) => Promise<ColumnValues> {
  const recordPromises = new Map<Relation, Promise<ColumnValues>>();
  const findReferencedRecord = (relation: Relation, id: number) => {
    const recordPromise = recordPromises.get(relation) ?? requireRecord(view, relation.referencedType, id);
    recordPromise.catch(() => undefined);
    recordPromises.set(relation, recordPromise);
    return recordPromise;
  };
  const recordRelations = relationsFrom(resourceType);
  for (const relation of recordRelations) {
    const id = inputColumns[relation.field];
    if (typeof id === 'number' && (relation.isParent || id !== 0)) findReferencedRecord(relation, id);
  }
  return async (oldRecord = {}) => {
    await Promise.all(recordPromises.values());
    const mergedColumns: Record<string, unknown> = { ...oldRecord, ...inputColumns };
    const filledInColumns: Record<string, unknown> = {};
    /** For each copied column, the relation whose referenced record the column was compared with. */
    const sourceByColumn = new Map<string, Relation>();
    for (const relation of recordRelations) {
      const { field, copiedColumns = [] } = relation;
      const id = Number(mergedColumns[field] ?? 0);
      const mustCompare = [field, ...copiedColumns].some(
        (column) => inputColumns[column] !== undefined || sourceByColumn.has(column),
      );
      const isFullyCompared = [field, ...copiedColumns].every((column) => sourceByColumn.has(column));
      if (id === 0 || copiedColumns.length === 0 || !mustCompare || isFullyCompared) continue;
      const referencedRecord = await findReferencedRecord(relation, id);
      const sourceRelation = sourceByColumn.get(field) ?? relation;
      for (const column of copiedColumns) {
        sourceByColumn.set(column, sourceRelation);
        if (mergedColumns[column] === referencedRecord[column]) continue;
        if (mergedColumns[column]) throw createMismatchError(sourceRelation, resourceType, column);
        filledInColumns[column] = mergedColumns[column] = referencedRecord[column];
      }
    }
    return { ...inputColumns, ...filledInColumns };
  };
}

function createMismatchError(
  { field, referencedType }: Relation,
  resourceType: StandardResourceType,
  column: string,
): Error {
  const sharedType =
    relationsFrom(resourceType).find((relation) => relation.field === column)?.referencedType ?? column;
  return invalidInput([{ field, message: `must be a ${referencedType} of the same ${sharedType}` }]);
}

/**
 * Determines the owner of a record. The owner stays the same unless an admin names another user of the account. A
 * caller who is not an admin is rejected before the user is looked up (C14). Throws 404 for an unknown user (C26).
 *
 * @param requestedUserId the `user_id` of the request; 0 for none
 * @param currentOwnerId the current owner
 */
export async function resolveOwnerId(
  view: AccountView,
  caller: Caller,
  requestedUserId: number,
  currentOwnerId: number,
): Promise<number> {
  if (requestedUserId === 0 || requestedUserId === currentOwnerId) return currentOwnerId;
  if (!isAdmin(caller))
    throw new Problem('not_permitted', { detail: 'Only admins may give another user as the creator.' });
  await requireUsers(view, [requestedUserId]);
  return requestedUserId;
}

/** Returns the relations whose referring records copy one of the changed columns, and so must change too. */
const findAffectedRelations = (resourceType: StandardResourceType, changes: ColumnValues) =>
  relationsTo(resourceType).filter(({ copiedColumns = [] }) =>
    copiedColumns.some((column) => Object.hasOwn(changes, column)),
  );

/** Returns the event kinds (occurrence kinds) that a change of these columns may record for dependent records. */
export function getCascadedChangeKinds(
  resourceType: StandardResourceType,
  changes: ColumnValues,
): readonly OccurrenceKind[] {
  return findAffectedRelations(resourceType, changes).map(({ referringType }) => `changed_${referringType}` as const);
}

/**
 * Updates the copied columns of dependent records when a record moves to another parent.
 *
 * @param oldRecord the record before the change
 * @param newValues the new column values of the record
 * @returns a `changed_…` occurrence for each dependent record
 */
export async function cascadeReferenceChanges(
  write: AccountWrite,
  { userId }: Caller,
  resourceType: StandardResourceType,
  oldRecord: ColumnValues,
  newValues: ColumnValues,
): Promise<NewOccurrence[]> {
  const occurrences: NewOccurrence[] = [];
  const changes = Object.fromEntries(
    Object.entries(newValues).filter(([column, value]) => value !== undefined && value !== oldRecord[column]),
  );
  for (const { referringType, field, copiedColumns = [] } of findAffectedRelations(resourceType, changes)) {
    const copiedEntries = copiedColumns.flatMap((column) => (column in changes ? [[column, changes[column]]] : []));
    const dependentColumns = await resolveReferences(write, referringType, Object.fromEntries(copiedEntries))();
    const previousProjectId = Number(oldRecord.project_id ?? 0);
    const projectId = Number(dependentColumns.project_id ?? previousProjectId);
    const fields = Object.keys(dependentColumns);
    const recordId = Number(oldRecord[resourceTypes[resourceType].key]);
    for await (const ids of loadIdBatches(write, referringType, field, [recordId])) {
      await write
        .updateDynamic(resourceTables[referringType])
        .set({ ...dependentColumns, date_modified: write.now })
        .where(resourceTypes[referringType].key, 'in', ids)
        .execute();
      const change = { kind: `changed_${referringType}`, userId, fields, projectId, previousProjectId } as const;
      occurrences.push(...ids.map((recordId) => ({ ...change, recordId })));
    }
  }
  return occurrences;
}

/** A reference: records of the referring type hold the id of a record of the referenced type. */
type Relation = {
  readonly referringType: StandardResourceType;
  /** Name of the field, and of the column, that holds the id. */
  readonly field: string;
  readonly referencedType: StandardResourceType;
  /** When the referenced record is deleted, the referring record is deleted too, or its reference is set to 0 (C34). */
  readonly onDelete: 'deleted' | 'cleared';
  /** The referenced record is the parent. Its id is required, and creation takes it from the request path. */
  readonly isParent?: true;
  /** Columns that the referring record copies from the referenced record, such as `project_id`. */
  readonly copiedColumns?: readonly string[];
};

/**
 * All references, in the order in which a deletion follows them. For each type, relations that copy more columns come
 * first.
 */
const allRelations: readonly Relation[] = [
  {
    referringType: 'comment',
    field: 'parent_id',
    referencedType: 'comment',
    onDelete: 'deleted',
    copiedColumns: ['project_id', 'task_id', 'subtask_id'],
  },
  {
    referringType: 'comment',
    field: 'subtask_id',
    referencedType: 'subtask',
    onDelete: 'deleted',
    copiedColumns: ['task_id'],
  },
  {
    referringType: 'comment',
    field: 'task_id',
    referencedType: 'task',
    onDelete: 'deleted',
    copiedColumns: ['project_id'],
  },
  { referringType: 'time_entry', field: 'task_id', referencedType: 'task', onDelete: 'deleted', isParent: true },
  {
    referringType: 'time_entry',
    field: 'subtask_id',
    referencedType: 'subtask',
    onDelete: 'cleared',
    copiedColumns: ['task_id'],
  },
  { referringType: 'subtask', field: 'task_id', referencedType: 'task', onDelete: 'deleted', isParent: true },
  { referringType: 'task', field: 'project_id', referencedType: 'project', onDelete: 'deleted', isParent: true },
  { referringType: 'comment', field: 'project_id', referencedType: 'project', onDelete: 'deleted', isParent: true },
  { referringType: 'event', field: 'project_id', referencedType: 'project', onDelete: 'cleared' },
  { referringType: 'contact', field: 'client_id', referencedType: 'client', onDelete: 'cleared' },
  { referringType: 'project', field: 'client_id', referencedType: 'client', onDelete: 'cleared' },
];

/** Returns the references that records of this type hold. */
const relationsFrom = (resourceType: StandardResourceType): readonly Relation[] =>
  allRelations.filter(({ referringType }) => referringType === resourceType);

/** Returns the references that records of other types, or of the same type, hold to records of this type. */
export const relationsTo = (resourceType: StandardResourceType): readonly Relation[] =>
  allRelations.filter(({ referencedType }) => referencedType === resourceType);

/** Returns the type of the parent record; undefined if records of this type have no parent. */
export function parentTypeOf(resourceType: StandardResourceType): StandardResourceType | undefined {
  return relationsFrom(resourceType).find(({ isParent }) => isParent)?.referencedType;
}
