import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { dayBeginsAt, dayEndsAt } from '../../http/fields/dates.ts';
import {
  dayParameter,
  type Given,
  idParameter,
  type Parameter,
  type Parameters,
  textParameter,
  wordParameter,
} from '../../http/routes/query-parameters.ts';
import { invalidInput } from '../../problems.ts';

/** A filter of a list: a query parameter and its SQL condition. Validation, query and docs are derived from it. */
export type Filter<T = unknown> = Parameter<T> & {
  /** Converts the parameter's value to the bound value; defaults to the value itself. */
  bind?(value: T): unknown;
  /** The SQL condition. It must not inspect `bound`, which is a placeholder in a prepared query, unless `chooses` is set. */
  where(bound: unknown): Expression<SqlBool>;
  /** Each of its few values has a condition, and so a prepared query, of its own. */
  readonly chooses?: true;
  /** Name of the parameter that this one is an alias of; different values of the two are rejected (C25). */
  readonly alias?: string;
};

export type Filters = { readonly [name: string]: Filter };

const column = (name: string): RawBuilder<unknown> => sql.ref(name);

/** Compares a column with an id. */
export const idFilter = (description: string, name: string): Filter<number> => ({
  ...idParameter(description),
  where: (id) => sql<SqlBool>`${column(name)} = ${id}`,
});

/** Compares an id through a chain of references: each column but the last holds an id of the next column's table. */
export const relatedIdFilter = (description: string, ...[first = '', ...path]: readonly string[]): Filter<number> => ({
  ...idParameter(description),
  where: (id) => through(first, path, id),
});

function through(name: string, [next, ...path]: readonly string[], id: unknown): RawBuilder<SqlBool> {
  if (next === undefined) return sql`${column(name)} = ${id}`;
  const [[from = '', key = ''], [to = '']] = [name.split('.'), next.split('.')];
  return sql`${column(name)} in (select ${column(`${to}.${key}`)} from ${sql.table(to)}
    where ${column(`${to}.account_id`)} = ${column(`${from}.account_id`)} and ${through(next, path, id)})`;
}

/** Calendar times on this day or later. */
export const dateFrom = (description: string, name: string): Filter<string> => ({
  ...dayParameter(description),
  bind: (day) => `${day} 00:00:00`,
  where: (time) => sql<SqlBool>`${column(name)} >= ${time}`,
});

/** Calendar times on this day or earlier; the whole day is included. */
export const dateTo = (description: string, name: string): Filter<string> => ({
  ...dayParameter(description),
  bind: (day) => `${day} 23:59:59`,
  where: (time) => sql<SqlBool>`${column(name)} <= ${time}`,
});

/** Timestamps on this day (UTC) or later. */
export const timestampFrom = (description: string, name: string): Filter<string> => ({
  ...dayParameter(description),
  bind: dayBeginsAt,
  where: (timestamp) => sql<SqlBool>`${column(name)} >= ${timestamp}`,
});

/** Timestamps on this day (UTC) or earlier; the whole day is included. */
export const timestampTo = (description: string, name: string): Filter<string> => ({
  ...dayParameter(description),
  bind: dayEndsAt,
  where: (timestamp) => sql<SqlBool>`${column(name)} <= ${timestamp}`,
});

/** Texts that contain this text, compared without case. */
export const containsFilter = (description: string, name: string): Filter<string> => ({
  ...textParameter(description),
  where: (part) => sql<SqlBool>`instr(fold(${column(name)}), fold(${part})) > 0`,
});

/** Records that a user is assigned to. A deleted user matches none, as responses leave deleted users out. */
export const assignedFilter = (
  description: string,
  resourceType: string,
  table: string,
  key: string,
): Filter<number> => ({
  ...idParameter(description),
  where: (userId) =>
    sql<SqlBool>`exists (select 1 from assignments inner join users on users.user_id = assignments.user_id
      where assignments.account_id = ${column(`${table}.account_id`)} and assignments.resource_type = ${resourceType}
      and assignments.record_id = ${column(`${table}.${key}`)} and assignments.user_id = ${userId}
      and users.date_deleted is null)`,
});

/** Records that a team is assigned to. */
export const assignedTeamFilter = (
  description: string,
  resourceType: string,
  table: string,
  key: string,
): Filter<number> => ({
  ...idParameter(description),
  where: (teamId) =>
    sql<SqlBool>`exists (select 1 from team_assignments where team_assignments.account_id = ${column(`${table}.account_id`)}
      and team_assignments.resource_type = ${resourceType} and team_assignments.record_id = ${column(`${table}.${key}`)}
      and team_assignments.team_id = ${teamId})`,
});

/** Records whose comma-separated tags include this tag. */
export const tagIn = (description: string, name: string): Filter<string> => ({
  ...textParameter(description),
  bind: (tag) => `,${tag},`,
  where: (listed) => sql<SqlBool>`instr(',' || ${column(name)} || ',', ${listed}) > 0`,
});

/** A filter with a fixed set of values, each with its own condition. */
export function wordFilter<W extends string>(
  description: string,
  words: Readonly<Record<W, Expression<SqlBool>>>,
): Filter<W> {
  return { ...wordParameter(description, Object.keys(words) as W[]), chooses: true, where: (word) => words[word as W] };
}

/** A condition in plain SQL, for the values of `wordFilter`. Never pass user input. */
export const condition = (text: string): Expression<SqlBool> => sql<SqlBool>`${sql.raw(text)}`;

/** One filter under two names: the specification's example call uses the longer one. */
export function aliasFilter<N extends string, A extends string, T>(
  name: N,
  alias: A,
  filter: Filter<T>,
): Record<N | A, Filter<T>> {
  return { [name]: filter, [alias]: { ...filter, alias: name } } as Record<N | A, Filter<T>>;
}

/** Rejects a filter that is given under both of its names with different values. */
export function requireEqualAliases<F extends Filters>(filters: F, given: Given<F & Parameters>): void {
  const values: Readonly<Record<string, unknown>> = given;
  for (const name of Object.keys(values)) {
    const alias = filters[name]?.alias;
    if (alias === undefined || values[alias] === undefined || values[alias] === values[name]) continue;
    throw invalidInput(
      [name, alias].map((field) => ({
        field,
        message: `${alias} and ${name} are the same filter and must have the same value`,
      })),
    );
  }
}

/** A filter of the request with its bound value. */
export type BoundFilter = { readonly name: string; readonly filter: Filter; readonly bound: unknown };

/** The filters of the request with their bound values; they are combined with AND. */
export function boundFilters<F extends Filters>(filters: F, given: Given<F & Parameters>): BoundFilter[] {
  requireEqualAliases(filters, given);
  return Object.entries(given).flatMap(([name, value]) => {
    const filter = filters[name];
    return filter === undefined
      ? []
      : [{ name, filter, bound: filter.bind === undefined ? value : filter.bind(value) }];
  });
}

/** The conditions of the request's filters. */
export function conditionsOf<F extends Filters>(filters: F, given: Given<F & Parameters>): Expression<SqlBool>[] {
  return boundFilters(filters, given).map(({ filter, bound }) => filter.where(bound));
}
