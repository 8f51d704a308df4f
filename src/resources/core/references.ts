import { type OccurrenceKind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput, notFound } from '../../problems.ts';
import { AccountView, type AccountWrite } from '../../store/account-scope.ts';
import { idBatches, idColumnOf, mapResources, type ResourceName, resourceTables } from './resource-tables.ts';

/** Values of a row by column name. */
export type ColumnValues = Readonly<Record<string, unknown>>;

/** Returns the columns of a resource type that referring records copy. */
const copiedColumnsOf = (resourceType: ResourceName) => [
  ...new Set(relationsTo(resourceType).flatMap(({ copiedColumns = [] }) => copiedColumns)),
];

const recordQueries = mapResources((resourceType) =>
  AccountView.prepared((view, { id }: { readonly id: number }) => {
    const [table, column] = [resourceTables[resourceType], idColumnOf(resourceType)];
    return view
      .selectFrom(table)
      .select([column, ...copiedColumnsOf(resourceType).map((shared) => `${table}.${shared}`)] as never)
      .where(column as never, '=', id as never);
  }, 'batched'),
);

/** Returns the columns of a record that referring records copy. Throws 404 if the account has no such record. */
export async function requireExists(view: AccountView, resourceType: ResourceName, id: number): Promise<ColumnValues> {
  const [row] = await recordQueries[resourceType](view, { id });
  if (row === undefined) throw notFound();
  return row;
}

/**
 * Looks up the records that a record refers to. The queries for the given ids start immediately, so that they can be
 * batched with other queries. The returned function throws their errors.
 *
 * @param given the input columns of the record, including the id of its parent
 * @returns a function that adds the columns copied from the referenced records to the input; it throws 400 if a copied
 *   column differs from the referenced record
 */
export function resolveReferences(
  view: AccountView,
  resourceType: ResourceName,
  given: ColumnValues,
): (before?: ColumnValues) => Promise<ColumnValues> {
  const found = new Map<Relation, Promise<ColumnValues>>();
  const find = (relation: Relation, id: number) => {
    const row = found.get(relation) ?? requireExists(view, relation.to, id);
    row.catch(() => undefined);
    found.set(relation, row);
    return row;
  };
  const relations = relationsOf(resourceType);
  for (const relation of relations) {
    const id = given[relation.field];
    if (typeof id === 'number' && (relation.isParent || id !== 0)) find(relation, id);
  }
  return async (before = {}) => {
    await Promise.all(found.values());
    const all: Record<string, unknown> = { ...before, ...given };
    const filledIn: Record<string, unknown> = {};
    /** For each copied column, the relation whose referenced record the column was compared with. */
    const sources = new Map<string, Relation>();
    for (const relation of relations) {
      const { field, copiedColumns: shares = [] } = relation;
      const id = Number(all[field] ?? 0);
      const isNew = [field, ...shares].some((column) => given[column] !== undefined || sources.has(column));
      const isChecked = [field, ...shares].every((column) => sources.has(column));
      if (id === 0 || shares.length === 0 || !isNew || isChecked) continue;
      const row = await find(relation, id);
      const source = sources.get(field) ?? relation;
      for (const column of shares) {
        sources.set(column, source);
        if (all[column] === row[column]) continue;
        if (all[column]) throw mismatchError(source, resourceType, column);
        filledIn[column] = all[column] = row[column];
      }
    }
    return { ...given, ...filledIn };
  };
}

function mismatchError({ field, to }: Relation, resourceType: ResourceName, column: string): Error {
  const shared = relationsOf(resourceType).find((relation) => relation.field === column)?.to ?? column;
  return invalidInput([{ field, message: `must be a ${to} of the same ${shared}` }]);
}

/** Returns the relations whose records copy one of the changed columns. These records must change too. */
const affectedRelations = (resourceType: ResourceName, changes: ColumnValues) =>
  relationsTo(resourceType).filter(({ copiedColumns: shares = [] }) =>
    shares.some((column) => Object.hasOwn(changes, column)),
  );

