import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { endOfDayMs, startOfDayMs } from '../../http/fields/dates.ts';
import {
  dayParameter,
  enumParameter,
  idParameter,
  type ParsedParameters,
  type QueryParameter,
  type QueryParameters,
  textParameter,
} from '../../http/routes/query-parameters.ts';
import { invalidInput } from '../../problems.ts';

/**
 * A filter of a list: a query parameter together with its SQL condition. Validation, query and documentation are
 * derived from it.
 */
type Filter<T = unknown> = QueryParameter<T> & {
  /** Converts the parameter's value to the value bound in SQL. Without this function, the value is bound unchanged. */
  toSqlValue?(value: T): unknown;
  /**
   * Builds the SQL condition. In a prepared query, `boundValue` is a placeholder that must not be inspected, unless
   * `isPreparedPerValue` is set.
   */
  buildCondition(boundValue: unknown): Expression<SqlBool>;
  /** Set if the parameter has few values. Each value then has its own condition and its own prepared query. */
  readonly isPreparedPerValue?: true;
  /** Name of the parameter that this parameter is an alias of. Different values of the two are rejected (C25). */
  readonly aliasOf?: string;
};

export type Filters = { readonly [name: string]: Filter };

const columnRef = (column: string): RawBuilder<unknown> => sql.ref(column);

/** Creates a filter that compares a column with an id. */
export const idFilter = (description: string, column: string): Filter<number> => ({
  ...idParameter(description),
  buildCondition: (id) => sql<SqlBool>`${columnRef(column)} = ${id}`,
});

/**
 * Creates a filter by the id of an indirectly referenced record. In the path of columns, each column references the
 * table of the next column, such as `time_entries.task_id` and `tasks.project_id`. The filter compares the last column.
 */
export const relatedIdFilter = (
  description: string,
  ...[firstColumn = '', ...path]: readonly string[]
): Filter<number> => ({
  ...idParameter(description),
  buildCondition: (id) => buildPathCondition(firstColumn, path, id),
});

function buildPathCondition(
  column: string,
  [nextColumn, ...path]: readonly string[],
  id: unknown,
): RawBuilder<SqlBool> {
  if (nextColumn === undefined) return sql`${columnRef(column)} = ${id}`;
  const [[fromTable = '', keyColumn = ''], [toTable = '']] = [column.split('.'), nextColumn.split('.')];
  return sql`${columnRef(column)} in (select ${columnRef(`${toTable}.${keyColumn}`)} from ${sql.table(toTable)}
    where ${columnRef(`${toTable}.account_id`)} = ${columnRef(`${fromTable}.account_id`)} and ${buildPathCondition(nextColumn, path, id)})`;
}

/** Creates a filter for calendar times on this day or later. */
export const dateFromFilter = (description: string, column: string): Filter<string> => ({
  ...dayParameter(description),
  toSqlValue: (day) => `${day} 00:00:00`,
  buildCondition: (time) => sql<SqlBool>`${columnRef(column)} >= ${time}`,
});

/** Creates a filter for calendar times on this day or earlier. The whole day is included. */
export const dateUpToFilter = (description: string, column: string): Filter<string> => ({
  ...dayParameter(description),
  toSqlValue: (day) => `${day} 23:59:59`,
  buildCondition: (time) => sql<SqlBool>`${columnRef(column)} <= ${time}`,
});

/** Creates a filter for timestamps on this day (UTC) or later. */
export const timestampFromFilter = (description: string, column: string): Filter<string> => ({
  ...dayParameter(description),
  toSqlValue: startOfDayMs,
  buildCondition: (timestamp) => sql<SqlBool>`${columnRef(column)} >= ${timestamp}`,
});

/** Creates a filter for timestamps on this day (UTC) or earlier. The whole day is included. */
export const timestampUpToFilter = (description: string, column: string): Filter<string> => ({
  ...dayParameter(description),
  toSqlValue: endOfDayMs,
  buildCondition: (timestamp) => sql<SqlBool>`${columnRef(column)} <= ${timestamp}`,
});

/** Creates a filter for texts that contain this text, ignoring case. */
export const containsFilter = (description: string, column: string): Filter<string> => ({
  ...textParameter(description),
  buildCondition: (part) => sql<SqlBool>`instr(fold(${columnRef(column)}), fold(${part})) > 0`,
});

