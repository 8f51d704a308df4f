import { MAX_FAILURES, nextStatus } from '../checker/delivery-checker.ts';
import { type FieldEntries, type FieldValue, fields, NO_DATE, type ResourceType } from './fields.ts';

/** A record in the model. Its content follows from the contract, and only its id is taken from the service. */
export type ModelRecord = {
  readonly id: string;
  readonly resourceType: ResourceType;
  /** Displayed texts of the record itself. Texts of related records are looked up. */
  readonly displayed: Record<string, string>;
  /** Ids of the assigned users. */
  users: readonly string[];
  /** Id of the parent record: the project of a task, the task of a subtask. */
  parent: string;
};

export type ModelOccurrence = {
  readonly kind: string;
  readonly resourceType: ResourceType;
  readonly id: string;
  readonly userId: string;
  readonly at: string;
  /** Number of the transaction. The order of its occurrences is undefined. */
  readonly transaction: number;
};

export type ModelHook = {
  readonly id: string;
  /** The kinds that it reports, or `*`. */
  readonly events: readonly string[];
  readonly scope: 'own' | 'account';
  /** Permissions of the key that created it, which limit `*`. */
  readonly permissions: ReadonlySet<string>;
  readonly target: string;
  readonly userId: string;
  readonly created: string;
  failures: number;
  dueAt: number | undefined;
  lastOutcome: string;
  /** `position`: number of entries of the feed when it ended; undefined if it will not report what it missed. */
  ended: { readonly reason: string; readonly at: string; readonly position: number | undefined } | undefined;
  pending: ModelOccurrence[];
  delivered: ModelOccurrence[];
};

export type ModelAccount = {
  readonly domain: string;
  readonly records: Map<string, ModelRecord>;
  /** Deleted records. */
  readonly deleted: ModelRecord[];
  readonly feed: ModelOccurrence[];
  readonly hooks: ModelHook[];
};

export type CallerKey = {
  readonly account: ModelAccount;
  readonly userId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly permissions: ReadonlySet<string>;
};

const hookKinds = ['event', 'client', 'project', 'task', 'subtask'].map((resourceType) => `new_${resourceType}`);
export const kinds = [...hookKinds, 'completed_task', 'completed_subtask'];
/** Kinds of the feed that a hook can name besides (X11). */
export const furtherKinds = ['event', 'client', 'project', 'task', 'subtask'].flatMap((resourceType) => [
  `changed_${resourceType}`,
  `deleted_${resourceType}`,
  ...(['project', 'task', 'subtask'].includes(resourceType) ? [`assigned_${resourceType}`] : []),
  ...(['task', 'subtask'].includes(resourceType) ? [`reopened_${resourceType}`] : []),
]);

export const resourceTypeOfKind = (kind: string) => kind.split('_')[1] as ResourceType;
const permissionAreas = {
  client: 'clients',
  project: 'projects',
  task: 'tasks',
  subtask: 'tasks',
  event: 'events',
  user: 'users',
};
export const permissionOf = (resourceType: ResourceType, access: 'read' | 'write') =>
  `${permissionAreas[resourceType]}:${access}`;
export const collectionOf = (resourceType: ResourceType) => `${resourceType}s`;

export const formatTimestamp = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

/** A successful request with an Idempotency-Key, and its response. */
type StoredResponse = { readonly call: string; readonly json: unknown; readonly at: number };

const IDEMPOTENCY_TTL_MS = 24 * 3_600_000;

/** Status with which a target responds. */
export type TargetStatus = 200 | 401 | 500;

export class World {
  readonly accounts: ModelAccount[] = [];
  readonly keys: CallerKey[] = [];
  /** Part of the URL of every target of this world. */
  readonly urlMark: string;
  readonly #targetStatuses = new Map<string, TargetStatus>();
  readonly waitsMs: readonly number[] = [60_000, 7_200_000];
  now: number;
  #transaction = 0;
  readonly #responses = new Map<string, StoredResponse>();

  constructor(mark: string, now: number) {
    this.urlMark = mark;
    this.now = now;
  }

