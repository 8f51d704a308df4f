import { fc } from '../../kit/packages.ts';
import { dayOf, NO_DATE, type ResourceType } from './fields.ts';
import type { ModelAccount, ModelRecord, World } from './model.ts';

/** A filter of a list. It returns its value in the query, and a predicate for the records that it keeps. */
type Filter = (
  world: World,
  account: ModelAccount,
  pick: number,
) => readonly [value: string, keeps: (record: ModelRecord) => boolean];

const day = (pick: number) => dayOf(1 + (pick % 6));
const toCompactDay = (text: string) => text.replaceAll('-', '');

/** Keeps records whose start or due date is on a day or later. Records without a date never match. */
const dateFrom =
  (field: string): Filter =>
  (_world, _account, pick) => [
    toCompactDay(day(pick)),
    ({ displayed }) => displayed[field] !== NO_DATE && (displayed[field] ?? '') >= `${day(pick)} 00:00:00`,
  ];
/** Keeps records whose start or due date is on a day or earlier. Records without a date never match. */
const dateTo =
  (field: string): Filter =>
  (_world, _account, pick) => [
    toCompactDay(day(pick)),
    ({ displayed }) => displayed[field] !== NO_DATE && (displayed[field] ?? '') <= `${day(pick)} 23:59:59`,
  ];

/** Returns the current day, the day before or the day after. */
const dayAround = (world: World, pick: number) =>
  new Date(world.now + ((pick % 3) - 1) * 86_400_000).toISOString().slice(0, 10);
const timestampFrom =
  (field: string): Filter =>
  (world, _account, pick) => [
    toCompactDay(dayAround(world, pick)),
    ({ displayed }) => displayed[field] !== NO_DATE && (displayed[field] ?? '') >= `${dayAround(world, pick)} 00:00:00`,
  ];
const timestampTo =
  (field: string): Filter =>
  (world, _account, pick) => [
    toCompactDay(dayAround(world, pick)),
    ({ displayed }) => displayed[field] !== NO_DATE && (displayed[field] ?? '') <= `${dayAround(world, pick)} 23:59:59`,
  ];

const referenceFilter =
  (resourceType: ResourceType, names: (record: ModelRecord) => string | undefined): Filter =>
  (world, account, pick) => {
    const id = pick === 0 ? '0' : world.pickId(account, resourceType, pick);
    return [id, (record) => names(record) === id];
  };
const choiceFilter =
  (...words: (readonly [string, (record: ModelRecord) => boolean])[]): Filter =>
  (_world, _account, pick) =>
    words[pick % words.length] ?? ['', () => true];
const hasValue =
  (field: string, value: string) =>
  ({ displayed }: ModelRecord) =>
    displayed[field] === value;

const tag: Filter = (_world, _account, pick) => {
  const wanted = ['red', 'blue', 'bluered', 'none'][pick % 4] ?? '';
  return [wanted, ({ displayed }) => (displayed.tags ?? '').split(',').includes(wanted)];
};
const nameFilter: Filter = (_world, _account, pick) => {
  const wanted = ['BELL', 'äpfel', '%', '_', '予定', 'e', '\\', "'"][pick % 8] ?? '';
  return [wanted, ({ displayed }) => (displayed.client_name ?? '').toLowerCase().includes(wanted.toLowerCase())];
};
const statusOf = (closed: string, rest: Parameters<typeof choiceFilter>) =>
  choiceFilter(['open', ({ displayed }) => displayed[closed] === '0' && (displayed.archived ?? '0') === '0'], ...rest);
const activityStates = [
  ['active', hasValue('active', '1')],
  ['onhold', hasValue('active', '2')],
  ['inactive', hasValue('active', '0')],
] as const;
const dueFilters = { due_from: dateFrom('due_date'), due_to: dateTo('due_date') };
const createdFilters = { created_from: timestampFrom('date_created'), created_to: timestampTo('date_created') };
const completedFilters = {
  completed_from: timestampFrom('date_completed'),
  completed_to: timestampTo('date_completed'),
};

/** The filters of each resource type (C25, C29 to C32). */
export const filters: Readonly<Record<ResourceType, Readonly<Record<string, Filter>>>> = {
  client: { client_name: nameFilter },
  project: {
    client_id: referenceFilter('client', ({ displayed }) => displayed.client_id),
    ...{ ...dueFilters, ...createdFilters, tag },
    status: statusOf('closed', [
      ['closed', hasValue('closed', '1')],
      ['archived', hasValue('archived', '1')],
      ['templates', () => false],
    ]),
  },
  task: {
    project_id: referenceFilter('project', ({ parent }) => parent),
    ...{ ...dueFilters, ...createdFilters, ...completedFilters, tag },
    status: statusOf('completed', [
      ['completed', hasValue('completed', '1')],
      ['archived', hasValue('archived', '1')],
      ...activityStates,
    ]),
  },
  subtask: {
    task_id: referenceFilter('task', ({ parent }) => parent),
    user_id: (world, account, pick) => {
      const gone = account.deleted.findLast(({ resourceType }) => resourceType === 'user');
      const id = pick % 3 === 0 && gone !== undefined ? gone.id : world.pickId(account, 'user', pick);
      return [id, ({ users }) => users.includes(id) && world.findRecord(account, 'user', id) !== undefined];
    },
    ...{ ...dueFilters, ...completedFilters },
    status: (world, account, pick) => {
      const isArchived = ({ parent }: ModelRecord) =>
        world.findRecord(account, 'task', parent)?.displayed.archived === '1';
      const states = choiceFilter(
        ['open', (record) => record.displayed.completed === '0' && !isArchived(record)],
        ['completed', hasValue('completed', '1')],
        ['archived', isArchived],
        ...activityStates,
      );
      return states(world, account, pick);
    },
  },
  event: {
    project_id: referenceFilter('project', ({ displayed }) => displayed.project_id),
    ...{ from: dateFrom('start_date'), to: dateTo('due_date') },
    ...{
      start_from: dateFrom('start_date'),
      start_to: dateTo('start_date'),
      due_from: dateFrom('due_date'),
      due_to: dateTo('due_date'),
    },
    ...{ start_date_from: dateFrom('start_date'), start_date_to: dateTo('start_date') },
    ...{ due_date_from: dateFrom('due_date'), due_date_to: dateTo('due_date') },
  },
  user: {},
};

