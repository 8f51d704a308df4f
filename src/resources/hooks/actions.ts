import { writeAuditEntries } from '../../audit/actions.ts';
import { changeSettings } from '../../delivery/outbox/change-settings.ts';
import { type EnqueueHookAlerts, endHooks } from '../../delivery/outbox/end-hooks.ts';
import { requestReplay, requestTest, restoreHook } from '../../delivery/outbox/restore-hook.ts';
import { insertSubscriptions, replaceSubscriptions } from '../../delivery/outbox/subscriptions.ts';
import { normalizeTarget } from '../../delivery/transport/ssrf-guard.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import type { ChangeInput, CreationInput, StoredRecordOf } from '../../http/fields/field.ts';
import { maskTarget } from '../../log.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput, notFound, Problem } from '../../problems.ts';
import { hashTarget } from '../../secrets.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { getDelivery } from '../deliveries/deliveries.ts';
import { findDeliveriesOfInterval } from '../deliveries/deliveries-of-interval.ts';
import { getUser } from '../users/users.ts';
import {
  type HookInput,
  requirePermittedScope,
  requireReadable,
  requireValidScope,
  resolveEvents,
} from './check-subscription.ts';
import { findAccessibleHook, getHook, type HookRow } from './read-hooks.ts';
import type { hookInputFields, replayFields, replayInputFields } from './schema.ts';

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
 * Changes a live hook (X13). Throws 400 if its headers would go to another origin, 401 if the key may not read what the
 * hook reports after a change of its target or its subscription, and 409 if another live hook has the new target.
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
  const changesScope = input.scope !== undefined || input.project_id !== undefined;
  const changesSubscription = changesEvents || changesScope;
  if (changesSubscription || target !== undefined) requireReadable(caller, subscription);
  // A hook whose project was deleted can still be changed.
  if (changesScope) await requireValidScope(write, subscription, await getUser(write, row.user_id));
  if (changesSubscription) await replaceSubscriptions(write, subscription);
  const isNewTarget = target !== undefined && target !== row.target;
  if (isNewTarget) {
    if (headers === undefined) requireSameOrigin(row, target);
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
 * Throws 400 if the stored headers of a hook would be sent to another origin: who can change the target cannot read
 * their values, and must not learn them as the new receiver.
 */
function requireSameOrigin(row: { headers: string | null; target: string }, target: string): void {
  if (row.headers === null || new URL(target).origin === new URL(row.target).origin) return;
  const message = 'must be given with a target_url of another origin, because the stored values are secret';
  throw invalidInput([{ field: 'headers', message }]);
}

/**
 * Sends the finalized deliveries of a live hook again whose occurrences became pending in a time interval (X13), except
 * those that wait for such an attempt already. Returns their number. Throws 400 if there are too many.
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
  const interval = { userId: row.user_id, hookId, from, until: to + 1_000 };
  const deliveryIds = await findDeliveriesOfInterval(write, interval, MAX_REPLAYED_DELIVERIES + 1);
  if (deliveryIds.length > MAX_REPLAYED_DELIVERIES) {
    const message = `must be earlier: the interval has more than ${MAX_REPLAYED_DELIVERIES} deliveries`;
    throw invalidInput([{ field: 'to', message }]);
  }
  const deliveries = await requestReplay(write, hookId, deliveryIds);
  const detail = { from: formatTimestamp(from), to: formatTimestamp(to), deliveries };
  writeAuditEntries(write, { action: 'hook.replayed', subject: `hook ${hookId}`, detail });
  return { hook_id: hookId, deliveries };
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

/**
 * Makes an ended hook live again under its id, and enqueues the deliveries that it missed (X1). Its project may have been
 * deleted: then these include the deletion, and the hook can be changed to another project.
 */
export async function restoreEndedHook(
  write: AccountWrite,
  caller: Caller,
  hookId: number,
  maxLiveHooks?: number,
): Promise<HookRow> {
  const row = await write.selectFrom('hooks').selectAll('hooks').where('hooks.hook_id', '=', hookId).executeTakeFirst();
  if (row === undefined || row.user_id !== caller.userId || row.date_ended === null) throw notFound();
  requireReadable(caller, row);
  requirePermittedScope(row.scope, caller);
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
  const deliveryId = await requestTest(write, { hookId, userId: row.user_id });
  return getDelivery(write, caller, deliveryId, baseUrl);
}
