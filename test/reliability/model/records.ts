import assert from 'node:assert/strict';
import type { ApiResponse } from '../../kit/service/service.ts';
import { type FieldEntries, fields, NO_DATE, type ResourceType } from './fields.ts';
import {
  buildBody,
  type CallerKey,
  collectionOf,
  initialValues,
  isOutOfOrder,
  type ModelAccount,
  type ModelRecord,
  permissionOf,
  type RequestBody,
  type World,
} from './model.ts';
import { type Rejection, rejection, type ServiceUnderTest } from './system.ts';

/** A request with its expected result: a rejection, or the change of the model. */
type PlannedRequest = {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly expected: Rejection | (() => void);
};

export type PreconditionKind = 'none' | 'current' | 'stale' | 'any';

const parents: Readonly<Partial<Record<ResourceType, ResourceType>>> = { task: 'project', subtask: 'task' };
const rolesByRank = ['nobody', 'member', 'admin', 'owner'];

const hasDates = (resourceType: ResourceType) => 'start_date' in fields[resourceType];

/**
 * Returns the rejection of a caller without access, which comes before any other check; undefined for a caller
 * with access (C1, C2).
 */
export function accessError(world: World, key: CallerKey, permission: string | undefined): Rejection | undefined {
  if (world.findRecord(key.account, 'user', key.userId) === undefined) return rejection(401, 'unauthorized');
  if (permission !== undefined && !world.hasPermission(key, permission)) return rejection(401, 'not_permitted');
  return undefined;
}

/** Returns the id of the creator of a record, or the rejection of the request (C14). */
function resolveCreator(world: World, key: CallerKey, wanted: string | undefined, present: string): string | Rejection {
  if (wanted === undefined || wanted === '0' || wanted === present) return present;
  if (!world.isAdmin(key)) return rejection(401, 'not_permitted');
  return world.findRecord(key.account, 'user', wanted) === undefined ? rejection(404, 'not_found') : wanted;
}

/** Returns the rejection of unknown references, which are checked last (C26, C34). */
function referenceError(world: World, key: CallerKey, { references }: RequestBody): Rejection | undefined {
  const isThere = references.every(
    ([resourceType, id]) => world.findRecord(key.account, resourceType, id) !== undefined,
  );
  return isThere ? undefined : rejection(404, 'not_found');
}

/**
 * Returns the rejection of a request that changes a user (X7). A user can neither give nor change a role above
 * their own, and an email address is unique in an account.
 */
function userError(
  world: World,
  key: CallerKey,
  { shown }: RequestBody,
  before: ModelRecord | undefined,
): Rejection | undefined {
  const outranks = (role: string | undefined) =>
    rolesByRank.indexOf(role ?? '') > rolesByRank.indexOf(world.roleOf(key));
  if (outranks(before?.displayed.role) || outranks(shown.role)) return rejection(401, 'not_permitted');
  const users = world.allRecords(key.account, 'user');
  const owners = users.filter((user) => user.displayed.role === 'owner');
  if (before?.displayed.role === 'owner' && (shown.role ?? 'owner') !== 'owner' && owners.length === 1)
    return rejection(409, 'last_owner');
  const isTaken = users.some(
    (user) => user !== before && user.displayed.email?.toLowerCase() === shown.email?.toLowerCase(),
  );
  return shown.email !== undefined && isTaken ? rejection(409, 'email_taken') : undefined;
}

