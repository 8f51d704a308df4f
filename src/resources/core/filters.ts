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

/** A filter of a list: a query parameter, and the condition it stands for. One row serves validation, query and docs. */
export type Filter<T = unknown> = Parameter<T> & {
  /** What the condition compares with, for a value; left out: the value itself. */
  bind?(value: T): unknown;
  /** The condition. It hands on what is bound, and looks at it only where it `chooses`. */
  where(bound: unknown): Expression<SqlBool>;
  /** Another value is another condition: there are few of them. */
  readonly chooses?: true;
  /** Another spelling of the same filter; both with different values are refused (C25). */
  readonly alias?: string;
};

export type Filters = { readonly [name: string]: Filter };

const column = (name: string): RawBuilder<unknown> => sql.ref(name);

/** The id in a column. */
export const idFilter = (description: string, name: string): Filter<number> => ({
  ...idParameter(description),
  where: (id) => sql<SqlBool>`${column(name)} = ${id}`,
});

/** The id that is found through other records: each column but the last names a record of the table of the next. */
export const throughFilter = (says: string, ...[first = '', ...path]: readonly string[]): Filter<number> => ({
  ...idParameter(says),
  where: (id) => through(first, path, id),
});

function through(name: string, [next, ...path]: readonly string[], id: unknown): RawBuilder<SqlBool> {
  if (next === undefined) return sql`${column(name)} = ${id}`;
  const [[from = '', key = ''], [to = '']] = [name.split('.'), next.split('.')];
  return sql`${column(name)} in (select ${column(`${to}.${key}`)} from ${sql.table(to)}
    where ${column(`${to}.account_id`)} = ${column(`${from}.account_id`)} and ${through(next, path, id)})`;
}

/** A calendar time on this day or later. */
export const dateFrom = (says: string, name: string): Filter<string> => ({
  ...dayParameter(says),
  bind: (day) => `${day} 00:00:00`,
  where: (time) => sql<SqlBool>`${column(name)} >= ${time}`,
});

/** A calendar time on this day or earlier: the whole day belongs to it. */
export const dateTo = (says: string, name: string): Filter<string> => ({
  ...dayParameter(says),
  bind: (day) => `${day} 23:59:59`,
  where: (time) => sql<SqlBool>`${column(name)} <= ${time}`,
});

/** A moment on this day (UTC) or later. */
export const timestampFrom = (says: string, name: string): Filter<string> => ({
  ...dayParameter(says),
  bind: dayBeginsAt,
  where: (moment) => sql<SqlBool>`${column(name)} >= ${moment}`,
});

/** A moment on this day (UTC) or earlier: the whole day belongs to it. */
export const timestampTo = (says: string, name: string): Filter<string> => ({
  ...dayParameter(says),
  bind: dayEndsAt,
  where: (moment) => sql<SqlBool>`${column(name)} <= ${moment}`,
});

/** A part of a text, in any case. */
export const partOf = (says: string, name: string): Filter<string> => ({
  ...textParameter(says),
  where: (part) => sql<SqlBool>`instr(fold(${column(name)}), fold(${part})) > 0`,
});

/** Records of a noun that a user is assigned to; whoever was deleted is assigned to none, as they are shown. */
export const assignedFilter = (says: string, resourceType: string, table: string, key: string): Filter<number> => ({
  ...idParameter(says),
  where: (userId) =>
    sql<SqlBool>`exists (select 1 from assignments inner join users on users.user_id = assignments.user_id
      where assignments.account_id = ${column(`${table}.account_id`)} and assignments.resource_type = ${resourceType}
      and assignments.record_id = ${column(`${table}.${key}`)} and assignments.user_id = ${userId}
      and users.date_deleted is null)`,
});

/** Records of a noun that a team is assigned to. */
export const assignedTeamFilter = (says: string, resourceType: string, table: string, key: string): Filter<number> => ({
  ...idParameter(says),
  where: (teamId) =>
    sql<SqlBool>`exists (select 1 from team_assignments where team_assignments.account_id = ${column(`${table}.account_id`)}
      and team_assignments.resource_type = ${resourceType} and team_assignments.record_id = ${column(`${table}.${key}`)}
      and team_assignments.team_id = ${teamId})`,
});

/** One of the tags of a comma list. */
export const tagIn = (says: string, name: string): Filter<string> => ({
  ...textParameter(says),
  bind: (tag) => `,${tag},`,
  where: (listed) => sql<SqlBool>`instr(',' || ${column(name)} || ',', ${listed}) > 0`,
});

/** One of a few words, each with its condition. */
export function wordFilter<W extends string>(says: string, words: Readonly<Record<W, Expression<SqlBool>>>): Filter<W> {
  return { ...wordParameter(says, Object.keys(words) as W[]), chooses: true, where: (word) => words[word as W] };
}

/** A condition in plain SQL, for the words of a status filter. */
export const condition = (text: string): Expression<SqlBool> => sql<SqlBool>`${sql.raw(text)}`;

/** The two spellings of one filter: the sample call of the specification uses the longer one. */
export function aliasFilter<N extends string, A extends string, T>(
  name: N,
  alias: A,
  filter: Filter<T>,
): Record<N | A, Filter<T>> {
  return { [name]: filter, [alias]: { ...filter, alias: name } } as Record<N | A, Filter<T>>;
}

/** Refuses two spellings of one filter that are not the same. */
export function mustAgree<F extends Filters>(filters: F, given: Given<F & Parameters>): void {
  const values: Readonly<Record<string, unknown>> = given;
  for (const name of Object.keys(values)) {
    const alias = filters[name]?.alias;
    if (alias === undefined || values[alias] === undefined || values[alias] === values[name]) continue;
    throw invalidInput(
      [name, alias].map((field) => ({ field, message: `${alias} and ${name} are one filter: must be the same` })),
    );
  }
}

/** A filter that was given, and what its condition compares with. */
export type Bound = { readonly name: string; readonly filter: Filter; readonly bound: unknown };

/** The filters that were given; all of them hold together (AND). */
export function boundIn<F extends Filters>(filters: F, given: Given<F & Parameters>): Bound[] {
  mustAgree(filters, given);
  return Object.entries(given).flatMap(([name, value]) => {
    const filter = filters[name];
    return filter === undefined
      ? []
      : [{ name, filter, bound: filter.bind === undefined ? value : filter.bind(value) }];
  });
}

/** The conditions of the filters that were given. */
export function conditionsOf<F extends Filters>(filters: F, given: Given<F & Parameters>): Expression<SqlBool>[] {
  return boundIn(filters, given).map(({ filter, bound }) => filter.where(bound));
}
