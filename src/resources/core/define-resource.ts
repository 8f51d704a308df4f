import { isOccurrenceKind, type OccurrenceKind, resourceTypes } from '../../delivery/outbox/event-kinds.ts';
import { type NewOccurrence, recordOccurrences } from '../../delivery/outbox/record-occurrences.ts';
import {
  type ChangeInput,
  type CreationInput,
  type Fields,
  findChangedFields,
  maxLengthOf,
  type StoredRecordOf,
} from '../../http/fields/field.ts';
import type { Page, PageRequest } from '../../http/routes/pagination.ts';
import {
  enumParameter,
  type ParsedParameters,
  type QueryParameter,
  type QueryParameters,
} from '../../http/routes/query-parameters.ts';
import type { Caller } from '../../permissions.ts';
import { notFound } from '../../problems.ts';
import { AccountView, type AccountWrite, type DynamicQuery } from '../../store/account-scope.ts';
import { tableColumns } from '../../store/tables.ts';
import { type Assignees, addAssigneesToPage, canHaveAssignees, loadAssignees, setAssignees } from './assignments.ts';
import { cascadeDelete, getCascadeDeleteKinds } from './cascade-delete.ts';
import type { Filters } from './filters.ts';
import { createListFunction } from './list-function.ts';
import {
  type ColumnValues,
  cascadeReferenceChanges,
  getCascadedChangeKinds,
  parentTypeOf,
  resolveOwnerId,
  resolveReferences,
} from './references.ts';
import { idColumnOf, type ResourceTable, resourceTables, type StandardResourceType } from './resource-tables.ts';
import { ascendingOrder, numberKey, type RequestedOrders, toTotalOrders } from './sorting.ts';

/** A record as its query returns it: all response fields except the assignments. */
type QueriedRecord<RecordFields extends Fields> = Omit<StoredRecordOf<RecordFields>, 'users' | 'teams'>;

/** Options of a table-backed resource. Everything not listed here is the same for all resources. */
type ResourceOptions<RecordFields extends Fields, ChangeFields extends Fields, ListFilters extends Filters> = {
  readonly fields: RecordFields;
  /** Input fields of a change; defaults to `fields`. */
  readonly changeFields?: ChangeFields;
  readonly filters: ListFilters;
  /** Sort orders that a request can name, with their description. Without such an order the list is sorted by id. */
  readonly orders?: { readonly description: string; readonly byName: RequestedOrders };
  /** Builds the query for the records. Needed only if the response has more fields than the table has columns. */
  readonly select?: (view: AccountView) => DynamicQuery<QueriedRecord<RecordFields>>;
  /** Throws if fields contradict each other. `oldRecord` is the stored record on a change, undefined on creation. */
  readonly requireConsistency?: (input: ChangeInput<ChangeFields>, oldRecord?: QueriedRecord<RecordFields>) => void;
  /** Converts the input to column values. By default, the input itself is stored. */
  readonly toColumns?: (
    input: ChangeInput<ChangeFields>,
    oldRecord: QueriedRecord<RecordFields> | undefined,
    view: AccountView,
  ) => ColumnValues | Promise<ColumnValues>;
  /**
   * Creates the occurrences (domain events) of a change. Without it, a change records only `change`, an occurrence of the
   * kind `changed_…`.
   */
  readonly changeOccurrences?: {
    readonly kinds: readonly OccurrenceKind[];
    createOccurrences(
      write: AccountWrite,
      change: NewOccurrence,
      oldRecord: QueriedRecord<RecordFields>,
      newValues: ColumnValues,
    ): Promise<NewOccurrence[]>;
  };
  /** Called before a record is deleted. Deletes dependent rows that are not records themselves. */
  readonly beforeRemove?: (write: AccountWrite, id: number) => Promise<unknown>;
};

/** The fields and query parameters of a resource, which determine the types of its operations. */
export type ResourceShape = {
  readonly fields: Fields;
  /** Response fields of a list entry. */
  readonly listedFields: Fields;
  /** Input fields of a change. */
  readonly changeFields: Fields;
  /** Query parameters of the list. */
  readonly parameters: QueryParameters;
};

/** Query parameters of a list: its filters, and `order` if the resource has sort orders. */
type ListParameters<ListFilters extends Filters> = ListFilters & { order: QueryParameter<string> };

