import {
  type RecordResourceType,
  recordResourceTypes,
  resourceTypes,
  tableNameOf,
} from '../../delivery/outbox/event-kinds.ts';
import type { AccountView } from '../../store/account-scope.ts';

/**
 * A resource type that `defineResource` supports: all but users and hooks. Its records are the rows of a table, which
 * has the name of the collection in the routes.
 */
export type StandardResourceType = Exclude<RecordResourceType, 'user'>;

type TableByResource = {
  [N in StandardResourceType]: (typeof resourceTypes)[N]['collection'] extends `/${infer Table}` ? Table : never;
};

export type ResourceTable = TableByResource[StandardResourceType];

const standardResourceTypes = recordResourceTypes.filter((resourceType) => resourceType !== 'user');

/** Creates an object with one value for each resource type. */
export function mapResources<T>(
  makeValue: (resourceType: StandardResourceType) => T,
): Readonly<Record<StandardResourceType, T>> {
  return Object.fromEntries(
    standardResourceTypes.map((resourceType) => [resourceType, makeValue(resourceType)]),
  ) as Record<StandardResourceType, T>;
}

/** Name of the table of each resource type. */
export const resourceTables = mapResources(tableNameOf) as TableByResource;

/** Returns the id column of a resource type, qualified with its table. */
export const idColumnOf = (resourceType: StandardResourceType) =>
  `${resourceTables[resourceType]}.${resourceTypes[resourceType].key}` as const;

/** For each resource type whose records are in a project, the column with it, and whether the record's task has it. */
const projectColumns: Partial<Record<StandardResourceType, { readonly column: string; readonly isOfTask?: true }>> = {
  project: { column: 'projects.project_id' },
  task: { column: 'tasks.project_id' },
  event: { column: 'events.project_id' },
  comment: { column: 'comments.project_id' },
  subtask: { column: 'tasks.project_id', isOfTask: true },
  time_entry: { column: 'tasks.project_id', isOfTask: true },
};

/**
 * Returns a function that finds the project of each of these records: the record itself, if it is a project; 0 for
 * none.
 */
export async function findProjects(
  view: AccountView,
  resourceType: StandardResourceType,
  ids: readonly number[],
): Promise<(id: number) => number> {
  const project = projectColumns[resourceType];
  if (project === undefined || ids.length === 0) return () => 0;
  const [table, idColumn] = [resourceTables[resourceType], idColumnOf(resourceType)];
  const query = view.selectFromDynamic(table).where(idColumn, 'in', ids);
  const joinedQuery = project.isOfTask ? query.innerJoin('tasks', 'tasks.task_id', `${table}.task_id`) : query;
  const rows = await joinedQuery
    .select([`${idColumn} as id`, `${project.column} as project_id`])
    .$castTo<{ id: number; project_id: number }>()
    .execute();
  const projectsById = new Map(rows.map((row) => [row.id, row.project_id]));
  return (id) => projectsById.get(id) ?? 0;
}

/**
 * Number of records per batch. On SQLite, a statement over all records of an account would block the event loop for too
 * long.
 */
const DEFAULT_BATCH_SIZE = 500;

/** Yields the ids of the records that have one of these values in a column, in batches and in ascending order. */
export async function* loadIdBatches(
  view: AccountView,
  resourceType: StandardResourceType,
  column: string,
  values: readonly number[],
  batchSize = DEFAULT_BATCH_SIZE,
): AsyncGenerator<number[], void> {
  const [table, idColumn] = [resourceTables[resourceType], idColumnOf(resourceType)];
  const orderedIdQuery = view
    .selectFromDynamic(table)
    .where(`${table}.${column}`, 'in', values)
    .select(`${idColumn} as id`)
    .orderBy('id')
    .$castTo<{ id: number }>();
  let rows: readonly { id: number }[];
  let lastId = 0;
  do {
    rows = await orderedIdQuery.where(idColumn, '>', lastId).limit(batchSize).execute();
    if (rows.length > 0) yield rows.map((row) => row.id);
    lastId = rows.at(-1)?.id ?? lastId;
  } while (rows.length === batchSize);
}
