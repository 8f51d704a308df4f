import {
  type RecordResourceType,
  recordResourceTypes,
  resourceTypes,
  tableOf,
} from '../../delivery/outbox/event-kinds.ts';

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
