import { type Kind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import type { NewOccurrence } from '../../delivery/outbox/record-occurrences.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput, notFound } from '../../problems.ts';
import { AccountView, type AccountWrite } from '../../store/account-scope.ts';
import { type Relation, relationsOf, relationsTo } from './relations.ts';
import { idColumnOf, ofEach, type ResourceName, tables } from './resource-tables.ts';

/** Columns of a row, and what stands in them. */
export type Columns = Readonly<Record<string, unknown>>;

/** What those that name a record of this noun share with it. */
const sharedOf = (resourceType: ResourceName) => [
  ...new Set(relationsTo(resourceType).flatMap(({ shares = [] }) => shares)),
];

const finders = ofEach((resourceType) =>
  AccountView.prepared((view, { id }: { readonly id: number }) => {
    const [table, column] = [tables[resourceType], idColumnOf(resourceType)];
    return view
      .selectFrom(table)
      .select([column, ...sharedOf(resourceType).map((shared) => `${table}.${shared}`)] as never)
      .where(column as never, '=', id as never);
  }, 'together'),
);

/** The record must be one of the account; else it is 404. */
export async function requireExists(view: AccountView, resourceType: ResourceName, id: number): Promise<Columns> {
  const [row] = await finders[resourceType](view, { id });
  if (row === undefined) throw notFound();
  return row;
}

/**
 * Looks for the records that a record names. It asks at once, together with whatever else is asked, for those that were
 * given; what is wrong is said when the answer is wanted.
 *
 * @param given what was given of a record of this noun, with what it belongs to
 * @returns what was given with what it shares with them, taken over where nothing was given of it; refuses what differs
 */
export function resolveReferences(
  view: AccountView,
  resourceType: ResourceName,
  given: Columns,
): (before?: Columns) => Promise<Columns> {
  const found = new Map<Relation, Promise<Columns>>();
  const find = (relation: Relation, id: number) => {
    const row = found.get(relation) ?? requireExists(view, relation.to, id);
    row.catch(() => undefined);
    found.set(relation, row);
    return row;
  };
  const relations = relationsOf(resourceType);
  for (const relation of relations) {
    const id = given[relation.field];
    if (typeof id === 'number' && (relation.parent || id !== 0)) find(relation, id);
  }
  return async (before = {}) => {
    await Promise.all(found.values());
    const all: Record<string, unknown> = { ...before, ...given };
    const taken: Record<string, unknown> = {};
    /** By which relation a column is known to be right. */
    const sources = new Map<string, Relation>();
    for (const relation of relations) {
      const { field, shares = [] } = relation;
      const id = Number(all[field] ?? 0);
      const isNew = [field, ...shares].some((column) => given[column] !== undefined || sources.has(column));
      const isKnown = [field, ...shares].every((column) => sources.has(column));
      if (id === 0 || shares.length === 0 || !isNew || isKnown) continue;
      const row = await find(relation, id);
      const source = sources.get(field) ?? relation;
      for (const column of shares) {
        sources.set(column, source);
        if (all[column] === row[column]) continue;
        if (all[column]) throw differs(source, resourceType, column);
        taken[column] = all[column] = row[column];
      }
    }
    return { ...given, ...taken };
  };
}

function differs({ field, to }: Relation, resourceType: ResourceName, column: string): Error {
  const shared = relationsOf(resourceType).find((relation) => relation.field === column)?.to ?? column;
  return invalidInput([{ field, message: `must be a ${to} of the same ${shared}` }]);
}

/** Which records move along with one of this noun, and what they are told by. */
const followers = (resourceType: ResourceName, changes: Columns) =>
  relationsTo(resourceType).filter(({ shares = [] }) => shares.some((column) => Object.hasOwn(changes, column)));

/** The kinds that a change of such a record may record of others. */
export function kindsOfMove(resourceType: ResourceName, changes: Columns): readonly Kind[] {
  return followers(resourceType, changes).map(({ of }) => `changed_${of}` as const);
}

/**
 * What shares with a record where that stands goes along when it moves.
 *
 * @param moved the record before the change
 * @param to what was changed of it
 * @returns what was changed by it
 */
export async function cascadeReferenceChanges(
  write: AccountWrite,
  { userId }: Caller,
  resourceType: ResourceName,
  moved: Columns,
  to: Columns,
): Promise<NewOccurrence[]> {
  const facts: NewOccurrence[] = [];
  const changes = Object.fromEntries(
    Object.entries(to).filter(([column, value]) => value !== undefined && value !== moved[column]),
  );
  for (const { of, field, shares = [] } of followers(resourceType, changes)) {
    const shared = shares.flatMap((column) => (column in changes ? [[column, changes[column]]] : []));
    const columns = await resolveReferences(write, of, Object.fromEntries(shared))();
    const { key } = resourceTypes[of];
    const rows: readonly Columns[] = await write
      .updateTable(tables[of])
      .set({ ...columns, date_modified: write.now } as never)
      .where(field as never, '=', moved[resourceTypes[resourceType].key] as never)
      .returning(key as never)
      .execute();
    const ids = rows.map((row) => Number(row[key])).sort((a, b) => a - b);
    facts.push(...ids.map((id): NewOccurrence => ({ kind: `changed_${of}`, recordId: id, userId })));
  }
  return facts;
}
