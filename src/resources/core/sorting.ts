import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { isStorable } from '../../control-characters.ts';
import { invalidInput } from '../../problems.ts';

/** What records are sorted by: a column or an expression in SQL, never null; and what it comes to. */
type Key = { readonly by: string; readonly is: 'number' | 'string' };

/** A total order of the records of a list (C7): by each key in turn, all of them in one direction. */
export type Order = {
  readonly name: string;
  readonly direction: 'asc' | 'desc';
  readonly keys: readonly Key[];
  /** Whether an index has a whole list in this order; where none does, the database sorts all that it finds. */
  readonly isIndexed: boolean;
};

export const number = (by: string): Key => ({ by, is: 'number' });
export const text = (by: string): Key => ({ by, is: 'string' });

export const ascending = (name: string, ...keys: readonly Key[]): Order => ({
  name,
  direction: 'asc',
  keys,
  isIndexed: true,
});
export const descending = (name: string, ...keys: readonly Key[]): Order => ({
  name,
  direction: 'desc',
  keys,
  isIndexed: true,
});

/** An order that a list can be asked for in, by one key. */
type RequestedOrder = { readonly direction: Order['direction']; readonly by: Key };

export const asc = (by: Key): RequestedOrder => ({ direction: 'asc', by });
export const desc = (by: Key): RequestedOrder => ({ direction: 'desc', by });

/** The orders that a list can be asked for in, by name. */
export type Orders = Readonly<Record<string, RequestedOrder>>;

/** The same, each made total by the id (C7). */
export function totalOrders(orders: Orders, id: Key): ReadonlyMap<string, Order> {
  return new Map(
    Object.entries(orders).map(([name, { direction, by }]) => [
      name,
      { name, direction, keys: [by, id], isIndexed: false },
    ]),
  );
}

/** The same from its end on. */
export const reversed = (order: Order): Order => ({ ...order, direction: order.direction === 'asc' ? 'desc' : 'asc' });

/** The values that a record has for the keys of an order. */
export type SortKey = readonly unknown[];

/** A query in an order, with whatever is needed to say where one of its rows stands in it. */
export function ordered<DB, T extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, T, Row>,
  { keys, direction }: Order,
): SelectQueryBuilder<DB, T, Row> {
  const sorted = keys.reduce((sorting, { by }) => sorting.orderBy(sql.raw(by), direction), query);
  const computed = keys.flatMap(({ by }, index) => (columnOf(by) === undefined ? [{ by, index }] : []));
  if (computed.length === 0) return sorted;
  return sorted.select(computed.map(({ by, index }) => sql.raw(by).as(keyName(index)))) as typeof sorted;
}

const keyName = (index: number) => `key_${index}`;

/** The column that a row has, where a key is no more than that. */
const columnOf = (by: string): string | undefined => /^(?:\w+\.)?(\w+)$/.exec(by)?.[1];

/** Nothing but the keys of what a query finds, in an order: all that `standOf` reads. */
export function keysOf<DB, T extends keyof DB>(
  query: SelectQueryBuilder<DB, T, object>,
  order: Order,
): SelectQueryBuilder<DB, T, object> {
  const columns = order.keys.map(({ by }) => columnOf(by)).filter((one) => one !== undefined);
  return ordered(query.select(columns.map((one) => sql.ref(one).as(one))), order);
}

/** What stands behind a place. */
export function after({ keys, direction }: Order, place: SortKey): Expression<SqlBool> {
  const [names, values] = [sql.join(keys.map(({ by }) => sql.raw(by))), sql.join(place)];
  return direction === 'asc' ? sql`(${names}) > (${values})` : sql`(${names}) < (${values})`;
}

/** Where a row that was read by `ordered` stands, in letters, digits, `-` and `_`: what `placeOf` reads. */
export function cursorOf(order: Order, row: object): string {
  return Buffer.from(JSON.stringify([order.name, ...sortKeyOf(order, row)])).toString('base64url');
}

/** Where a row stands that was read by `ordered` or by `keysOf`. */
export function sortKeyOf({ keys }: Order, row: object): SortKey {
  return keys.map(({ by }, index) => (row as Record<string, unknown>)[columnOf(by) ?? keyName(index)]);
}

/** The place that a cursor stands for. */
export function decodeCursor({ name, keys }: Order, cursor: string): SortKey {
  const [of, ...place] = parsed(cursor);
  const fits = (value: unknown, index: number) =>
    keys[index]?.is === 'number' ? Number.isSafeInteger(value) : typeof value === 'string' && isStorable(value);
  if (of === name && place.length === keys.length && place.every(fits)) return place;
  throw invalidInput([{ field: 'after', message: 'must be as the Link of a page in the same order has it' }]);
}

function parsed(cursor: string): readonly unknown[] {
  try {
    const found: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}
