import { occurrenceKinds, permissionFor } from '../../delivery/outbox/event-kinds.ts';
import { ALL_KINDS, kindsOf, type SubscriptionColumns } from '../../delivery/outbox/subscriptions.ts';
import { explainForbiddenTarget, type SsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { requirePermission } from '../../http/auth/route-groups.ts';
import type { CreationInput } from '../../http/fields/field.ts';
import { type Caller, isAdmin, type Permission } from '../../permissions.ts';
import { invalidInput, Problem } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { requireRecord } from '../core/references.ts';
import type { hookInputFields } from './schema.ts';

/** Timeout for resolving the target's name during subscription; shorter than the grace period of a shutdown. */
export const TARGET_CHECK_TIMEOUT_MS = 3_000;

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

export type HookInput = CreationInput<typeof hookInputFields>;

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
export function requireReadable(caller: Caller, columns: Pick<SubscriptionColumns, 'events' | 'permissions'>): void {
  for (const kind of kindsOf(columns)) requirePermission(caller, permissionFor(kind));
  if (columns.permissions === '' && columns.events === ALL_KINDS) requirePermission(caller, 'events:read');
}

/**
 * Checks the scope of a hook (X11). Throws 400 unless `project_id` is given exactly with scope `project`, 401 for the
 * scope `account` if its user is not an admin, and 404 for an unknown project.
 */
export async function requireValidScope(
  view: AccountView,
  { scope, project_id }: Pick<SubscriptionColumns, 'scope' | 'project_id'>,
  user: Pick<Caller, 'role'>,
): Promise<void> {
  if (scope === 'project' && project_id === 0)
    throw invalidInput([{ field: 'project_id', message: 'is required with scope project' }]);
  if (scope !== 'project' && project_id !== 0)
    throw invalidInput([{ field: 'project_id', message: 'is allowed with scope project only' }]);
  requirePermittedScope(scope, user);
  if (scope === 'project') await requireProject(view, project_id);
}

/** Throws 401 if a hook of this user may not have the scope. */
export function requirePermittedScope(scope: string, user: Pick<Caller, 'role'>): void {
  if (scope === 'account' && !isAdmin(user))
    throw new Problem('not_permitted', { detail: 'Only hooks of admins can have the scope account.' });
}

/** Throws 404 for an unknown project. It names the field: otherwise, the hook itself would seem to be unknown. */
async function requireProject(view: AccountView, projectId: number): Promise<void> {
  const [field, message] = ['project_id', 'must be the id of a project'];
  try {
    await requireRecord(view, 'project', projectId);
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'not_found')) throw error;
    throw new Problem('not_found', { detail: `${field}: ${message}`, errors: [{ field, message }] });
  }
}
