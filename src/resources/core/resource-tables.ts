import { nouns, type RecordNoun, recordNouns, tableOf } from '../../delivery/outbox/event-kinds.ts';

/** The nouns whose records are rows of a table of their own, which has the name of their collection. */
export type ResourceName = Exclude<RecordNoun, 'user'>;

type TableOfEach = { [N in ResourceName]: (typeof nouns)[N]['collection'] extends `/${infer Table}` ? Table : never };

/** The tables of these nouns. */
export type ListedTable = TableOfEach[ResourceName];

const resourceNames = recordNouns.filter((noun) => noun !== 'user');

/** Something for each of these nouns. */
export function ofEach<T>(make: (noun: ResourceName) => T): Readonly<Record<ResourceName, T>> {
  return Object.fromEntries(resourceNames.map((noun) => [noun, make(noun)])) as Record<ResourceName, T>;
}

export const tables = ofEach(tableOf) as TableOfEach;

/** Where the id of a record stands, with its table. */
export const idColumnOf = (noun: ResourceName) => `${tables[noun]}.${nouns[noun].key}` as const;
