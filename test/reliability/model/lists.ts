import { fc } from '../../kit/fast-check.ts';
import { dayOf, NONE, type ResourceType } from './fields.ts';
import type { Account, Recorded, World } from './model.ts';

/** A filter of a list. It returns its value in the query, and a predicate for the records that it keeps. */
type Filter = (
  world: World,
  account: Account,
  pick: number,
) => readonly [value: string, keeps: (record: Recorded) => boolean];

const day = (pick: number) => dayOf(1 + (pick % 6));
const written = (text: string) => text.replaceAll('-', '');

/** Keeps records whose start or due date is on a day or later. Records without a date never match. */
const from =
  (field: string): Filter =>
  (_world, _account, pick) => [
    written(day(pick)),
    ({ displayed }) => displayed[field] !== NONE && (displayed[field] ?? '') >= `${day(pick)} 00:00:00`,
  ];
/** Keeps records whose start or due date is on a day or earlier. Records without a date never match. */
const to =
  (field: string): Filter =>
  (_world, _account, pick) => [
    written(day(pick)),
    ({ displayed }) => displayed[field] !== NONE && (displayed[field] ?? '') <= `${day(pick)} 23:59:59`,
  ];

/** Returns the current day, the day before or the day after. */
const around = (world: World, pick: number) =>
  new Date(world.now + ((pick % 3) - 1) * 86_400_000).toISOString().slice(0, 10);
const since =
  (field: string): Filter =>
  (world, _account, pick) => [
    written(around(world, pick)),
    ({ displayed }) => displayed[field] !== NONE && (displayed[field] ?? '') >= `${around(world, pick)} 00:00:00`,
  ];
const until =
  (field: string): Filter =>
  (world, _account, pick) => [
    written(around(world, pick)),
    ({ displayed }) => displayed[field] !== NONE && (displayed[field] ?? '') <= `${around(world, pick)} 23:59:59`,
  ];

const of =
  (resourceType: ResourceType, names: (record: Recorded) => string | undefined): Filter =>
  (world, account, pick) => {
    const id = pick === 0 ? '0' : world.pick(account, resourceType, pick);
    return [id, (record) => names(record) === id];
  };
const word =
  (...words: (readonly [string, (record: Recorded) => boolean])[]): Filter =>
  (_world, _account, pick) =>
    words[pick % words.length] ?? ['', () => true];
const flag =
  (field: string, value: string) =>
  ({ displayed }: Recorded) =>
    displayed[field] === value;

const tag: Filter = (_world, _account, pick) => {
  const wanted = ['red', 'blue', 'bluered', 'none'][pick % 4] ?? '';
  return [wanted, ({ displayed }) => (displayed.tags ?? '').split(',').includes(wanted)];
};
const part: Filter = (_world, _account, pick) => {
  const wanted = ['BELL', 'äpfel', '%', '_', '予定', 'e', '\\', "'"][pick % 8] ?? '';
  return [wanted, ({ displayed }) => (displayed.client_name ?? '').toLowerCase().includes(wanted.toLowerCase())];
};
const statusOf = (closed: string, rest: Parameters<typeof word>) =>
  word(['open', ({ displayed }) => displayed[closed] === '0' && (displayed.archived ?? '0') === '0'], ...rest);
const activity = [
  ['active', flag('active', '1')],
  ['onhold', flag('active', '2')],
  ['inactive', flag('active', '0')],
] as const;
const due = { due_from: from('due_date'), due_to: to('due_date') };
const created = { created_from: since('date_created'), created_to: until('date_created') };
const completed = { completed_from: since('date_completed'), completed_to: until('date_completed') };

