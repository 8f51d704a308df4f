import type { SelectQueryBuilder } from 'kysely';
import { type Kind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import { type NewOccurrence, record } from '../../delivery/outbox/record-occurrences.ts';
import { type Changed, type Created, type Fields, maxLengthOf, type OutputOf } from '../../http/fields/field.ts';
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
import { type Columns, cascadeReferenceChanges, kindsOfMove, parentOf, resolveReferences } from './references.ts';
import { idColumnOf, type ListedTable, type ResourceName, tables } from './resource-tables.ts';
import { ascending, number, type Orders, totalOrders } from './sorting.ts';

/** A record as its query returns it: all response fields except the assignments. */
type Found<F extends Fields> = Omit<OutputOf<F>, 'users' | 'teams'>;

/** Options of a table-backed resource. Everything not listed here is the same for all resources. */
export type ResourceOptions<F extends Fields, C extends Fields, P extends Filters, O extends Orders, Row> = {
  readonly fields: F;
  /** Input fields of a change; defaults to `fields`. */
  readonly changes?: C;
  readonly filters: P;
  /** Sort orders that a request can name, with their description. Without such an order the list is sorted by id. */
  readonly orders?: { readonly descriptions: string; readonly by: O };
  /** Builds the query for the records. It is needed only if the response has more fields than the table has columns. */
  readonly shown?: (view: AccountView) => Row;
  /** Throws if fields contradict each other. `before` is the stored record on a change, and undefined on creation. */
  readonly check?: (given: Changed<C>, before?: Found<F>) => void;
  /** Converts the input to column values. By default, the input itself is stored. */
  readonly stored?: (given: Changed<C>, before: Found<F> | undefined, view: AccountView) => Columns | Promise<Columns>;
  /** Occurrences of a change, if a change may record other kinds than `changed_…`. */
  readonly changed?: {
    readonly kinds: readonly Kind[];
    occurrences(write: AccountWrite, caller: Caller, before: Found<F>, stored: Columns): Promise<NewOccurrence[]>;
  };
  /** Called before a record is deleted. Deletes dependent rows that are not records themselves. */
  readonly removing?: (write: AccountWrite, id: number) => Promise<unknown>;
};

/** Query parameters of a list: its filters, and `order` if the resource has sort orders. */
type ListParameters<P extends Filters, O extends Orders> = P & { order: Parameter<keyof O & string> };

/** Operations on the records of a resource, each in the caller's transaction. An unknown id throws 404. */
export type Records<F extends Fields, C extends Fields, P extends Filters, O extends Orders, L extends Fields = F> = {
  readonly resourceType: ResourceName;
  readonly fields: F;
  /** Response fields of a list entry. */
  readonly listed: L;
  readonly changes: C;
  readonly parameters: ListParameters<P, O>;
  /** Occurrence kinds that a change and a deletion may record. */
  readonly kinds: { readonly change: readonly Kind[]; readonly remove: readonly Kind[] };
  list(view: AccountView, given: Given<ListParameters<P, O>>, paging: Paging): Promise<Page<OutputOf<L>>>;
  get(view: AccountView, id: number): Promise<OutputOf<F>>;
  /** @param parentId id of the parent record, for a resource that has a parent */
  create(write: AccountWrite, caller: Caller, input: Created<F>, parentId?: number): Promise<OutputOf<F>>;
  change(write: AccountWrite, caller: Caller, id: number, input: Changed<C>): Promise<OutputOf<F>>;
  remove(write: AccountWrite, caller: Caller, id: number): Promise<void>;
};

type AnyQuery = SelectQueryBuilder<Tables, ListedTable, Columns>;
type AnyOptions = ResourceOptions<Fields, Fields, Filters, Orders, AnyQuery>;
type AnyRecords = Records<Fields, Fields, Filters, Orders>;

/** Derives the operations list, get, create, change and remove of a resource from its options. */
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
  const hasAllFields = options.shown === undefined && !isAssignable(resourceType);

  const page = pagedQuery(resourceType, filters, shown, longTextsOf(fields, table));
  const find = AccountView.prepared(
    (view, values: { id: number }) => shown(view).where(id as never, '=', values.id as never),
    'batched',
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
    async create(write, caller, { users, teams, user_id: requestedOwner, ...input }, parentId) {
      check?.(input);
      const withReferences = resolveReferences(
        write,
        resourceType,
        parent ? { ...input, [resourceTypes[parent].key]: parentId } : input,
      );
      const user_id = await resolveOwner(write, caller, Number(requestedOwner ?? 0), caller.userId);
      const row: Columns = await write.insertRow(table, {
        ...(await stored(await withReferences(), undefined, write)),
        user_id,
        date_created: write.now,
        date_modified: null,
      } as never);
      const recordId = Number(row[key]);
      // A new record has no assignments, so an empty list needs no query.
      if (isAssignable(resourceType)) {
        await setAssigned(write, resourceType, recordId, { users: nonEmpty(users), teams: nonEmpty(teams) });
      }
      record(write, [{ kind: `new_${resourceType}`, recordId, userId: user_id }]);
      return hasAllFields ? row : get(write, recordId);
    },
    async change(write, caller, recordId, { users, teams, user_id: requestedOwner, ...input }) {
      const withReferences = resolveReferences(write, resourceType, input);
      const before = await get(write, recordId);
      check?.(input, before);
      const user_id = await resolveOwner(write, caller, Number(requestedOwner ?? 0), Number(before.user_id));
      const columns = await stored(await withReferences(before), before, write);
      const changing = write.updateTable(table).set({ ...columns, user_id, date_modified: write.now } as never);
      const changed = changing.where(key as never, '=', recordId as never).returningAll();
      const row: Columns = await changed.executeTakeFirstOrThrow();
      if (isAssignable(resourceType)) await setAssigned(write, resourceType, recordId, { users, teams } as Assignment);
      const moved = await cascadeReferenceChanges(write, caller, resourceType, before, columns);
      const facts = await options.changed?.occurrences(write, caller, before, columns);
      record(write, [
        ...moved,
        ...(facts ?? [{ kind: `changed_${resourceType}`, recordId, userId: caller.userId } as const]),
      ]);
      return hasAllFields ? row : get(write, recordId);
    },
    async remove(write, caller, recordId) {
      await removing?.(write, recordId);
      const facts = await cascadeDelete(write, caller, resourceType, recordId);
      if (facts.length === 0) throw notFound();
      record(write, facts);
    },
  };
}

/**
 * Minimum `maxLength`, in characters, of a long text. The sizes of long texts determine how a page is split into
 * slices.
 */
const MIN_LONG_TEXT_LENGTH = 1_000;

/** Returns the columns of the fields that may hold long texts. */
function longTextsOf(fields: Fields, table: ListedTable): string[] {
  const names = Object.keys(fields).filter((name) => Object.hasOwn(columns[table], name));
  return names.filter((name) => maxLengthOf(fields[name]) >= MIN_LONG_TEXT_LENGTH).map((name) => `${table}.${name}`);
}

/** Returns the list, or undefined if it is empty or missing. */
const nonEmpty = (list: unknown) => (Array.isArray(list) && list.length > 0 ? list : undefined);