/** Plans a POST. On success `expected` takes the new id. */
export function planCreate(
  world: World,
  key: CallerKey,
  resourceType: ResourceType,
  { pick, entries }: { pick: number; entries: FieldEntries },
): Omit<PlannedRequest, 'expected'> & { expected: Rejection | ((id: string) => ModelRecord) } {
  const { account } = key;
  const parentResourceType = parents[resourceType];
  const parent = parentResourceType === undefined ? '' : world.pickId(account, parentResourceType, pick);
  const written = buildBody(world, account, entries);
  const path = `/${collectionOf(resourceType)}${parent === '' ? '' : `/${parent}`}`;
  return { path, body: written.body, expected: expectedResult() };

  function expectedResult(): Rejection | ((id: string) => ModelRecord) {
    const required = Object.entries(fields[resourceType]).filter(([, { initial: usual }]) => usual === undefined);
    const missing = required.map(([field]) => field).filter((field) => !(field in written.body));
    const away = accessError(world, key, permissionOf(resourceType, 'write'));
    if (away !== undefined) return away;
    const bad = [...written.bad, ...missing];
    if (bad.length > 0) return rejection(400, 'invalid_input', bad);
    const { completed, ...rest } = { ...initialValues(resourceType), ...written.shown };
    if (hasDates(resourceType) && isOutOfOrder(rest)) return rejection(400, 'invalid_input', ['due_date']);
    if (parentResourceType !== undefined && world.findRecord(account, parentResourceType, parent) === undefined)
      return rejection(404, 'not_found');
    const userId = resourceType === 'user' ? '' : resolveCreator(world, key, written.shown.user_id, key.userId);
    if (typeof userId !== 'string') return userId;
    const fault =
      resourceType === 'user' ? userError(world, key, written, undefined) : referenceError(world, key, written);
    if (fault !== undefined) return fault;
    return (id) => {
      const shown: Record<string, string> = { ...rest, date_created: world.time };
      if (resourceType !== 'user') Object.assign(shown, { date_modified: NO_DATE, user_id: userId });
      if (completed !== undefined)
        Object.assign(shown, { completed, date_completed: completed === '1' ? world.time : NO_DATE });
      const record = world.addRecord(account, resourceType, id, shown, written.users ?? [], parent);
      const creator = resourceType === 'user' ? key.userId : userId;
      const isAssigned = record.users.length > 0;
      world.recordOccurrences(account, [
        [`new_${resourceType}`, record, creator],
        ...(isAssigned ? [[`assigned_${resourceType}`, record, creator] as const] : []),
      ]);
      return record;
    };
  }
}

/** Plans a PUT (C27, C33). On success `expected` changes the model. */
export function planChange(
  world: World,
  key: CallerKey,
  resourceType: ResourceType,
  { pick, entries, condition }: { pick: number; entries: FieldEntries; condition: 'none' | 'holds' | 'stale' },
): Omit<PlannedRequest, 'expected'> & { expected: Rejection | ((newIds: NewIds) => void) } {
  const { account } = key;
  const id = world.pickId(account, resourceType, pick);
  const record = world.findRecord(account, resourceType, id);
  const written = buildBody(world, account, entries);
  return { path: `/${collectionOf(resourceType)}/${id}`, body: written.body, expected: expectedResult() };

  function expectedResult(): Rejection | ((newIds: NewIds) => void) {
    const away = accessError(world, key, permissionOf(resourceType, 'write'));
    if (away !== undefined) return away;
    // Preconditions are checked before the body (X5).
    if (condition !== 'none' && record === undefined) return rejection(404, 'not_found');
    if (condition === 'stale') return rejection(412, 'precondition_failed');
    if (written.bad.length > 0) return rejection(400, 'invalid_input', written.bad);
    if (record === undefined) return rejection(404, 'not_found');
    const { completed, resume, project_id, task_id, user_id, ...rest } = written.shown;
    const after = { ...record.displayed, ...rest };
    if (hasDates(resourceType) && isOutOfOrder(after))
      return rejection(400, 'invalid_input', ['due_date' in written.body ? 'due_date' : 'start_date']);
    const userId = resourceType === 'user' ? '' : resolveCreator(world, key, user_id, record.displayed.user_id ?? '');
    if (typeof userId !== 'string') return userId;
    const fault =
      resourceType === 'user' ? userError(world, key, written, record) : referenceError(world, key, written);
    if (fault !== undefined) return fault;
    if (resume === '1' && completed === '1') return rejection(400, 'invalid_input', ['resume']);
    return (newIds) => {
      const roleBefore = record.displayed.role;
      Object.assign(record.displayed, rest);
      if (resourceType !== 'user') Object.assign(record.displayed, { date_modified: world.time, user_id: userId });
      if (resourceType === 'event' && project_id !== undefined) record.displayed.project_id = project_id;
      if (resourceType === 'task' && project_id !== undefined) record.parent = project_id;
      if (resourceType === 'subtask' && task_id !== undefined) record.parent = task_id;
      const isAssigned = written.users?.some((user) => !record.users.includes(user)) === true;
      if (written.users !== undefined) record.users = written.users;
      if (resourceType === 'user' && roleBefore !== 'member' && rest.role === 'member') world.loseRole(account, id);
      const reopens = resume === '1' || completed === '0';
      applyCompletion(world, key, record, { completes: completed === '1', reopens, isAssigned, newIds });
    };
  }
}

