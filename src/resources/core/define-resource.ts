import type { SelectQueryBuilder } from 'kysely';
import { type Kind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import { type NewOccurrence, record } from '../../delivery/outbox/record-occurrences.ts';
import { type Changed, type Created, type Fields, maxLengthOf, type Shown } from '../../http/fields/field.ts';
import type { Page, Paging } from '../../http/routes/pagination.ts';
import { type Given, type Parameter, wordParameter } from '../../http/routes/query-parameters.ts';
import type { Caller } from '../../permissions.ts';
import { notFound } from '../../problems.ts';
import { AccountView, type AccountWrite } from '../../store/account-scope.ts';
import { columns, type Tables } from '../../store/tables.ts';
import { resolveOwner } from '../users/lookup.ts';
import { type Assignment, assignedTo, isAssignable, setAssigned, withAssigned } from './assignments.ts';
import { cascadeDelete, kindsOfRemoval } from './cascade-delete.ts';
import type { Filters } from './filters.ts';
import { pagedQuery } from './pagination.ts';
import { type Columns, cascadeReferenceChanges, kindsOfMove, resolveReferences } from './references.ts';
import { parentOf } from './relations.ts';
import { idColumnOf, type ListedTable, type ResourceName, tables } from './resource-tables.ts';
import { ascending, number, type Orders, totalOrders } from './sorting.ts';

/** What a query finds of a record: all that is shown of it, but for who is assigned. */
type Found<F extends Fields> = Omit<Shown<F>, 'users' | 'teams'>;

/** What is said of a noun whose records are rows of its table; all else is the same for each. */
export type ResourceOptions<F extends Fields, C extends Fields, P extends Filters, O extends Orders, Row> = {
  readonly fields: F;
  /** What a change takes, where that is not what is shown. */
  readonly changes?: C;
  readonly filters: P;
  /** The orders that a list can be asked for in, and what is said of them; in no order, it is by id. */
  readonly orders?: { readonly descriptions: string; readonly by: O };
  /** Its records with everything that is shown of them, where that is more than their table has. */
  readonly shown?: (view: AccountView) => Row;
  /** Refuses what does not go together; a change is judged by what would come of it. */
  readonly check?: (given: Changed<C>, before?: Found<F>) => void;
  /** What is stored of what was given and shared with what it names, where that is not the same. */
  readonly stored?: (given: Changed<C>, before: Found<F> | undefined, view: AccountView) => Columns | Promise<Columns>;
  /** What a change is and brings about, where that is not just that the record was changed. */
  readonly changed?: {
    readonly kinds: readonly Kind[];
    facts(write: AccountWrite, caller: Caller, before: Found<F>, stored: Columns): Promise<NewOccurrence[]>;
  };
  /** What a deletion takes along that is no record. */
  readonly removing?: (write: AccountWrite, id: number) => Promise<unknown>;
};

/** The parameters of a list: its filters, and an order where it can be asked for in several. */
type ListParameters<P extends Filters, O extends Orders> = P & { order: Parameter<keyof O & string> };

/** What can happen to the records of a noun, each inside the caller's transaction. What is named and unknown is 404. */
export type Records<F extends Fields, C extends Fields, P extends Filters, O extends Orders, L extends Fields = F> = {
  readonly resourceType: ResourceName;
  readonly fields: F;
  /** What a list shows of each. */
  readonly listed: L;
  readonly changes: C;
  readonly parameters: ListParameters<P, O>;
  /** What a change and a deletion record, always or at times. */
  readonly kinds: { readonly change: readonly Kind[]; readonly remove: readonly Kind[] };
  list(view: AccountView, given: Given<ListParameters<P, O>>, paging: Paging): Promise<Page<Shown<L>>>;
  get(view: AccountView, id: number): Promise<Shown<F>>;
  /** @param parentId what it is to belong to */
  create(write: AccountWrite, caller: Caller, input: Created<F>, parentId?: number): Promise<Shown<F>>;
  change(write: AccountWrite, caller: Caller, id: number, input: Changed<C>): Promise<Shown<F>>;
  remove(write: AccountWrite, caller: Caller, id: number): Promise<void>;
};

// All nouns, alike.
type AnyQuery = SelectQueryBuilder<Tables, ListedTable, Columns>;
type AnyOptions = ResourceOptions<Fields, Fields, Filters, Orders, AnyQuery>;
type AnyRecords = Records<Fields, Fields, Filters, Orders>;

/** A list, a record and its creation, change and deletion, from what is said of the noun. */
export function defineResource<
  F extends Fields,
  P extends Filters,
  Row extends SelectQueryBuilder<never, never, Found<F>>,
  C extends Fields = F,
  O extends Orders = Record<never, never>,
>(resourceType: ResourceName, options: ResourceOptions<F, C, P, O, Row>): Records<F, C, P, O>;
export function defineResource(resourceType: ResourceName, options: AnyOptions): AnyRecords {
  const { fields, changes = fields, filters, check, removing } = options;
  const { stored = (given) => given } = options;
  const [table, { key }, parent] = [tables[resourceType], resourceTypes[resourceType], parentOf(resourceType)];
  const id = idColumnOf(resourceType);
  const byId = ascending('id', number(id));
  const orders = totalOrders(options.orders?.by ?? {}, number(id));
  const order = options.orders && wordParameter(options.orders.descriptions, Object.keys(options.orders.by));
  const shown = options.shown ?? ((view: AccountView) => view.selectFrom(table).selectAll(table) as AnyQuery);
  const isWhole = options.shown === undefined && !isAssignable(resourceType);

  const page = pagedQuery(resourceType, filters, shown, longTextsOf(fields, table));
  const find = AccountView.prepared(
    (view, values: { id: number }) => shown(view).where(id as never, '=', values.id as never),
    'together',
  );
  const idOf = (row: Columns) => Number(row[key]);

  async function get(view: AccountView, recordId: number): Promise<Columns> {
    const [row] = await find(view, { id: recordId });
    if (row === undefined) throw notFound();
    return isAssignable(resourceType) ? { ...row, ...(await assignedTo(view, resourceType, recordId)) } : row;
  }

  return {
    resourceType,
    fields,
    listed: fields,
    changes,
    parameters: { ...filters, ...(order && { order }) } as AnyRecords['parameters'],
    kinds: {
      change: [
        ...kindsOfMove(resourceType, changes),
        ...(options.changed?.kinds ?? [`changed_${resourceType}` as const]),
      ],
      remove: kindsOfRemoval(resourceType),
    },
    get,
    async list(view, { order: name = '', ...given }, paging) {
      const found = await page(view, given, paging, orders.get(name) ?? byId);
      return isAssignable(resourceType) ? withAssigned(view, resourceType, found, idOf) : found;
    },
    async create(write, caller, { users, teams, user_id: named, ...input }, parentId) {
      check?.(input);
      const place = resolveReferences(
        write,
        resourceType,
        parent ? { ...input, [resourceTypes[parent].key]: parentId } : input,
      );
      const user_id = await resolveOwner(write, caller, Number(named ?? 0), caller.userId);
      const row: Columns = await write.insertRow(table, {
        ...(await stored(await place(), undefined, write)),
        user_id,
        date_created: write.now,
        date_modified: null,
      } as never);
      const recordId = Number(row[key]);
      // Nobody is assigned to it yet.
      if (isAssignable(resourceType))
        await setAssigned(write, resourceType, recordId, { users: someOf(users), teams: someOf(teams) });
      record(write, [{ kind: `new_${resourceType}`, recordId, userId: user_id }]);
      return isWhole ? row : get(write, recordId);
    },
    async change(write, caller, recordId, { users, teams, user_id: named, ...input }) {
      const place = resolveReferences(write, resourceType, input);
      const before = await get(write, recordId);
      check?.(input, before);
      const user_id = await resolveOwner(write, caller, Number(named ?? 0), Number(before.user_id));
      const columns = await stored(await place(before), before, write);
      const changing = write.updateTable(table).set({ ...columns, user_id, date_modified: write.now } as never);
      const changed = changing.where(key as never, '=', recordId as never).returningAll();
      const row: Columns = await changed.executeTakeFirstOrThrow();
      if (isAssignable(resourceType)) await setAssigned(write, resourceType, recordId, { users, teams } as Assignment);
      const moved = await cascadeReferenceChanges(write, caller, resourceType, before, columns);
      const facts = await options.changed?.facts(write, caller, before, columns);
      record(write, [
        ...moved,
        ...(facts ?? [{ kind: `changed_${resourceType}`, recordId, userId: caller.userId } as const]),
      ]);
      return isWhole ? row : get(write, recordId);
    },
    async remove(write, caller, recordId) {
      await removing?.(write, recordId);
      const facts = await cascadeDelete(write, caller, resourceType, recordId);
      if (facts.length === 0) throw notFound();
      record(write, facts);
    },
  };
}

/** From this length on, a text counts for how many records are loaded at once. */
const LONG_TEXT = 1_000;

/** The columns of the long texts among these fields. */
function longTextsOf(fields: Fields, table: ListedTable): string[] {
  const names = Object.keys(fields).filter((name) => Object.hasOwn(columns[table], name));
  return names.filter((name) => maxLengthOf(fields[name]) >= LONG_TEXT).map((name) => `${table}.${name}`);
}

/** A list that was given; undefined for an empty one. */
const someOf = (list: unknown) => (Array.isArray(list) && list.length > 0 ? list : undefined);
