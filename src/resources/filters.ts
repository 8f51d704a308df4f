import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { dayBeginsAt, dayEndsAt } from '../http/dates.ts';
import {
  dayParameter,
  type Given,
  idParameter,
  type Parameter,
  type Parameters,
  textParameter,
  wordParameter,
} from '../http/query.ts';
import { invalidInput } from '../problems.ts';

/** A filter of a list: a query parameter, and the condition it stands for. One row serves validation, query and docs. */
export type Filter<T = unknown> = Parameter<T> & {
  where(value: T): Expression<SqlBool>;
  /** Another spelling of the same filter; both with different values are refused (C25). */
  readonly alias?: string;
};

export type Filters = { readonly [name: string]: Filter };

const column = (name: string): RawBuilder<unknown> => sql.ref(name);

/** The id in a column. */
export const idFilter = (says: string, name: string): Filter<number> => ({
  ...idParameter(says),
  where: (id) => sql<SqlBool>`${column(name)} = ${id}`,
});

/** A calendar time on this day or later. */
export const fromDay = (says: string, name: string): Filter<string> => ({
  ...dayParameter(says),
  where: (day) => sql<SqlBool>`${column(name)} >= ${`${day} 00:00:00`}`,
});

/** A calendar time on this day or earlier: the whole day belongs to it. */
export const toDay = (says: string, name: string): Filter<string> => ({
  ...dayParameter(says),
  where: (day) => sql<SqlBool>`${column(name)} <= ${`${day} 23:59:59`}`,
});

/** A moment on this day (UTC) or later. */
export const sinceDay = (says: string, name: string): Filter<string> => ({
  ...dayParameter(says),
  where: (day) => sql<SqlBool>`${column(name)} >= ${dayBeginsAt(day)}`,
});

/** A moment on this day (UTC) or earlier: the whole day belongs to it. */
export const untilDay = (says: string, name: string): Filter<string> => ({
  ...dayParameter(says),
  where: (day) => sql<SqlBool>`${column(name)} <= ${dayEndsAt(day)}`,
});

/** A part of a text, in any case. */
export const partOf = (says: string, name: string): Filter<string> => ({
  ...textParameter(says),
  where: (part) => sql<SqlBool>`instr(fold(${column(name)}), fold(${part})) > 0`,
});

/** Records of a noun that a user is assigned to; whoever was deleted is assigned to none, as they are shown. */
export const assignedFilter = (says: string, noun: string, table: string, key: string): Filter<number> => ({
  ...idParameter(says),
  where: (userId) =>
    sql<SqlBool>`exists (select 1 from assignments inner join users on users.user_id = assignments.user_id
      where assignments.account_id = ${column(`${table}.account_id`)} and assignments.noun = ${noun}
      and assignments.record_id = ${column(`${table}.${key}`)} and assignments.user_id = ${userId}
      and users.date_deleted is null)`,
});

/** One of the tags of a comma list. */
export const tagIn = (says: string, name: string): Filter<string> => ({
  ...textParameter(says),
  where: (tag) => sql<SqlBool>`instr(${`,`} || ${column(name)} || ${`,`}, ${`,${tag},`}) > 0`,
});

/** One of a few words, each with its condition. */
export function wordFilter<W extends string>(says: string, words: Readonly<Record<W, Expression<SqlBool>>>): Filter<W> {
  return { ...wordParameter(says, Object.keys(words) as W[]), where: (word) => words[word] };
}

/** A condition in plain SQL, for the words of a status filter. */
export const condition = (text: string): Expression<SqlBool> => sql<SqlBool>`${sql.raw(text)}`;

/** The two spellings of one filter: the sample call of the specification uses the longer one. */
export function spelled<N extends string, A extends string, T>(
  name: N,
  alias: A,
  filter: Filter<T>,
): Record<N | A, Filter<T>> {
  return { [name]: filter, [alias]: { ...filter, alias: name } } as Record<N | A, Filter<T>>;
}

/** The conditions of the filters that were given; all of them hold together (AND). */
export function conditionsOf<F extends Filters>(filters: F, given: Given<F & Parameters>): Expression<SqlBool>[] {
  const values: Readonly<Record<string, unknown>> = given;
  const conditions: Expression<SqlBool>[] = [];
  for (const name of Object.keys(values)) {
    const filter = filters[name];
    if (filter === undefined) continue;
    const { alias } = filter;
    if (alias !== undefined && values[alias] !== undefined && values[alias] !== values[name]) {
      throw invalidInput(
        [name, alias].map((field) => ({ field, message: `${alias} and ${name} are one filter: must be the same` })),
      );
    }
    conditions.push(filter.where(values[name]));
  }
  return conditions;
}