/** Applies completion or reopening, and records the occurrences (C33, C41). */
function applyCompletion(
  world: World,
  key: CallerKey,
  record: ModelRecord,
  {
    completes,
    reopens,
    isAssigned,
    newIds,
  }: { completes: boolean; reopens: boolean; isAssigned: boolean; newIds: NewIds },
): void {
  const { account, userId } = key;
  const { resourceType, displayed, id } = record;
  const assignments = isAssigned ? [[`assigned_${resourceType}`, record, userId] as const] : [];
  const reopenings =
    reopens && displayed.completed === '1' ? [[`reopened_${resourceType}`, record, userId] as const] : [];
  if (reopens) Object.assign(displayed, { completed: '0', date_completed: NO_DATE });
  if (!completes || displayed.completed === '1') {
    world.recordOccurrences(account, [[`changed_${resourceType}`, record, userId], ...reopenings, ...assignments]);
    return;
  }
  const done = { completed: '1', date_completed: world.time };
  Object.assign(displayed, done);
  const open = world
    .allRecords(account, 'subtask')
    .filter((one) => one.parent === id && one.displayed.completed === '0');
  const completedSubtasks = resourceType === 'task' ? open : [];
  for (const subtask of completedSubtasks) Object.assign(subtask.displayed, done, { date_modified: world.time });
  const repeated = createNextOccurrence(world, account, record, newIds);
  world.recordOccurrences(account, [
    ...completedSubtasks.map((subtask) => ['completed_subtask', subtask, userId] as const),
    [`completed_${resourceType}`, record, userId],
    ...assignments,
    ...repeated.map((next) => [`new_${next.resourceType}`, next, next.displayed.user_id ?? ''] as const),
  ]);
}

/** Plans a DELETE, with everything that it deletes or changes (C23, C28, C34). */
export function planDelete(
  world: World,
  key: CallerKey,
  resourceType: ResourceType,
  { pick, stale }: { pick: number; stale: boolean },
): PlannedRequest {
  const { account } = key;
  const id = world.pickId(account, resourceType, pick);
  const record = world.findRecord(account, resourceType, id);
  return { path: `/${collectionOf(resourceType)}/${id}`, body: undefined, expected: expectedResult() };

  function expectedResult(): Rejection | (() => void) {
    const away = accessError(world, key, permissionOf(resourceType, 'write'));
    if (away !== undefined) return away;
    if (record === undefined) return rejection(404, 'not_found');
    if (stale) return rejection(412, 'precondition_failed');
    if (resourceType === 'user') {
      const fault = userError(world, key, { shown: { role: 'member' } } as unknown as RequestBody, record);
      if (fault !== undefined) return fault;
    }
    return () => applyDeletion(world, key, record);
  }
}