/** Operations on the records of a resource, each in the caller's transaction. An unknown id throws 404. */
export type ResourceOperations<Shape extends ResourceShape> = Shape & {
  readonly resourceType: StandardResourceType;
  /** Event kinds (occurrence kinds) that a creation, a change and a deletion may record. */
  readonly kinds: { readonly [Operation in 'create' | 'change' | 'remove']: readonly OccurrenceKind[] };
  list(
    view: AccountView,
    parameterValues: ParsedParameters<Shape['parameters']>,
    paging: PageRequest,
  ): Promise<Page<StoredRecordOf<Shape['listedFields']>>>;
  get(view: AccountView, id: number): Promise<StoredRecordOf<Shape['fields']>>;
  /** @param parentId id of the parent record, for a resource that has a parent */
  create(
    write: AccountWrite,
    caller: Caller,
    input: CreationInput<Shape['fields']>,
    parentId?: number,
  ): Promise<StoredRecordOf<Shape['fields']>>;
  change(
    write: AccountWrite,
    caller: Caller,
    id: number,
    input: ChangeInput<Shape['changeFields']>,
  ): Promise<StoredRecordOf<Shape['fields']>>;
  remove(write: AccountWrite, caller: Caller, id: number): Promise<void>;
};

/** The types of the implementation of `defineResource`, which is the same for all resources. */
type AnyOptions = ResourceOptions<Fields, Fields, Filters>;
type AnyOperations = ResourceOperations<ResourceShape>;

/** Derives the operations list, get, create, change and remove of a resource from its options. */
export function defineResource<
  RecordFields extends Fields,
  ListFilters extends Filters,
  ChangeFields extends Fields = RecordFields,
>(
  resourceType: StandardResourceType,
  options: ResourceOptions<RecordFields, ChangeFields, ListFilters>,
): ResourceOperations<{
  fields: RecordFields;
  listedFields: RecordFields;
  changeFields: ChangeFields;
  parameters: ListParameters<ListFilters>;
}>;
export function defineResource(resourceType: StandardResourceType, options: AnyOptions): AnyOperations {
  const { fields, changeFields = fields, filters, requireConsistency, beforeRemove } = options;
  const { toColumns = (input) => input } = options;
  const [table, { key }, parentType] = [
    resourceTables[resourceType],
    resourceTypes[resourceType],
    parentTypeOf(resourceType),
  ];
  const idColumn = idColumnOf(resourceType);
  const orderById = ascendingOrder('id', numberKey(idColumn));
  const totalOrdersByName = toTotalOrders(options.orders?.byName ?? {}, numberKey(idColumn));
  const orderParameter =
    options.orders && enumParameter(options.orders.description, Object.keys(options.orders.byName));
  const selectRecords = options.select ?? ((view: AccountView) => view.selectFromDynamic(table).selectAll(table));
  const assignableType = canHaveAssignees(resourceType) ? resourceType : undefined;
  const rowHasAllFields = options.select === undefined && assignableType === undefined;

  const listRecords = createListFunction(resourceType, filters, selectRecords, findLongTextColumns(fields, table));
  const findById = AccountView.prepareBatchedSelect({ id: 'int8' }, (view, { id }: { readonly id: number }) =>
    selectRecords(view).where(idColumn, '=', id),
  );
  const idOf = (row: ColumnValues) => Number(row[key]);

  async function getRecord(view: AccountView, recordId: number): Promise<ColumnValues> {
    const [row] = await findById(view, { id: recordId });
    if (row === undefined) throw notFound();
    return assignableType ? { ...row, ...(await loadAssignees(view, assignableType, recordId)) } : row;
  }

  return {
    resourceType,
    fields,
    listedFields: fields,
    changeFields,
    parameters: { ...filters, ...(orderParameter && { order: orderParameter }) } as AnyOperations['parameters'],
    kinds: {
      create: [`new_${resourceType}` as const, ...assignmentKindsOf(resourceType)],
      change: [
        ...getCascadedChangeKinds(resourceType, changeFields),
        ...(options.changeOccurrences?.kinds ?? [`changed_${resourceType}` as const]),
        ...assignmentKindsOf(resourceType),
      ],
      remove: getCascadeDeleteKinds(resourceType),
    },
    get: getRecord,
    async list(view, { order: orderName = '', ...given }, paging) {
      const order = totalOrdersByName.get(String(orderName)) ?? orderById;
      const recordPage = await listRecords(view, given, paging, order);
      return assignableType ? addAssigneesToPage(view, assignableType, recordPage, idOf) : recordPage;
    },
    async create(write, caller, { users, teams, user_id: requestedOwnerId, ...input }, parentId) {
      requireConsistency?.(input);
      const fillInReferences = resolveReferences(
        write,
        resourceType,
        parentType ? { ...input, [resourceTypes[parentType].key]: parentId } : input,
      );
      const user_id = await resolveOwnerId(write, caller, Number(requestedOwnerId ?? 0), caller.userId);
      const row = await write.insertRowIntoDynamic(table, {
        ...(await toColumns(await fillInReferences(), undefined, write)),
        user_id,
        date_created: write.now,
        date_modified: null,
      });
      const recordId = Number(row[key]);
      // A new record has no assignments, so an empty list needs no query.
      if (assignableType)
        await setAssignees(write, assignableType, recordId, { users: omitIfEmpty(users), teams: omitIfEmpty(teams) });
      const record = rowHasAllFields ? row : await getRecord(write, recordId);
      const occurrence = { recordId, userId: user_id, projectId: Number(record.project_id ?? 0) };
      recordOccurrences(write, [
        { ...occurrence, kind: `new_${resourceType}` },
        ...createAssignmentOccurrences(resourceType, occurrence, {}, record),
      ]);
      return record;
    },
    async change(write, caller, recordId, { users, teams, user_id: requestedOwnerId, ...input }) {
      const fillInReferences = resolveReferences(write, resourceType, input);
      const oldRecord = await getRecord(write, recordId);
      requireConsistency?.(input, oldRecord);
      const user_id = await resolveOwnerId(write, caller, Number(requestedOwnerId ?? 0), Number(oldRecord.user_id));
      const newValues = await toColumns(await fillInReferences(oldRecord), oldRecord, write);
      const row = await write
        .updateDynamic(table)
        .set({ ...newValues, user_id, date_modified: write.now })
        .where(key, '=', recordId)
        .returningAll()
        .executeTakeFirstOrThrow();
      if (assignableType) await setAssignees(write, assignableType, recordId, { users, teams } as Assignees);
      const cascadedOccurrences = await cascadeReferenceChanges(write, caller, resourceType, oldRecord, newValues);
      const newRecord = rowHasAllFields ? row : await getRecord(write, recordId);
      const change: NewOccurrence = {
        kind: `changed_${resourceType}`,
        recordId,
        userId: caller.userId,
        projectId: Number(newRecord.project_id ?? 0),
        previousProjectId: Number(oldRecord.project_id ?? 0),
        fields: findChangedFields(fields, oldRecord, newRecord),
      };
      const createOccurrences = options.changeOccurrences?.createOccurrences;
      const ownOccurrences = (await createOccurrences?.(write, change, oldRecord, newValues)) ?? [change];
      recordOccurrences(write, [
        ...cascadedOccurrences,
        ...ownOccurrences,
        ...createAssignmentOccurrences(resourceType, change, oldRecord, newRecord),
      ]);
      // The next recurrence has taken over the period of the record (C41).
      return ownOccurrences.some(({ recordId: otherId }) => otherId !== recordId)
        ? getRecord(write, recordId)
        : newRecord;
    },
    async remove(write, caller, recordId) {
      await beforeRemove?.(write, recordId);
      const deletionOccurrences = await cascadeDelete(write, caller, resourceType, recordId);
      if (deletionOccurrences.length === 0) throw notFound();
      recordOccurrences(write, deletionOccurrences);
    },
  };
}

