import { writeAuditEntries } from '../../audit/actions.ts';
import { type EnqueueHookAlerts, endHooks } from '../../delivery/outbox/end-hooks.ts';
import { type OccurrenceKind, permissionFor } from '../../delivery/outbox/event-kinds.ts';
import { requestTest, restoreHook } from '../../delivery/outbox/restore-hook.ts';
import { findOverlapEnd, parseSecrets } from '../../delivery/transport/signature.ts';
import { explainForbiddenTarget, normalizeTarget, type SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { requirePermission } from '../../http/auth/route-groups.ts';
import type { CreationInput, StoredRecordOf } from '../../http/fields/field.ts';
import { mapRows, type Page, type PageRequest } from '../../http/routes/pagination.ts';
import type { ParsedParameters } from '../../http/routes/query-parameters.ts';
import { maskTarget } from '../../log.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import { invalidInput, notFound, Problem } from '../../problems.ts';
import { hashTarget } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { buildFilterConditions } from '../core/filters.ts';
import { loadPage } from '../core/pagination.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { getDelivery } from '../deliveries/deliveries.ts';
import { resolveListedUserId } from '../users/lookup.ts';
import { type hookFields, hookFilters, type hookInputFields, type ownerParameter } from './schema.ts';

/** Timeout for resolving the target's name during subscription; shorter than the grace period of a shutdown. */
export const TARGET_CHECK_TIMEOUT_MS = 3_000;

type HookRow = StoredRecordOf<typeof hookFields>;

type StoredHook = {
  hook_id: number;
  kind: string;
  target: string;
  user_id: number;
  failures: number;
  due_at: number | null;
  last_outcome: string;
  date_created: number;
  date_ended: number | null;
  ended_reason: string;
  secrets: string | null;
};

function toHookRow(row: StoredHook, now: number): HookRow {
  const { hook_id: id, kind, target: target_url, due_at: next_attempt_at, secrets: storedSecrets, ...rest } = row;
  const liveState = row.failures > 0 ? 'failing' : 'live';
  const secrets = parseSecrets(storedSecrets);
  return {
    ...{ ...rest, id, event: kind, target_url, next_attempt_at, state: row.date_ended === null ? liveState : 'ended' },
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
 * Checks permission and target of a subscription before the transaction (C11). Throws 401 if the key may not read the
 * kind, and 400 if the guard forbids the target. A name that does not resolve yet is accepted, because the target is
 * checked again at each delivery.
 *
 * @param onForbidden receives the guard's explanation, for the operator's log
 */
export async function requireAllowedTarget(
  guard: SsrfGuard,
  caller: Caller,
  input: CreationInput<typeof hookInputFields>,
  onForbidden: (explanation: string) => void,
): Promise<void> {
  requirePermission(caller, permissionFor(input.event));
  const guardResult = await guard.checkTarget(new URL(input.target_url), TARGET_CHECK_TIMEOUT_MS);
  if (!('allowed' in guardResult) || guardResult.allowed) return;
  onForbidden(explainForbiddenTarget(guardResult));
  throw invalidInput([{ field: 'target_url', message: guardResult.publicReason }]);
}

/**
 * Creates a hook and returns its id (C11, C12). Its target must be unique in the whole service. Of two concurrent calls
 * with one target, exactly one succeeds.
 */
export async function subscribe(
  write: AccountWrite,
  caller: Caller,
  input: CreationInput<typeof hookInputFields>,
  maxLiveHooks?: number,
): Promise<number> {
  const { hook_id } = await write.insertRow('hooks', {
    user_id: caller.userId,
    kind: input.event,
    target: input.target_url,
    date_created: write.now,
    due_at: null,
    retry_delivery_id: null,
    date_ended: null,
    ended_position: null,
  });
  await reserveTarget(write, input.target_url, hook_id);
  await requireWithinHookQuota(write, maxLiveHooks);
  const detail = { kind: input.event, target: maskTarget(input.target_url) };
  writeAuditEntries(write, { action: 'hook.created', subject: `hook ${hook_id}`, detail });
  return hook_id;
}

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
  requirePermission(caller, permissionFor(row.kind as OccurrenceKind));
  await reserveTarget(write, row.target, hookId);
  await restoreHook(write, hookId, row.ended_position ?? 0);
  await requireWithinHookQuota(write, maxLiveHooks);
  writeAuditEntries(write, { action: 'hook.restored', subject: `hook ${hookId}` });
  return getHook(write, caller, hookId);
}

/** Requests a test of a hook: a delivery whose `resource_url` is the hook itself. It is sent immediately (X1). */
export async function requestHookTest(write: AccountWrite, caller: Caller, hookId: number, baseUrl: string) {
  const row = await findAccessibleHook(write, caller, hookId);
  if (row === undefined) throw notFound();
  if (row.date_ended !== null) throw new Problem('hook_ended');
  const deliveryId = await requestTest(write, { hookId, userId: row.user_id });
  return getDelivery(write, caller, deliveryId, baseUrl);
}