/** Returns the occurrence kinds that a change of these columns may record for dependent records. */
export function cascadedChangeKinds(resourceType: ResourceName, changes: ColumnValues): readonly OccurrenceKind[] {
  return affectedRelations(resourceType, changes).map(({ of }) => `changed_${of}` as const);
}

/**
 * Updates the copied columns of dependent records when a record moves to another parent.
 *
 * @param moved the record before the change
 * @param to the new column values of the record
 * @returns a `changed_…` occurrence for each dependent record
 */
export async function cascadeReferenceChanges(
  write: AccountWrite,
  { userId }: Caller,
  resourceType: ResourceName,
  moved: ColumnValues,
  to: ColumnValues,
): Promise<NewOccurrence[]> {
  const occurrences: NewOccurrence[] = [];
  const changes = Object.fromEntries(
    Object.entries(to).filter(([column, value]) => value !== undefined && value !== moved[column]),
  );
  for (const { of, field, copiedColumns: shares = [] } of affectedRelations(resourceType, changes)) {
    const shared = shares.flatMap((column) => (column in changes ? [[column, changes[column]]] : []));
    const columns = await resolveReferences(write, of, Object.fromEntries(shared))();
    const movedId = Number(moved[resourceTypes[resourceType].key]);
    for await (const ids of idBatches(write, of, field, [movedId])) {
      await write
        .updateTable(resourceTables[of])
        .set({ ...columns, date_modified: write.now } as never)
        .where(resourceTypes[of].key as never, 'in', ids as never)
        .execute();
      occurrences.push(...ids.map((id): NewOccurrence => ({ kind: `changed_${of}`, recordId: id, userId })));
    }
  }
  return occurrences;
}

/** A reference: records of type `of` hold the id of a record of type `to`. */
type Relation = {
  readonly of: ResourceName;
  /** Name of the field, and of the column, that holds the id. */
  readonly field: string;
  readonly to: ResourceName;
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
const relations: readonly Relation[] = [
  {
    of: 'comment',
    field: 'parent_id',
    to: 'comment',
    onDelete: 'deleted',
    copiedColumns: ['project_id', 'task_id', 'subtask_id'],
  },
  { of: 'comment', field: 'subtask_id', to: 'subtask', onDelete: 'deleted', copiedColumns: ['task_id'] },
  { of: 'comment', field: 'task_id', to: 'task', onDelete: 'deleted', copiedColumns: ['project_id'] },
  { of: 'time_entry', field: 'task_id', to: 'task', onDelete: 'deleted', isParent: true },
  { of: 'time_entry', field: 'subtask_id', to: 'subtask', onDelete: 'cleared', copiedColumns: ['task_id'] },
  { of: 'subtask', field: 'task_id', to: 'task', onDelete: 'deleted', isParent: true },
  { of: 'task', field: 'project_id', to: 'project', onDelete: 'deleted', isParent: true },
  { of: 'comment', field: 'project_id', to: 'project', onDelete: 'deleted', isParent: true },
  { of: 'event', field: 'project_id', to: 'project', onDelete: 'cleared' },
  { of: 'contact', field: 'client_id', to: 'client', onDelete: 'cleared' },
  { of: 'project', field: 'client_id', to: 'client', onDelete: 'cleared' },
];

const relationsOf = (resourceType: ResourceName): readonly Relation[] =>
  relations.filter(({ of }) => of === resourceType);

export const relationsTo = (resourceType: ResourceName): readonly Relation[] =>
  relations.filter(({ to }) => to === resourceType);

/** Returns the type of the parent record; undefined if records of this type have no parent. */
export function parentOf(resourceType: ResourceName): ResourceName | undefined {
  return relationsOf(resourceType).find(({ isParent }) => isParent)?.to;
}
