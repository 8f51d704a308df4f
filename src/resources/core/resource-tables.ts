import {
  type RecordResourceType,
  recordResourceTypes,
  resourceTypes,
  tableOf,
} from '../../delivery/outbox/event-kinds.ts';

/** The nouns whose records are rows of a table of their own, which has the name of their collection. */
export type ResourceName = Exclude<RecordResourceType, 'user'>;

type TableOfEach = {
  [N in ResourceName]: (typeof resourceTypes)[N]['collection'] extends `/${infer Table}` ? Table : never;
};

/** The tables of these nouns. */
export type ListedTable = TableOfEach[ResourceName];

const resourceNames = recordResourceTypes.filter((resourceType) => resourceType !== 'user');

/** Something for each of these nouns. */
export function ofEach<T>(make: (resourceType: ResourceName) => T): Readonly<Record<ResourceName, T>> {
  return Object.fromEntries(resourceNames.map((resourceType) => [resourceType, make(resourceType)])) as Record<
    ResourceName,
    T
  >;
}

export const tables = ofEach(tableOf) as TableOfEach;

/** Where the id of a record stands, with its table. */
export const idColumnOf = (resourceType: ResourceName) =>
  `${tables[resourceType]}.${resourceTypes[resourceType].key}` as const;