/**
 * Returns the occurrence `assigned_…` if users or teams were assigned to a project, task or subtask (X11).
 *
 * @param occurrence record, user and project of the occurrence
 */
function createAssignmentOccurrences(
  resourceType: StandardResourceType,
  occurrence: Omit<NewOccurrence, 'kind'>,
  oldRecord: ColumnValues,
  newRecord: ColumnValues,
): NewOccurrence[] {
  const idsOf = (record: ColumnValues) => {
    const { users = [], teams = [] } = record as Assignees;
    return [...users.map(({ user_id }) => `user ${user_id}`), ...teams.map(({ team_id }) => `team ${team_id}`)];
  };
  const oldIds = new Set(idsOf(oldRecord));
  const kinds = idsOf(newRecord).some((id) => !oldIds.has(id)) ? assignmentKindsOf(resourceType) : [];
  return kinds.map((kind) => ({ ...occurrence, kind }));
}

/** Returns the event kind of an assignment, for resource types that have one. */
const assignmentKindsOf = (resourceType: StandardResourceType): readonly OccurrenceKind[] =>
  [`assigned_${resourceType}`].filter(isOccurrenceKind);

/**
 * Minimum `maxLength`, in characters, of a long text. The sizes of long texts determine how a page is split into
 * slices.
 */
const MIN_LONG_TEXT_LENGTH = 1_000;

/** Returns the columns of the fields that may hold long texts. */
function findLongTextColumns(fields: Fields, table: ResourceTable): string[] {
  const columnNames = Object.keys(fields).filter((name) => Object.hasOwn(tableColumns[table], name));
  return columnNames
    .filter((name) => maxLengthOf(fields[name]) >= MIN_LONG_TEXT_LENGTH)
    .map((name) => `${table}.${name}`);
}

/** Returns the list, or undefined if it is empty or missing. */
const omitIfEmpty = (list: unknown) => (Array.isArray(list) && list.length > 0 ? list : undefined);
