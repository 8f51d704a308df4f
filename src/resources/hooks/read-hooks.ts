import { parseHeaders } from '../../delivery/dispatcher/hook-settings.ts';
import { ALL_KINDS, type SubscriptionColumns } from '../../delivery/outbox/subscriptions.ts';
import { findOverlapEnd, parseSecrets } from '../../delivery/transport/signature.ts';
import type { StoredRecordOf } from '../../http/fields/field.ts';
import { mapRows, type Page, type PageRequest } from '../../http/routes/pagination.ts';
import type { ParsedParameters } from '../../http/routes/query-parameters.ts';
import { type Caller, isAdmin } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { buildFilterConditions } from '../core/filters.ts';
import { loadPage } from '../core/pagination.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { resolveListedUserId } from '../users/lookup.ts';
import { type hookFields, hookFilters, type ownerParameter } from './schema.ts';

export type HookRow = StoredRecordOf<typeof hookFields>;

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

export async function getHook(view: AccountView, caller: Caller, hookId: number): Promise<HookRow> {
  const row = await findAccessibleHook(view, caller, hookId);
  if (row === undefined) throw notFound();
  return toHookRow(row, view.now);
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
