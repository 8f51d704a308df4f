import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { isStorable } from '../../control-characters.ts';
import { invalidInput } from '../../problems.ts';

/** A column or SQL expression to sort by, and the type of its values. The values are never null. */
type Key = { readonly by: string; readonly is: 'number' | 'string' };

/** A total order of a list (C7). Rows are compared by each key in turn, all in the same direction. */
export type Order = {
  readonly name: string;
  readonly direction: 'asc' | 'desc';
  readonly keys: readonly Key[];
  /** Whether an index returns the unfiltered list in this order. Otherwise, the database sorts the rows. */
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

/** A sort order that a request can name. */
type RequestedOrder = { readonly direction: Order['direction']; readonly by: Key };

export const asc = (by: Key): RequestedOrder => ({ direction: 'asc', by });
export const desc = (by: Key): RequestedOrder => ({ direction: 'desc', by });

/** The sort orders of a list that a request can name, by their names. */
export type Orders = Readonly<Record<string, RequestedOrder>>;

/** Makes each order total by adding the id as the last key (C7). */
export function totalOrders(orders: Orders, id: Key): ReadonlyMap<string, Order> {
  return new Map(
    Object.entries(orders).map(([name, { direction, by }]) => [
      name,
      { name, direction, keys: [by, id], isIndexed: false },
    ]),
  );
}

export const reversed = (order: Order): Order => ({ ...order, direction: order.direction === 'asc' ? 'desc' : 'asc' });

/** The values of one record for the keys of an order. */
export type SortKey = readonly unknown[];

/** Adds an order to a query, and selects the computed keys that `sortKeyOf` needs. */
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

/** Returns the column name of a key; undefined if the key is an SQL expression. */
const columnOf = (by: string): string | undefined => /^(?:\w+\.)?(\w+)$/.exec(by)?.[1];

/** Selects only the keys of an order, from which `sortKeyOf` reads the sort key. */
export function keysOf<DB, T extends keyof DB>(
  query: SelectQueryBuilder<DB, T, object>,
  order: Order,
): SelectQueryBuilder<DB, T, object> {
  const columns = order.keys.map(({ by }) => columnOf(by)).filter((one) => one !== undefined);
  return ordered(query.select(columns.map((one) => sql.ref(one).as(one))), order);
}

/** Builds the condition for the records after a sort key (keyset pagination). */
export function after({ keys, direction }: Order, sortKey: SortKey): Expression<SqlBool> {
  const [names, values] = [sql.join(keys.map(({ by }) => sql.raw(by))), sql.join(sortKey)];
  return direction === 'asc' ? sql`(${names}) > (${values})` : sql`(${names}) < (${values})`;
}

/**
 * Encodes the cursor of a row as base64url; `decodeCursor` decodes it. The row must be from a query ordered by
 * `orderQuery`.
 */
export function cursorOf(order: Order, row: object): string {
  return Buffer.from(JSON.stringify([order.name, ...sortKeyOf(order, row)])).toString('base64url');
}

/** Returns the sort key of a row. The row must be from a query built with `orderQuery` or `selectSortKeys`. */
export function sortKeyOf({ keys }: Order, row: object): SortKey {
  return keys.map(({ by }, index) => (row as Record<string, unknown>)[columnOf(by) ?? keyName(index)]);
}

/** Decodes the sort key in a cursor. Throws 400 if the cursor is malformed or belongs to another order. */
export function decodeCursor({ name, keys }: Order, cursor: string): SortKey {
  const [orderName, ...sortKey] = parsed(cursor);
  const fits = (value: unknown, index: number) =>
    keys[index]?.is === 'number' ? Number.isSafeInteger(value) : typeof value === 'string' && isStorable(value);
  if (orderName === name && sortKey.length === keys.length && sortKey.every(fits)) return sortKey;
  throw invalidInput([
    { field: 'after', message: 'must be a cursor from the Link header of a page in the same order' },
  ]);
}

function parsed(cursor: string): readonly unknown[] {
  try {
    const found: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}