  /** Sets the status with which a target responds; the default is 200. */
  setTargetStatus(target: string, manner: TargetStatus): void {
    this.#targetStatuses.set(target, manner);
  }

  targetStatus(target: string): TargetStatus {
    return this.#targetStatuses.get(target) ?? 200;
  }

  get time(): string {
    return formatTimestamp(this.now);
  }

  // ——— permissions (C2)

  roleOf({ account, userId }: Pick<CallerKey, 'account' | 'userId'>): string {
    return account.records.get(`user ${userId}`)?.displayed.role ?? 'nobody';
  }

  isAdmin(key: CallerKey): boolean {
    return ['admin', 'owner'].includes(this.roleOf(key));
  }

  hasPermission(key: CallerKey, permission: string): boolean {
    const never = this.roleOf(key) === 'member' ? ['users:write', 'company:write'] : [];
    return key.permissions.has(permission) && !never.includes(permission);
  }

  // ——— records

  allRecords(account: ModelAccount, resourceType: ResourceType): ModelRecord[] {
    const found = [...account.records.values()].filter((record) => record.resourceType === resourceType);
    return found.sort((a, b) => Number(a.id) - Number(b.id));
  }

  findRecord(account: ModelAccount, resourceType: ResourceType, id: string): ModelRecord | undefined {
    return account.records.get(`${resourceType} ${id}`);
  }

  /**
   * Picks a random id: mostly of an existing record, else of a deleted record, of a record of another account, or
   * an id that was never issued.
   */
  pickId(account: ModelAccount, resourceType: ResourceType, pick: number): string {
    const foreign = this.accounts.find((one) => one !== account);
    const others = [
      ...account.deleted.filter((record) => record.resourceType === resourceType).slice(-1),
      ...(foreign === undefined ? [] : this.allRecords(foreign, resourceType).slice(0, 1)),
    ].map(({ id }) => id);
    const own = this.allRecords(account, resourceType).map(({ id }) => id);
    const ids = [...own, ...own, ...own, ...own, ...others, '9007199254740990'];
    return ids[pick % ids.length] ?? '';
  }

  /** Returns a record as the API displays it (C24 to C35). */
  displayedRecord(account: ModelAccount, record: ModelRecord): Record<string, unknown> {
    const { resourceType, id } = record;
    const named = (of: ResourceType, which: string) =>
      this.findRecord(account, of, which)?.displayed[`${of}_name`] ?? '';
    const displayed: Record<string, unknown> = { [`${resourceType}_id`]: id, ...record.displayed };
    if (resourceType === 'client') return { ...displayed, contact_id: '0' };
    if (resourceType === 'user') return { ...displayed, user_name: userName(record) };
    if (resourceType === 'event') return displayed;
    const users = record.users
      .map((userId) => this.findRecord(account, 'user', userId))
      .filter((user) => user !== undefined)
      .sort((a, b) => Number(a.id) - Number(b.id))
      .map((user) => ({ user_id: user.id, user_name: userName(user) }));
    // The model has no teams and no time entries.
    const assigned = { users, teams: [] };
    if (resourceType === 'project') {
      const untimed = { template: '0', tracked_seconds: '0', billable_hours: 0 };
      return { ...displayed, ...assigned, ...untimed, client_name: named('client', record.displayed.client_id ?? '') };
    }
    const step = { ...displayed, ...assigned, tracked_seconds: '0' };
    if (resourceType === 'task')
      return { ...step, project_id: record.parent, project_name: named('project', record.parent) };
    const task = this.findRecord(account, 'task', record.parent);
    const projectId = task?.parent ?? '';
    return {
      ...{ ...step, task_id: record.parent, task_name: task?.displayed.task_name },
      ...{ project_id: projectId, project_name: named('project', projectId) },
    };
  }

  addRecord(
    account: ModelAccount,
    resourceType: ResourceType,
    id: string,
    displayed: Record<string, string>,
    users: readonly string[],
    parent: string,
  ) {
    const record: ModelRecord = { id, resourceType, displayed, users, parent };
    account.records.set(`${resourceType} ${id}`, record);
    return record;
  }