/** The filters of each resource type (C25, C29 to C32). */
export const filters: Readonly<Record<ResourceType, Readonly<Record<string, Filter>>>> = {
  client: { client_name: part },
  project: {
    client_id: of('client', ({ displayed }) => displayed.client_id),
    ...{ ...due, ...created, tag },
    status: statusOf('closed', [
      ['closed', flag('closed', '1')],
      ['archived', flag('archived', '1')],
      ['templates', () => false],
    ]),
  },
  task: {
    project_id: of('project', ({ parent }) => parent),
    ...{ ...due, ...created, ...completed, tag },
    status: statusOf('completed', [
      ['completed', flag('completed', '1')],
      ['archived', flag('archived', '1')],
      ...activity,
    ]),
  },
  subtask: {
    task_id: of('task', ({ parent }) => parent),
    user_id: (world, account, pick) => {
      const gone = account.deleted.findLast(({ resourceType }) => resourceType === 'user');
      const id = pick % 3 === 0 && gone !== undefined ? gone.id : world.pick(account, 'user', pick);
      return [id, ({ users }) => users.includes(id) && world.find(account, 'user', id) !== undefined];
    },
    ...{ ...due, ...completed },
    status: (world, account, pick) => {
      const isArchived = ({ parent }: Recorded) => world.find(account, 'task', parent)?.displayed.archived === '1';
      const states = word(
        ['open', (record) => record.displayed.completed === '0' && !isArchived(record)],
        ['completed', flag('completed', '1')],
        ['archived', isArchived],
        ...activity,
      );
      return states(world, account, pick);
    },
  },
  event: {
    project_id: of('project', ({ displayed }) => displayed.project_id),
    ...{ from: from('start_date'), to: to('due_date') },
    ...{
      start_from: from('start_date'),
      start_to: to('start_date'),
      due_from: from('due_date'),
      due_to: to('due_date'),
    },
    ...{ start_date_from: from('start_date'), start_date_to: to('start_date') },
    ...{ due_date_from: from('due_date'), due_date_to: to('due_date') },
  },
  user: {},
};

const twins = [
  ['start_from', 'start_date_from'],
  ['start_to', 'start_date_to'],
  ['due_from', 'due_date_from'],
  ['due_to', 'due_date_to'],
] as const;

/** Returns the names of contradictory filters: two aliases of one filter with different values (C25). */
export function contradictions(query: Readonly<Record<string, string>>): string[] {
  const apart = twins.filter(([one, other]) => one in query && other in query && query[one] !== query[other]);
  return apart.flat();
}

type Order = (a: Recorded, b: Recorded) => number;
const by =
  (of: (record: Recorded) => string | number): Order =>
  (a, b) =>
    of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0;
const id: Order = by((record) => Number(record.id));
const then =
  (...orders: Order[]): Order =>
  (a, b) =>
    orders.reduce((found, order) => (found === 0 ? order(a, b) : found), 0);
const reversed =
  (order: Order): Order =>
  (a, b) =>
    order(b, a);

const name = (field: string) => by(({ displayed }) => (displayed[field] ?? '').toLowerCase());
const progress = reversed(
  then(
    by(({ displayed }) => Number(displayed.progress)),
    id,
  ),
);
const latest = reversed(
  then(
    by(({ displayed }) => displayed.date_created ?? ''),
    id,
  ),
);
const dueDate = by(({ displayed }) => displayed.due_date ?? '');

/** The orders of each resource type (C30). The default order is by id, for events by start date (C7). */
export const orders: Readonly<Record<ResourceType, Readonly<Record<string, Order>>>> = {
  client: { clientname: then(name('client_name'), id), latest },
  // The model has no time entries, so `billablehours` orders by id only.
  project: {
    ...{ projectname: then(name('project_name'), id), duedate: then(dueDate, id), progress, latest },
    billablehours: reversed(id),
  },
  task: {
    taskname: then(name('task_name'), id),
    // Tasks without a due date come last.
    duedate: then(
      by(({ displayed }) => Number(displayed.due_date === NONE)),
      dueDate,
      id,
    ),
    ...{ progress, latest },
  },
  ...{ subtask: {}, event: {}, user: {} },
};
const usual = (resourceType: ResourceType) =>
  resourceType === 'event'
    ? then(
        by(({ displayed }) => displayed.start_date ?? ''),
        id,
      )
    : id;

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
export function listed(
  world: World,
  account: Account,
  resourceType: ResourceType,
  { filters: requested, order }: ListRequest,
) {
  const query: Record<string, string> = {};
  const kept: ((record: Recorded) => boolean)[] = [];
  for (const [name, pick] of new Map(requested)) {
    const found = filters[resourceType][name]?.(world, account, pick);
    if (found === undefined) continue;
    query[name] = found[0];
    kept.push(found[1]);
  }
  const records = world.all(account, resourceType).filter((record) => kept.every((keeps) => keeps(record)));
  if (order !== undefined) query.order = order;
  return { query, records: records.sort(orders[resourceType][order ?? ''] ?? usual(resourceType)) };
}
