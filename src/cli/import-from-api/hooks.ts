import { systemClock } from '../../clock.ts';
import type { Config } from '../../config/load.ts';
import { isHookKind } from '../../delivery/outbox/event-kinds.ts';
import { createResolver } from '../../delivery/transport/dns-resolver.ts';
import { createSsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { createCreationBodySpec } from '../../http/fields/field.ts';
import type { SourceHook } from '../../import-from-api/rows.ts';
import { isLoopback } from '../../loopback.ts';
import { permissionsOf } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import { subscribe } from '../../resources/hooks/actions.ts';
import { requireAllowedTarget } from '../../resources/hooks/check-subscription.ts';
import { hookInputFields } from '../../resources/hooks/schema.ts';
import { getUser } from '../../resources/users/users.ts';
import { type DatabaseFlags, withAccount } from '../admin/open-database.ts';
import { CliError } from '../output/screen.ts';

/** A hook of the source service, as it is created here. */
export type PlannedHook = SourceHook & {
  /** Input of its creation, with the project's id at this service. */
  readonly input: HookCreationBody;
  /** Names of its headers. It is created disabled, because the source does not show their values. */
  readonly missing_headers: readonly string[];
  /** Why it cannot be created. */
  readonly reason?: string;
};

/** A planned hook, and whether the import created it. */
export type HookResult = PlannedHook & { readonly created: boolean };

type HookCreationBody = {
  readonly target_url: string;
  readonly event?: string;
  readonly events?: readonly unknown[];
  readonly scope?: string;
  readonly project_id?: string;
  readonly name?: string;
  readonly enabled?: '0';
};

const hookBodySpec = createCreationBodySpec(hookInputFields);

/** Plans the creation of a hook. Fields that are as in a new hook are left out, so that its command is short. */
export function planHook(hook: SourceHook, findProjectId: (id: string) => number | undefined): PlannedHook {
  const { target_url, event, events, scope = 'own', name, enabled } = hook;
  const missing_headers = headerNamesOf(hook);
  const sourceProjectId = String(hook.project_id ?? '0');
  const projectId = scope === 'project' ? findProjectId(sourceProjectId) : undefined;
  const isDisabled = [0, '0', false].some((value) => value === enabled) || missing_headers.length > 0;
  const input = {
    target_url,
    ...(isHookKind(event) ? { event } : { events: Array.isArray(events) ? events : [event] }),
    ...(scope !== 'own' && { scope: String(scope) }),
    ...(projectId !== undefined && { project_id: String(projectId) }),
    ...(typeof name === 'string' && name !== '' && { name }),
    // Without its headers, the gateway of the target would answer 401, which ends the hook.
    ...(isDisabled && { enabled: '0' as const }),
  };
  const isProjectMissing = scope === 'project' && projectId === undefined;
  const reason = `its project ${sourceProjectId} is none of the imported projects`;
  return { ...hook, input, missing_headers, ...(isProjectMissing && { reason }) };
}

function headerNamesOf({ headers }: SourceHook): readonly string[] {
  if (Array.isArray(headers)) return headers.map(String);
  return typeof headers === 'object' && headers !== null ? Object.keys(headers) : [];
}

/**
 * Creates hooks under the same rules as an API call, including the SSRF guard. A rejected hook is reported and not
 * created.
 */
export async function createHooks(
  flags: DatabaseFlags & { readonly domain: string },
  userId: number,
  hooks: readonly PlannedHook[],
  config: Config,
): Promise<readonly HookResult[]> {
  const results: HookResult[] = [];
  for (const hook of hooks) {
    const reason =
      hook.reason ?? (await createHook(flags, userId, hook, config).then(() => undefined, toRejectionReason));
    results.push({ ...hook, created: reason === undefined, ...(reason !== undefined && { reason }) });
  }
  return results;
}

async function createHook(
  flags: DatabaseFlags & { readonly domain: string },
  userId: number,
  { input }: PlannedHook,
  { host, baseUrl, allowTargets }: Config,
): Promise<void> {
  const hookFields = hookBodySpec.parse(input);
  const isLoopbackAllowed = isLoopback(host) && (baseUrl === undefined || isLoopback(new URL(baseUrl).hostname));
  const guard = createSsrfGuard({
    resolve: createResolver({ clock: systemClock }),
    allowRules: allowTargets,
    isLoopbackAllowed,
  });
  await requireAllowedTarget(guard, hookFields.target_url, () => undefined);
  await withAccount(flags, async (write) => {
    const { role } = await getUser(write, userId);
    // Create the hook with the permissions of a member, which every user has.
    const session = { keyId: 0, sessionId: 0, expiresAt: null, permissions: new Set(permissionsOf('member')) };
    await subscribe(write, { ...session, userId, role, accountId: write.accountId }, hookFields);
  });
}

function toRejectionReason(error: unknown): string {
  if (error instanceof Problem || error instanceof CliError) return error.message;
  throw error;
}
