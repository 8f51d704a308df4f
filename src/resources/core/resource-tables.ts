import type { SelectQueryBuilder } from 'kysely';
import {
  type RecordResourceType,
  recordResourceTypes,
  resourceTypes,
  tableNameOf,
} from '../../delivery/outbox/event-kinds.ts';
import type { AccountView } from '../../store/account-scope.ts';
import type { Tables } from '../../store/tables.ts';

/** A resource type whose records are the rows of a table. The table has the name of the collection in the routes. */
export type ResourceName = Exclude<RecordResourceType, 'user'>;

type TableOfEach = {
  [N in ResourceName]: (typeof resourceTypes)[N]['collection'] extends `/${infer Table}` ? Table : never;
};

export type ListedTable = TableOfEach[ResourceName];

const resourceNames = recordResourceTypes.filter((resourceType) => resourceType !== 'user');

/** Creates an object with one value for each resource type. */
export function mapResources<T>(make: (resourceType: ResourceName) => T): Readonly<Record<ResourceName, T>> {
  return Object.fromEntries(resourceNames.map((resourceType) => [resourceType, make(resourceType)])) as Record<
    ResourceName,
    T
  >;
}

export const resourceTables = mapResources(tableNameOf) as TableOfEach;

/** Returns the id column of a resource type, qualified with its table. */
export const idColumnOf = (resourceType: ResourceName) =>
  `${resourceTables[resourceType]}.${resourceTypes[resourceType].key}` as const;

/**
 * Number of records per batch. On SQLite, a statement over all records of an account would block the event loop for too
 * long.
 */
const BATCH_SIZE = 500;

type IdQuery = SelectQueryBuilder<Tables, ListedTable, { id: number }>;

/** Yields the ids of the records that have one of these values in a column, in batches and in ascending order. */
export async function* idBatches(
  view: AccountView,
  resourceType: ResourceName,
  column: string,
  values: readonly number[],
  batchSize = BATCH_SIZE,
): AsyncGenerator<number[], void> {
  const [table, id] = [resourceTables[resourceType], idColumnOf(resourceType)];
  const matching = view.selectFrom(table).where(`${table}.${column}` as never, 'in', values as never);
  const ordered = matching.select(`${id} as id` as never).orderBy('id' as never) as unknown as IdQuery;
  let rows: readonly { id: number }[];
  let last = 0;
  do {
    rows = await ordered
      .where(id as never, '>', last as never)
      .limit(batchSize)
      .execute();
    if (rows.length > 0) yield rows.map((row) => row.id);
    last = rows.at(-1)?.id ?? last;
  } while (rows.length === batchSize);
}
