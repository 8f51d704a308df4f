import { writeAuditEntries } from '../../audit/actions.ts';
import { parseHeaders } from '../../delivery/dispatcher/hook-settings.ts';
import { changeSettings } from '../../delivery/outbox/change-settings.ts';
import { type EnqueueHookAlerts, endHooks } from '../../delivery/outbox/end-hooks.ts';
import { occurrenceKinds, permissionFor } from '../../delivery/outbox/event-kinds.ts';
import { requestRedeliveries, requestTest, restoreHook } from '../../delivery/outbox/restore-hook.ts';
import {
  ALL_KINDS,
  insertSubscriptions,
  kindsOf,
  replaceSubscriptions,
  type SubscriptionColumns,
} from '../../delivery/outbox/subscriptions.ts';
import { findOverlapEnd, parseSecrets } from '../../delivery/transport/signature.ts';
import { explainForbiddenTarget, normalizeTarget, type SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { requirePermission } from '../../http/auth/route-groups.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import type { ChangeInput, CreationInput, StoredRecordOf } from '../../http/fields/field.ts';
import { mapRows, type Page, type PageRequest } from '../../http/routes/pagination.ts';
import type { ParsedParameters } from '../../http/routes/query-parameters.ts';
import { maskTarget } from '../../log.ts';
import { type Caller, isAdmin, type Permission } from '../../permissions.ts';
import { invalidInput, notFound, Problem } from '../../problems.ts';
import { hashTarget } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { buildFilterConditions } from '../core/filters.ts';
import { loadPage } from '../core/pagination.ts';
import { requireRecord } from '../core/references.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { buildFinalizedOfHookCondition, getDelivery } from '../deliveries/deliveries.ts';
import { resolveListedUserId } from '../users/lookup.ts';
import { getUser } from '../users/users.ts';
import {
  type hookFields,
  hookFilters,
  type hookInputFields,
  type ownerParameter,
  type replayFields,
  type replayInputFields,
} from './schema.ts';

/** Timeout for resolving the target's name during subscription; shorter than the grace period of a shutdown. */
export const TARGET_CHECK_TIMEOUT_MS = 3_000;

type HookRow = StoredRecordOf<typeof hookFields>;

type StoredHook = SubscriptionColumns & {
  hook_id: number;
  target: string;
  name: string;
  enabled: number;
  headers: string | null;
  failures: number;
  due_at: number | null;
  last_outcome: string;
  date_created: number;
  date_ended: number | null;
  ended_reason: string;
  secrets: string | null;
};

function toHookRow(row: StoredHook, now: number): HookRow {
  const { hook_id: id, target: target_url, due_at: next_attempt_at, secrets: storedSecrets, ...rest } = row;
  const liveState = row.failures > 0 ? 'failing' : 'live';
  const secrets = parseSecrets(storedSecrets);
  const events = row.events.split(',');
  const [event = ''] = events.length === 1 && row.events !== ALL_KINDS ? events : [];
  return {
    ...{ ...rest, id, event, events, target_url, next_attempt_at },
    state: row.date_ended === null ? liveState : 'ended',
    headers: Object.keys(parseHeaders(row.headers)),
    signed: secrets.length > 0,
    secret_created: secrets[0]?.since ?? null,
    secret_previous_until: findOverlapEnd(secrets, now),
  };
}

const orderById = ascendingOrder('id', numberKey('hooks.hook_id'));

/** Lists the caller's hooks (X1). Admins can list the hooks of another user. */
export async function listHooks(
  view: AccountView,
  caller: Caller,
  parameterValues: ParsedParameters<typeof hookFilters & typeof ownerParameter>,
  paging: PageRequest,
): Promise<Page<HookRow>> {
  const { user_id, ...filters } = parameterValues;
  const hooksOfOwnerQuery = view.selectFrom('hooks').where('hooks.user_id', '=', resolveListedUserId(caller, user_id));
  const page = await loadPage(
    hooksOfOwnerQuery,
    hooksOfOwnerQuery.selectAll('hooks'),
    orderById,
    buildFilterConditions(hookFilters, filters),
    paging,
  );
  return mapRows(page, (row) => toHookRow(row, view.now));
}

/**
 * Finds a hook of the caller; admins can access any hook of the account. Returns undefined if the id is unknown, and
 * throws 401 if the hook belongs to another user (C13).
 */
export async function findAccessibleHook(view: AccountView, caller: Caller, hookId: number) {
  const row = await view.selectFrom('hooks').selectAll('hooks').where('hooks.hook_id', '=', hookId).executeTakeFirst();
  if (row !== undefined && row.user_id !== caller.userId && !isAdmin(caller)) {
    throw new Problem('not_permitted', { detail: 'This hook belongs to another user.' });
  }
  return row;
}

export async function getHook(view: AccountView, caller: Caller, hookId: number): Promise<HookRow> {
  const row = await findAccessibleHook(view, caller, hookId);
  if (row === undefined) throw notFound();
  return toHookRow(row, view.now);
}

/**
 * Checks a target before the transaction (C11). Throws 400 if the guard forbids it. A name that does not resolve yet is
 * accepted, because the target is checked again at each delivery.
 *
 * @param onForbidden receives the guard's explanation, for the operator's log
 */
export async function requireAllowedTarget(
  guard: SsrfGuard,
  target: string,
  onForbidden: (explanation: string) => void,
): Promise<void> {
  const guardResult = await guard.checkTarget(new URL(target), TARGET_CHECK_TIMEOUT_MS);
  if (!('allowed' in guardResult) || guardResult.allowed) return;
  onForbidden(explainForbiddenTarget(guardResult));
  throw invalidInput([{ field: 'target_url', message: guardResult.publicReason }]);
}

type HookInput = CreationInput<typeof hookInputFields>;

/**
 * Returns the stored form of the subscribed kinds (X11). Throws 400 unless exactly one of `event` and `events` is given,
 * and 401 if the key may not read a kind.
 */
export function resolveEvents(
  caller: Caller,
  { event, events }: Partial<Pick<HookInput, 'event' | 'events'>>,
): Pick<SubscriptionColumns, 'events' | 'permissions'> {
  if (event && events) throw invalidInput([{ field: 'events', message: 'must not be given together with event' }]);
  const kinds = events ?? (event ? [event] : []);
  if (kinds.length === 0) throw invalidInput([{ field: 'event', message: 'is required' }]);
  const readable = [...caller.permissions].filter((permission) => occurrencePermissions.has(permission));
  const columns = { events: kinds.join(), permissions: readable.join() };
  requireReadable(caller, columns);
  return columns;
}

/** The permissions that the records of any kind need. */
const occurrencePermissions: ReadonlySet<Permission> = new Set(occurrenceKinds.map(permissionFor));

/** Throws 401 if the key may not read all that a hook reports, or if the hook can report nothing. */
function requireReadable(caller: Caller, columns: Pick<SubscriptionColumns, 'events' | 'permissions'>): void {
  for (const kind of kindsOf(columns)) requirePermission(caller, permissionFor(kind));
  if (columns.permissions === '' && columns.events === ALL_KINDS) requirePermission(caller, 'events:read');
}

/**
 * Checks the scope of a hook (X11). Throws 400 unless `project_id` is given exactly with scope `project`, 401 for the
 * scope `account` if its user is not an admin, and 404 for an unknown project.
 */
async function requireValidScope(
  view: AccountView,
  { scope, project_id }: Pick<SubscriptionColumns, 'scope' | 'project_id'>,
  user: Pick<Caller, 'role'>,
): Promise<void> {
  if (scope === 'project' && project_id === 0)
    throw invalidInput([{ field: 'project_id', message: 'is required with scope project' }]);
  if (scope !== 'project' && project_id !== 0)
    throw invalidInput([{ field: 'project_id', message: 'is allowed with scope project only' }]);
  if (scope === 'account' && !isAdmin(user))
    throw new Problem('not_permitted', { detail: 'Only hooks of admins can have the scope account.' });
  if (scope === 'project') await requireRecord(view, 'project', project_id);
}

const storeHeaders = (headers: Readonly<Record<string, string>>) =>
  Object.keys(headers).length === 0 ? null : JSON.stringify(headers);

/**
 * Creates a hook and returns its id (C11, C12, X11). Its target must be unique in the whole service. Of two concurrent
 * calls with one target, exactly one succeeds.
 */
export async function subscribe(
  write: AccountWrite,
  caller: Caller,
  input: HookInput,
  maxLiveHooks?: number,
): Promise<number> {
  const { scope, project_id, name, enabled } = input;
  const subscription = { ...resolveEvents(caller, input), scope, project_id, user_id: caller.userId };
  await requireValidScope(write, subscription, caller);
  const { hook_id } = await write.insertRow('hooks', {
    ...subscription,
    name,
    enabled,
    headers: storeHeaders(input.headers),
    target: input.target_url,
    date_created: write.now,
    due_at: null,
    retry_delivery_id: null,
    date_ended: null,
    ended_position: null,
  });
  await reserveTarget(write, input.target_url, hook_id);
  await insertSubscriptions(write, { ...subscription, hook_id });
  await requireWithinHookQuota(write, maxLiveHooks);
  const detail = { kind: subscription.events, scope, target: maskTarget(input.target_url) };
  writeAuditEntries(write, { action: 'hook.created', subject: `hook ${hook_id}`, detail });
  return hook_id;
}

/**
 * Changes a live hook (X13). Throws 401 if the key may not read what the hook reports after a change of its target or
 * its subscription, and 409 if another live hook has the new target.
 */
export async function changeHook(
  write: AccountWrite,
  caller: Caller,
  hookId: number,
  input: ChangeInput<typeof hookInputFields>,
): Promise<HookRow> {
  const row = await findAccessibleHook(write, caller, hookId);
  if (row === undefined) throw notFound();
  if (row.date_ended !== null) throw new Problem('hook_ended');
  const { target_url: target, name, enabled, headers } = input;
  const changesEvents = input.event !== undefined || input.events !== undefined;
  const subscription = {
    hook_id: hookId,
    user_id: row.user_id,
    ...(changesEvents ? resolveEvents(caller, input) : { events: row.events, permissions: row.permissions }),
    scope: input.scope ?? row.scope,
    // A scope without a project takes the project away.
    project_id: input.project_id ?? (input.scope === undefined || input.scope === 'project' ? row.project_id : 0),
  };
  const changesSubscription = changesEvents || input.scope !== undefined || input.project_id !== undefined;
  if (changesSubscription || target !== undefined) requireReadable(caller, subscription);
  if (changesSubscription) {
    await requireValidScope(write, subscription, { role: (await getUser(write, row.user_id)).role });
    await replaceSubscriptions(write, subscription);
  }
  const isNewTarget = target !== undefined && target !== row.target;
  if (isNewTarget) {
    await write.deleteFrom('targets').where('hook_id', '=', hookId).execute();
    await reserveTarget(write, target, hookId);
  }
  await changeSettings(write, hookId, {
    ...(isNewTarget ? { target } : {}),
    ...(name === undefined ? {} : { name }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(headers === undefined ? {} : { headers: storeHeaders(headers) }),
  });
  const detail = {
    changed: Object.keys(input),
    ...(changesSubscription ? { kind: subscription.events, scope: subscription.scope } : {}),
    ...(isNewTarget ? { target: maskTarget(target) } : {}),
  };
  writeAuditEntries(write, { action: 'hook.changed', subject: `hook ${hookId}`, detail });
  return getHook(write, caller, hookId);
}

/**
 * Sends the finalized deliveries of a live hook again whose occurrences became pending in a time interval (X13).
 * Returns their number. Throws 400 if there are too many.
 */
export async function replayHook(
  write: AccountWrite,
  caller: Caller,
  hookId: number,
  { from, to }: CreationInput<typeof replayInputFields>,
): Promise<StoredRecordOf<typeof replayFields>> {
  if (from > to) throw invalidInput([{ field: 'from', message: 'must not be after to' }]);
  const row = await findAccessibleHook(write, caller, hookId);
  if (row === undefined) throw notFound();
  if (row.date_ended !== null) throw new Problem('hook_ended');
  if (row.enabled === 0) throw new Problem('hook_disabled');
  requireReadable(caller, row);
  const deliveries = await write
    .selectFrom('finalized_deliveries')
    .where(buildFinalizedOfHookCondition(write, row.user_id, hookId))
    .where('finalized_deliveries.position', 'is not', null)
    .where('finalized_deliveries.created_at', '>=', from)
    .where('finalized_deliveries.created_at', '<', to + 1_000)
    .select('finalized_deliveries.delivery_id')
    .orderBy('finalized_deliveries.delivery_id')
    .limit(MAX_REPLAYED_DELIVERIES + 1)
    .execute();
  if (deliveries.length > MAX_REPLAYED_DELIVERIES) {
    const message = `must be earlier: the interval has more than ${MAX_REPLAYED_DELIVERIES} deliveries`;
    throw invalidInput([{ field: 'to', message }]);
  }
  await requestRedeliveries(
    write,
    hookId,
    deliveries.map(({ delivery_id }) => delivery_id),
  );
  const detail = { from: formatTimestamp(from), to: formatTimestamp(to), deliveries: deliveries.length };
  writeAuditEntries(write, { action: 'hook.replayed', subject: `hook ${hookId}`, detail });
  return { hook_id: hookId, deliveries: deliveries.length };
}

const MAX_REPLAYED_DELIVERIES = 10_000;

/** Throws `too_many_hooks` if the account, including the hook just inserted, has more live hooks than its quota. */
async function requireWithinHookQuota(write: AccountWrite, maxLiveHooks: number | undefined): Promise<void> {
  if (maxLiveHooks === undefined) return;
  const { live } = await write
    .selectFrom('hooks')
    .where('hooks.date_ended', 'is', null)
    .select(({ fn }) => fn.countAll<number>().as('live'))
    .executeTakeFirstOrThrow();
  if (live > maxLiveHooks) throw new Problem('too_many_hooks');
}

/** Reserves a target for a hook. Throws `target_taken` if another live hook of the service has the target (C12). */
async function reserveTarget(write: AccountWrite, target: string, hookId: number): Promise<void> {
  const reservedTarget = await write
    .insertInto('targets', { target_hash: hashTarget(normalizeTarget(new URL(target))), hook_id: hookId })
    .onConflict((conflict) => conflict.column('target_hash').doNothing())
    .returning('hook_id')
    .executeTakeFirst();
  if (reservedTarget === undefined) throw new Problem('target_taken');
}

/** Ends a hook (C13). If an admin ends the hook of another user, its owner gets a hook alert (X10). */
export async function unsubscribe(
  write: AccountWrite,
  caller: Caller,
  hookId: number,
  enqueueAlerts: EnqueueHookAlerts,
): Promise<void> {
  const row = await findAccessibleHook(write, caller, hookId);
  if (row === undefined || row.date_ended !== null) throw notFound();
  // The dispatcher may have ended the hook since it was read.
  if ((await endHooks(write, [hookId], 'deleted', enqueueAlerts)).length === 0) throw notFound();
}

/** Makes an ended hook live again under its id, and enqueues the deliveries that it missed (X1). */
export async function restoreEndedHook(
  write: AccountWrite,
  caller: Caller,
  hookId: number,
  maxLiveHooks?: number,
): Promise<HookRow> {
  const row = await write.selectFrom('hooks').selectAll('hooks').where('hooks.hook_id', '=', hookId).executeTakeFirst();
  if (row === undefined || row.user_id !== caller.userId || row.date_ended === null) throw notFound();
  requireReadable(caller, row);
  await requireValidScope(write, row, caller);
  await reserveTarget(write, row.target, hookId);
  await restoreHook(write, row);
  await requireWithinHookQuota(write, maxLiveHooks);
  writeAuditEntries(write, { action: 'hook.restored', subject: `hook ${hookId}` });
  return getHook(write, caller, hookId);
}

/** Requests a test of a hook: a delivery whose `resource_url` is the hook itself. It is sent immediately (X1). */
export async function requestHookTest(write: AccountWrite, caller: Caller, hookId: number, baseUrl: string) {
  const row = await findAccessibleHook(write, caller, hookId);
  if (row === undefined) throw notFound();
  if (row.date_ended !== null) throw new Problem('hook_ended');
  if (row.enabled === 0) throw new Problem('hook_disabled');
  const deliveryId = await requestTest(write, { hookId, userId: row.user_id });
  return getDelivery(write, caller, deliveryId, baseUrl);
}