const aliasPairs = [
  ['start_from', 'start_date_from'],
  ['start_to', 'start_date_to'],
  ['due_from', 'due_date_from'],
  ['due_to', 'due_date_to'],
] as const;

/** Returns the names of contradictory filters: two aliases of one filter with different values (C25). */
export function contradictions(query: Readonly<Record<string, string>>): string[] {
  const apart = aliasPairs.filter(([one, other]) => one in query && other in query && query[one] !== query[other]);
  return apart.flat();
}

type Order = (a: ModelRecord, b: ModelRecord) => number;
const ascendingBy =
  (of: (record: ModelRecord) => string | number): Order =>
  (a, b) =>
    of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0;
const byId: Order = ascendingBy((record) => Number(record.id));
const thenBy =
  (...orders: Order[]): Order =>
  (a, b) =>
    orders.reduce((found, order) => (found === 0 ? order(a, b) : found), 0);
const reverseOrder =
  (order: Order): Order =>
  (a, b) =>
    order(b, a);

const byName = (field: string) => ascendingBy(({ displayed }) => (displayed[field] ?? '').toLowerCase());
const progress = reverseOrder(
  thenBy(
    ascendingBy(({ displayed }) => Number(displayed.progress)),
    byId,
  ),
);
const latest = reverseOrder(
  thenBy(
    ascendingBy(({ displayed }) => displayed.date_created ?? ''),
    byId,
  ),
);
const byDueDate = ascendingBy(({ displayed }) => displayed.due_date ?? '');

/** The orders of each resource type (C30). The default order is by id, for events by start date (C7). */
export const orders: Readonly<Record<ResourceType, Readonly<Record<string, Order>>>> = {
  client: { clientname: thenBy(byName('client_name'), byId), latest },
  // The model has no time entries, so `billablehours` orders by id only.
  project: {
    ...{ projectname: thenBy(byName('project_name'), byId), duedate: thenBy(byDueDate, byId), progress, latest },
    billablehours: reverseOrder(byId),
  },
  task: {
    taskname: thenBy(byName('task_name'), byId),
    // Tasks without a due date come last.
    duedate: thenBy(
      ascendingBy(({ displayed }) => Number(displayed.due_date === NO_DATE)),
      byDueDate,
      byId,
    ),
    ...{ progress, latest },
  },
  ...{ subtask: {}, event: {}, user: {} },
};
const defaultOrder = (resourceType: ResourceType) =>
  resourceType === 'event'
    ? thenBy(
        ascendingBy(({ displayed }) => displayed.start_date ?? ''),
        byId,
      )
    : byId;

/** Parameters of a list: filters with their picks, order, page. */
export type ListRequest = {
  readonly filters: readonly (readonly [name: string, pick: number])[];
  readonly order: string | undefined;
  readonly limit: number | undefined;
  readonly offset: number | undefined;
};

export function listRequests(resourceType: ResourceType): fc.Arbitrary<ListRequest> {
  const names = Object.keys(filters[resourceType]);
  const some =
    names.length === 0 ? fc.constant([]) : fc.array(fc.tuple(fc.constantFrom(...names), fc.nat(11)), { maxLength: 2 });
  return fc.record({
    filters: some,
    order: fc.constantFrom(undefined, ...Object.keys(orders[resourceType])),
    limit: fc.constantFrom(undefined, undefined, 1, 2, 3, 1000, 5000, 0),
    offset: fc.constantFrom(undefined, undefined, 0, 1, 2, 50, -1),
  });
}

/** Returns the expected list: its query, and all matching records in order. */
export function expectedList(
  world: World,
  account: ModelAccount,
  resourceType: ResourceType,
  { filters: requested, order }: ListRequest,
) {
  const query: Record<string, string> = {};
  const kept: ((record: ModelRecord) => boolean)[] = [];
  for (const [name, pick] of new Map(requested)) {
    const found = filters[resourceType][name]?.(world, account, pick);
    if (found === undefined) continue;
    query[name] = found[0];
    kept.push(found[1]);
  }
  const records = world.allRecords(account, resourceType).filter((record) => kept.every((keeps) => keeps(record)));
  if (order !== undefined) query.order = order;
  return { query, records: records.sort(orders[resourceType][order ?? ''] ?? defaultOrder(resourceType)) };
}
