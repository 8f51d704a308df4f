import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { isStorable } from '../../control-characters.ts';
import { invalidInput } from '../../problems.ts';

/** A column or SQL expression to sort by, and the type of its values. The values are never null. */
type SortExpression = { readonly expressionSql: string; readonly valueType: 'number' | 'string' };

/** A total order of a list (C7). Rows are compared by each key in turn, all in the same direction. */
export type ListOrder = {
  readonly name: string;
  readonly direction: 'asc' | 'desc';
  readonly keys: readonly SortExpression[];
  /** Whether an index returns the unfiltered list in this order. Otherwise, the database sorts the rows. */
  readonly isIndexed: boolean;
};

export const numberKey = (expressionSql: string): SortExpression => ({ expressionSql, valueType: 'number' });
export const textKey = (expressionSql: string): SortExpression => ({ expressionSql, valueType: 'string' });

/** Creates a list order with `isIndexed` set. The keys must make the order total (C7). */
export const ascendingOrder = (name: string, ...keys: readonly SortExpression[]): ListOrder => ({
  name,
  direction: 'asc',
  keys,
  isIndexed: true,
});

/** A sort order that a request can name. */
type RequestedOrder = { readonly direction: ListOrder['direction']; readonly expression: SortExpression };

/** Declare a sort order that a request can name. `toTotalOrders` makes it a `ListOrder`. */
export const ascendingBy = (expression: SortExpression): RequestedOrder => ({ direction: 'asc', expression });
export const descendingBy = (expression: SortExpression): RequestedOrder => ({ direction: 'desc', expression });

/** The sort orders of a list that a request can name, by their names. */
export type RequestedOrders = Readonly<Record<string, RequestedOrder>>;

/** Makes each order total by adding the id as the last key (C7). */
export function toTotalOrders(orders: RequestedOrders, idExpression: SortExpression): ReadonlyMap<string, ListOrder> {
  return new Map(
    Object.entries(orders).map(([name, { direction, expression }]) => [
      name,
      { name, direction, keys: [expression, idExpression], isIndexed: false },
    ]),
  );
}

export const reverseOrder = (order: ListOrder): ListOrder => ({
  ...order,
  direction: order.direction === 'asc' ? 'desc' : 'asc',
});

/** The values of one record for the keys of an order. */
export type SortKeyValues = readonly unknown[];

/** Adds ORDER BY to a query, and selects the computed keys that `sortKeyOf` needs. */
export function addOrderBy<DB, T extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, T, Row>,
  { keys, direction }: ListOrder,
): SelectQueryBuilder<DB, T, Row> {
  const orderedQuery = keys.reduce(
    (sortedQuery, { expressionSql }) => sortedQuery.orderBy(sql.raw(expressionSql), direction),
    query,
  );
  const computedKeys = keys.flatMap(({ expressionSql }, index) =>
    columnNameOf(expressionSql) === undefined ? [{ by: expressionSql, index }] : [],
  );
  if (computedKeys.length === 0) return orderedQuery;
  return orderedQuery.select(
    computedKeys.map(({ by, index }) => sql.raw(by).as(sortKeyAlias(index))),
  ) as typeof orderedQuery;
}

const sortKeyAlias = (index: number) => `key_${index}`;

/** Returns the column name of a key; undefined if the key is an SQL expression. */
const columnNameOf = (expressionSql: string): string | undefined => /^(?:\w+\.)?(\w+)$/.exec(expressionSql)?.[1];

/** Selects only the keys of an order, from which `sortKeyOf` reads the sort key. */
export function selectSortKeys<DB, T extends keyof DB>(
  query: SelectQueryBuilder<DB, T, object>,
  order: ListOrder,
): SelectQueryBuilder<DB, T, object> {
  const columns = order.keys
    .map(({ expressionSql }) => columnNameOf(expressionSql))
    .filter((column) => column !== undefined);
  return addOrderBy(query.select(columns.map((column) => sql.ref(column).as(column))), order);
}

/** Builds the condition for the records after a sort key (keyset pagination). */
export function buildKeysetCondition({ keys, direction }: ListOrder, sortKey: SortKeyValues): Expression<SqlBool> {
  const [keyExpressions, keyValues] = [
    sql.join(keys.map(({ expressionSql }) => sql.raw(expressionSql))),
    sql.join(sortKey),
  ];
  return direction === 'asc' ? sql`(${keyExpressions}) > (${keyValues})` : sql`(${keyExpressions}) < (${keyValues})`;
}

/**
 * Encodes the cursor of a row as base64url; `decodePageCursor` decodes it. The row must be from a query built with
 * `addOrderBy` or `selectSortKeys`.
 */
export function encodePageCursor(order: ListOrder, row: object): string {
  return Buffer.from(JSON.stringify([order.name, ...sortKeyOf(order, row)])).toString('base64url');
}

/** Returns the sort key of a row. The row must be from a query built with `addOrderBy` or `selectSortKeys`. */
export function sortKeyOf({ keys }: ListOrder, row: object): SortKeyValues {
  return keys.map(
    ({ expressionSql }, index) => (row as Record<string, unknown>)[columnNameOf(expressionSql) ?? sortKeyAlias(index)],
  );
}

/** Decodes the sort key in a cursor. Throws 400 if the cursor is malformed or belongs to another order. */
export function decodePageCursor({ name, keys }: ListOrder, cursor: string): SortKeyValues {
  const [orderName, ...sortKey] = parseCursor(cursor);
  const isValidKeyValue = (value: unknown, index: number) =>
    keys[index]?.valueType === 'number' ? Number.isSafeInteger(value) : typeof value === 'string' && isStorable(value);
  if (orderName === name && sortKey.length === keys.length && sortKey.every(isValidKeyValue)) return sortKey;
  throw invalidInput([
    { field: 'after', message: 'must be a cursor from the Link header of a page in the same order' },
  ]);
}

function parseCursor(cursor: string): readonly unknown[] {
  try {
    const parsedCursor: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsedCursor) ? parsedCursor : [];
  } catch {
    return [];
  }
}