  removeRecord(account: ModelAccount, record: ModelRecord): void {
    account.records.delete(`${record.resourceType} ${record.id}`);
    account.deleted.push(record);
  }

  isKnown(resourceType: ResourceType, id: string): boolean {
    return this.accounts.some(
      (account) =>
        this.findRecord(account, resourceType, id) !== undefined ||
        account.deleted.some((one) => one.resourceType === resourceType && one.id === id),
    );
  }

  // ——— Idempotency-Keys (X4), by caller and key

  storeResponse(name: string, kept: Omit<StoredResponse, 'at'>): void {
    this.#responses.set(name, { ...kept, at: this.now });
  }

  storedResponse(name: string): StoredResponse | undefined {
    const kept = this.#responses.get(name);
    return kept === undefined || kept.at <= this.now - IDEMPOTENCY_TTL_MS ? undefined : kept;
  }

  storedResponseKeys(): string[] {
    return [...this.#responses.keys()].filter((name) => this.storedResponse(name) !== undefined);
  }

  // ——— occurrences and deliveries (C14, C20)

  recordOccurrences(
    account: ModelAccount,
    facts: readonly (readonly [kind: string, record: ModelRecord, userId: string])[],
  ): void {
    this.#transaction += 1;
    for (const [kind, { resourceType, id }, userId] of facts) {
      const one = { kind, resourceType, id, userId, at: this.time, transaction: this.#transaction };
      account.feed.push(one);
      for (const hook of account.hooks) if (hook.ended === undefined && matchesHook(hook, one)) hook.pending.push(one);
    }
  }

  endHook(account: ModelAccount, hook: ModelHook, reason: string): void {
    hook.ended = { reason, at: this.time, position: account.feed.length };
    hook.dueAt = undefined;
  }

  /** Ends the hooks of a user that report the whole account (X11). They do not report later what they miss. */
  loseRole(account: ModelAccount, userId: string): void {
    for (const hook of account.hooks) {
      if (hook.userId !== userId || hook.scope !== 'account') continue;
      if (hook.ended === undefined) this.endHook(account, hook, 'role_lost');
      if (hook.ended !== undefined) hook.ended = { ...hook.ended, position: undefined };
    }
  }

  restoreHook(account: ModelAccount, hook: ModelHook): void {
    const sinceEnd = hook.ended?.position === undefined ? [] : account.feed.slice(hook.ended.position);
    const missed = sinceEnd.filter((one) => matchesHook(hook, one));
    Object.assign(hook, { ended: undefined, failures: 0, dueAt: undefined, pending: [...hook.pending, ...missed] });
  }

  isTargetTaken(target: string): boolean {
    return this.accounts.some(({ hooks }) => hooks.some((hook) => hook.ended === undefined && hook.target === target));
  }

  /** Returns the time of the next retry, or `end` if no retry is earlier. */
  nextDue(end: number): number {
    const due = this.accounts.flatMap(({ hooks }) => hooks.map(({ dueAt }) => dueAt ?? end));
    return Math.min(end, ...due);
  }

  /**
   * Delivers all pending deliveries that are due now (C17, C18). All deliveries of a burst count as one failure.
   * Returns whether any delivery was due.
   */
  deliverDue(): boolean {
    let anyDue = false;
    for (const account of this.accounts) {
      for (const hook of account.hooks) {
        const isDue = hook.ended === undefined && hook.pending.length > 0 && (hook.dueAt ?? 0) <= this.now;
        if (isDue) this.#deliver(account, hook, this.targetStatus(hook.target));
        anyDue ||= isDue;
      }
    }
    return anyDue;
  }

  #deliver(account: ModelAccount, hook: ModelHook, manner: TargetStatus): void {
    hook.lastOutcome = String(manner);
    if (manner === 200) hook.delivered.push(...hook.pending.splice(0));
    const status = nextStatus(hook.failures, manner);
    if (typeof status === 'number') {
      hook.failures = status;
      hook.dueAt = status === 0 ? undefined : this.now + (this.waitsMs[status - 1] ?? 0);
    } else {
      if (status === 'three_failures') hook.failures = MAX_FAILURES;
      this.endHook(account, hook, status);
    }
  }
}

const matchesHook = ({ events, scope, userId, permissions }: ModelHook, one: ModelOccurrence) =>
  (events.includes(one.kind) || (events.includes('*') && permissions.has(permissionOf(one.resourceType, 'read')))) &&
  (scope === 'account' || userId === one.userId);

const userName = ({ displayed }: ModelRecord) => `${displayed.first_name} ${displayed.last_name}`.trim();

/** A request body, and what the API displays of it. */
export type RequestBody = {
  readonly body: Readonly<Record<string, unknown>>;
  readonly shown: Record<string, string>;
  readonly users: readonly string[] | undefined;
  /** Fields with invalid values. */
  readonly bad: readonly string[];
  /** Records that the body refers to. */
  readonly references: readonly (readonly [noun: ResourceType, id: string])[];
};

/** Builds a body from random entries, for a caller of this account. */
export function buildBody(world: World, account: ModelAccount, entries: FieldEntries): RequestBody {
  const all = new Map(entries);
  const body: Record<string, unknown> = {};
  const shown: Record<string, string> = {};
  const references: (readonly [ResourceType, string])[] = [];
  const implied: (readonly [field: string, shown: string])[] = [];
  const bad: string[] = [];
  let users: readonly string[] | undefined;
  for (const [field, written] of all) {
    if (written.as === 'bad') {
      body[field] = written.sent;
      bad.push(field);
    } else if (written.as === 'users') {
      const named = written.picks.map((pick) => world.pickId(account, 'user', pick));
      body[field] = named.map((id, index) => (index % 2 === 0 ? id : Number(id)));
      // Duplicate users are assigned once.
      users = [...new Set(named)];
      references.push(...users.map((id) => ['user', id] as const));
    } else {
      const [sent, text] =
        written.as === 'text' ? [written.sent, written.displayed] : resolveReference(world, account, written);
      body[field] = sent;
      shown[field] = text;
      if (written.as === 'text' && written.implies !== undefined) implied.push(written.implies);
      // `user_id` is checked separately (C14).
      if (written.as === 'reference' && field !== 'user_id' && text !== '0')
        references.push([written.resourceType, text]);
    }
  }
  return { body, shown: { ...shown, ...Object.fromEntries(implied) }, users, bad, references };
}

function resolveReference(
  world: World,
  account: ModelAccount,
  { resourceType, pick, needed }: Extract<FieldValue, { as: 'reference' }>,
): [unknown, string] {
  const nothing = ['0', 0, '', null];
  if (!needed && pick < nothing.length) return [nothing[pick], '0'];
  const id = world.pickId(account, resourceType, pick);
  return [pick % 2 === 0 ? id : Number(id), id];
}

/** Returns the displayed values of a record that was created without optional fields. */
export function initialValues(resourceType: ResourceType): Record<string, string> {
  const rows = Object.entries(fields[resourceType]).filter(([field]) => field !== 'users');
  const shown = Object.fromEntries(rows.map(([field, spec]) => [field, spec.initial ?? '']));
  const completed = resourceType === 'task' || resourceType === 'subtask' ? { date_completed: NO_DATE } : {};
  return { ...shown, ...completed };
}

/**
 * Whether the due date is before the start date (C26): by day, or on the same day by time if the due date has a
 * time.
 */
export function isOutOfOrder({ start_date = NO_DATE, due_date = NO_DATE }: Readonly<Record<string, string>>): boolean {
  if (start_date === NO_DATE || due_date === NO_DATE) return false;
  const [startDay, dueDay] = [start_date.slice(0, 10), due_date.slice(0, 10)];
  if (dueDay !== startDay) return dueDay < startDay;
  return !due_date.endsWith('00:00:00') && due_date < start_date;
}
