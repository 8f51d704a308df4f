import { nouns, type RecordNoun, recordNouns, tableOf } from '../delivery/kinds.ts';

/** The nouns whose records are rows of a table of their own, which has the name of their collection. */
export type ListedNoun = Exclude<RecordNoun, 'user'>;

type TableOfEach = { [N in ListedNoun]: (typeof nouns)[N]['collection'] extends `/${infer Table}` ? Table : never };

/** The tables of these nouns. */
export type ListedTable = TableOfEach[ListedNoun];

const listedNouns = recordNouns.filter((noun) => noun !== 'user');

/** Something for each of these nouns. */
export function ofEach<T>(make: (noun: ListedNoun) => T): Readonly<Record<ListedNoun, T>> {
  return Object.fromEntries(listedNouns.map((noun) => [noun, make(noun)])) as Record<ListedNoun, T>;
}

export const tables = ofEach(tableOf) as TableOfEach;

/** Where the id of a record stands, with its table. */
export const idColumnOf = (noun: ListedNoun) => `${tables[noun]}.${nouns[noun].key}` as const;
