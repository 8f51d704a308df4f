import type { SelectQueryBuilder } from 'kysely';
import {
  type RecordResourceType,
  recordResourceTypes,
  resourceTypes,
  tableOf,
} from '../../delivery/outbox/event-kinds.ts';
import type { AccountView } from '../../store/account-scope.ts';
import type { Tables } from '../../store/tables.ts';

/** Resource types whose records are the rows of a table; the table has the name of the collection. */
export type ResourceName = Exclude<RecordResourceType, 'user'>;

type TableOfEach = {
  [N in ResourceName]: (typeof resourceTypes)[N]['collection'] extends `/${infer Table}` ? Table : never;
};

export type ListedTable = TableOfEach[ResourceName];

const resourceNames = recordResourceTypes.filter((resourceType) => resourceType !== 'user');

/** Makes a record with one value for each of these resource types. */
export function mapResources<T>(make: (resourceType: ResourceName) => T): Readonly<Record<ResourceName, T>> {
  return Object.fromEntries(resourceNames.map((resourceType) => [resourceType, make(resourceType)])) as Record<
    ResourceName,
    T
  >;
}

export const tables = mapResources(tableOf) as TableOfEach;

/** The id column, qualified with its table. */
export const idColumnOf = (resourceType: ResourceName) =>
  `${tables[resourceType]}.${resourceTypes[resourceType].key}` as const;

/** Records per batch: a statement over all records of an account would block the event loop for too long on SQLite. */
const BATCH_SIZE = 500;

type Ids = SelectQueryBuilder<Tables, ListedTable, { id: number }>;

/** The ids of the records with one of these values in a column, ascending, in batches. */
export async function* idBatches(
  view: AccountView,
  resourceType: ResourceName,
  column: string,
  values: readonly number[],
): AsyncGenerator<number[], void> {
  const [table, id] = [tables[resourceType], idColumnOf(resourceType)];
  const matching = view.selectFrom(table).where(`${table}.${column}` as never, 'in', values as never);
  const ordered = matching.select(`${id} as id` as never).orderBy('id' as never) as unknown as Ids;
  let rows: readonly { id: number }[];
  let last = 0;
  do {
    rows = await ordered
      .where(id as never, '>', last as never)
      .limit(BATCH_SIZE)
      .execute();
    if (rows.length > 0) yield rows.map((row) => row.id);
    last = rows.at(-1)?.id ?? last;
  } while (rows.length === BATCH_SIZE);
}