function applyDeletion(world: World, { account, userId }: CallerKey, record: ModelRecord): void {
  const { resourceType, id } = record;
  const below = (of: ResourceType, parentId: string) =>
    world.allRecords(account, of).filter((one) => one.parent === parentId);
  const naming = (of: ResourceType, field: string) =>
    world.allRecords(account, of).filter((one) => one.displayed[field] === id);
  const tasks = resourceType === 'project' ? below('task', id) : [];
  const subtasks = [...tasks, ...(resourceType === 'task' ? [record] : [])].flatMap((task) =>
    below('subtask', task.id),
  );
  const changedRecords =
    resourceType === 'project'
      ? naming('event', 'project_id')
      : resourceType === 'client'
        ? naming('project', 'client_id')
        : [];
  for (const one of changedRecords) {
    one.displayed[`${resourceType}_id`] = '0';
    one.displayed.date_modified = world.time;
  }
  const deletedRecords = [...subtasks, ...tasks, record];
  for (const one of deletedRecords) world.removeRecord(account, one);
  world.recordOccurrences(account, [
    ...deletedRecords.map((one) => [`deleted_${one.resourceType}`, one, userId] as const),
    ...changedRecords.map((one) => [`changed_${one.resourceType}`, one, userId] as const),
  ]);
  if (resourceType !== 'user') return;
  for (const hook of account.hooks)
    if (hook.userId === id && hook.ended === undefined) world.endHook(account, hook, 'user_deleted');
}

/** Compares a response with a record, including its ETag. */
export function assertRecord(
  world: World,
  real: ServiceUnderTest,
  key: CallerKey,
  record: ModelRecord,
  answer: ApiResponse,
): void {
  const shown = world.displayedRecord(key.account, record);
  assert.deepEqual(answer.json, { data: shown });
  real.checkEtag(`/${collectionOf(record.resourceType)}/${record.id}`, answer, shown);
}

/// <reference lib="esnext.temporal" />

/**
 * Returns the next id of this resource type that the service has issued and the model does not know, in order of
 * creation.
 */
export type NewIds = (resourceType: ResourceType) => string;

const periods: Readonly<Record<string, Temporal.DurationLike>> = {
  ...{ D: { days: 1 }, W: { weeks: 1 }, M: { months: 1 }, Q: { months: 3 }, S: { months: 6 }, Y: { years: 1 } },
};

export const isRecurring = ({ displayed }: ModelRecord): boolean => (displayed.recurring ?? '') in periods;

/** Creates the next occurrence of a completed record and, for a task, of its subtasks (C41). */
export function createNextOccurrence(
  world: World,
  account: ModelAccount,
  record: ModelRecord,
  newIds: NewIds,
): ModelRecord[] {
  const period = periods[record.displayed.recurring ?? ''];
  if (period === undefined) return [];
  const parts = world
    .allRecords(account, 'subtask')
    .filter(({ parent }) => record.resourceType === 'task' && parent === record.id);
  const copyRecord = (before: ModelRecord, parent: string) => {
    const dates = ['start_date', 'due_date'].map((field) => [
      field,
      moveDate(before.displayed[field] ?? NO_DATE, period),
    ]);
    const shown = { ...before.displayed, ...Object.fromEntries(dates), completed: '0', date_completed: NO_DATE };
    const stamped = { ...shown, date_created: world.time, date_modified: NO_DATE };
    return world.addRecord(account, before.resourceType, newIds(before.resourceType), stamped, before.users, parent);
  };
  const next = copyRecord(record, record.parent);
  const copies = parts.map((part) => copyRecord(part, next.id));
  for (const one of [record, ...parts]) one.displayed.recurring = '';
  return [next, ...copies];
}

function moveDate(date: string, period: Temporal.DurationLike): string {
  if (date === NO_DATE) return date;
  const next = Temporal.PlainDateTime.from(date.replace(' ', 'T')).add(period);
  return `${next.toPlainDate()} ${next.toPlainTime()}`;
}