/**
 * Creates a filter for records that a user is assigned to. A deleted user matches no record, because responses leave
 * deleted users out.
 */
export const assignedUserFilter = (description: string, resourceType: 'task' | 'subtask'): Filter<number> => ({
  ...idParameter(description),
  buildCondition: (userId) =>
    sql<SqlBool>`exists (select 1 from assignments inner join users on users.user_id = assignments.user_id
      where assignments.account_id = ${columnRef(`${resourceType}s.account_id`)} and assignments.resource_type = ${resourceType}
      and assignments.record_id = ${columnRef(`${resourceType}s.${resourceType}_id`)} and assignments.user_id = ${userId}
      and users.date_deleted is null)`,
});

/** Creates a filter for records that a team is assigned to. */
export const assignedTeamFilter = (description: string, resourceType: 'task' | 'subtask'): Filter<number> => ({
  ...idParameter(description),
  buildCondition: (teamId) =>
    sql<SqlBool>`exists (select 1 from team_assignments where team_assignments.account_id = ${columnRef(`${resourceType}s.account_id`)}
      and team_assignments.resource_type = ${resourceType} and team_assignments.record_id = ${columnRef(`${resourceType}s.${resourceType}_id`)}
      and team_assignments.team_id = ${teamId})`,
});

/** Creates a filter for records whose comma-separated tags include this tag. */
export const tagFilter = (description: string, column: string): Filter<string> => ({
  ...textParameter(description),
  toSqlValue: (tag) => `,${tag},`,
  buildCondition: (listedTag) => sql<SqlBool>`instr(',' || ${columnRef(column)} || ',', ${listedTag}) > 0`,
});

/** Creates a filter with a fixed set of values, each with its own condition. */
export function enumFilter<W extends string>(
  description: string,
  conditionsByValue: Readonly<Record<W, Expression<SqlBool>>>,
): Filter<W> {
  return {
    ...enumParameter(description, Object.keys(conditionsByValue) as W[]),
    isPreparedPerValue: true,
    buildCondition: (value) => conditionsByValue[value as W],
  };
}

/** Converts plain SQL to a condition for `enumFilter`. `text` must never contain user input. */
export const sqlCondition = (text: string): Expression<SqlBool> => sql<SqlBool>`${sql.raw(text)}`;

/**
 * Declares one filter under two names. The alias is the longer name, which the example call of the specification uses.
 */
export function aliasFilter<N extends string, A extends string, T>(
  name: N,
  alias: A,
  filter: Filter<T>,
): Record<N | A, Filter<T>> {
  return { [name]: filter, [alias]: { ...filter, aliasOf: name } } as Record<N | A, Filter<T>>;
}

/** Throws 400 if a request gives a filter under both of its names with different values. */
export function rejectConflictingAliases<F extends Filters>(
  filters: F,
  parameterValues: ParsedParameters<F & QueryParameters>,
): void {
  const valuesByName: Readonly<Record<string, unknown>> = parameterValues;
  for (const name of Object.keys(valuesByName)) {
    const alias = filters[name]?.aliasOf;
    if (alias === undefined || valuesByName[alias] === undefined || valuesByName[alias] === valuesByName[name])
      continue;
    throw invalidInput(
      [name, alias].map((field) => ({
        field,
        message: `${alias} and ${name} are the same filter and must have the same value`,
      })),
    );
  }
}

/** A filter that a request uses, with the value to bind in SQL. */
export type BoundFilter = { readonly name: string; readonly filter: Filter; readonly boundValue: unknown };

/** Returns the filters that a request uses, with the values to bind in SQL. The filters are combined with AND. */
export function bindFilters<F extends Filters>(
  filters: F,
  parameterValues: ParsedParameters<F & QueryParameters>,
): BoundFilter[] {
  rejectConflictingAliases(filters, parameterValues);
  return Object.entries(parameterValues).flatMap(([name, value]) => {
    const filter = filters[name];
    return filter === undefined
      ? []
      : [{ name, filter, boundValue: filter.toSqlValue === undefined ? value : filter.toSqlValue(value) }];
  });
}

/** Returns the SQL conditions of the filters that a request uses. */
export function buildFilterConditions<F extends Filters>(
  filters: F,
  parameterValues: ParsedParameters<F & QueryParameters>,
): Expression<SqlBool>[] {
  return bindFilters(filters, parameterValues).map(({ filter, boundValue }) => filter.buildCondition(boundValue));
}
